// SPDX-License-Identifier: Apache-2.0
// Files that are whole or not there: a crash, a full disk or a kill never leaves a result that only looks finished.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace splitwave::base {

/// Creates the folder and its parents. Throws InputError naming it and the reason.
void make_folder(const std::filesystem::path& folder);

/// Throws InputError where make_folder() and files in the folder are bound to fail, and leaves everything as it is: a
/// long run asks before it begins.
void expect_writable(const std::filesystem::path& folder);

/// Replaces the whole content of `path` by `text`, or leaves `path` as it was: the text goes to a temporary file of the
/// same folder, which is synced and renamed. Throws InputError naming the path and the reason.
void write_file(const std::filesystem::path& path, std::string_view text);

/// The same for a text in parts, which are written one after another.
void write_file(const std::filesystem::path& path, std::span<const std::string_view> parts);

/// Throws InputError if something is at `path`, or if the system does not let it be looked for. Results are never
/// replaced, and a long run asks before it begins.
void expect_absent(const std::filesystem::path& path);

/// expect_absent(), and throws InputError where the file's folder is not there or not writable: write_new_file() makes
/// no folders.
void expect_new_file(const std::filesystem::path& path);

/// write_file() for results: expect_absent() first.
void write_new_file(const std::filesystem::path& path, std::string_view text);
void write_new_file(const std::filesystem::path& path, std::span<const std::string_view> parts);

/// A file of lines that grows while work goes on. The lines are in PATH.partial until finish() renames it to PATH, so
/// what was computed survives anything, and a file named PATH is always complete.
class GrowingFile {
 public:
  /// Throws InputError if PATH.partial cannot be made, or if PATH or PATH.partial exists: results are never replaced.
  explicit GrowingFile(std::filesystem::path path);
  ~GrowingFile();
  GrowingFile(const GrowingFile&) = delete;
  GrowingFile& operator=(const GrowingFile&) = delete;

  /// Adds `line` and a newline; they outlive the process at once, and are synced to the disk each second (losing power
  /// loses no more). If that fails, takes back the part that was written and throws InputError: the lines before stay
  /// whole.
  void append(std::string_view line);

  /// Renames PATH.partial to PATH.
  void finish();

  const std::filesystem::path& partial_path() const { return partial_; }

 private:
  std::filesystem::path path_;
  std::filesystem::path partial_;
  int descriptor_ = -1;
  std::int64_t size_ = 0;
  std::string text_;  ///< what append() writes, kept for its memory
  std::chrono::steady_clock::time_point synced_;
};

}  // namespace splitwave::base
