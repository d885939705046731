// SPDX-License-Identifier: Apache-2.0
// Runs the built program as a user would.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

namespace splitwave::tests {

/// How a process ended and what it wrote. A process that a signal ended has status 128 plus its number.
struct Outcome {
  int status = 0;
  std::string out;
  std::string err;
};

struct RunOptions {
  std::filesystem::path folder;          ///< working folder; empty: the caller's
  std::string standard_output;           ///< file to write to instead of capturing
  std::string standard_error;            ///< the same; "closed": none
  std::int64_t largest_file_bytes = 0;   ///< files cannot grow beyond this, as on a full disk; 0: no limit
  std::int64_t memory_bytes = 0;         ///< of address space (ulimit -v); 0: no limit
  std::vector<std::string> environment;  ///< NAME=value, besides the caller's
};

/// A running splitwave.
class Process {
 public:
  Process(const std::vector<std::string>& arguments, const RunOptions& options = {});
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  void send(int signal) const;
  /// Whether it has come to the point from which on it handles the signal itself.
  bool catches(int signal) const;
  Outcome wait();

 private:
  pid_t child_ = -1;
  std::filesystem::path scratch_;
};

/// Runs splitwave to its end.
Outcome splitwave(const std::vector<std::string>& arguments, const RunOptions& options = {});

/// A folder that exists as long as the object.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }
  std::string file(const std::string& name) const { return (path_ / name).string(); }
  /// Writes a file and returns its path.
  std::string write(const std::string& name, const std::string& text) const;

 private:
  std::filesystem::path path_;
};

std::string content(const std::filesystem::path& path);

}  // namespace splitwave::tests
