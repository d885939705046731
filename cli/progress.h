// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace splitwave::cli {

/// One line of progress, at most `width` columns: bar, share done, time left (from the time that the part done took),
/// label. done and total are in any unit of work.
std::string progress_line(double done, double total, double elapsed_seconds, const std::string& label,
                          std::size_t width);

/// A progress bar on standard error while it lives; nothing at all if standard error is not a terminal.
class Progress {
 public:
  explicit Progress(double total_work);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Says what is being worked on.
  void show(const std::string& label);
  /// Adds work that is done.
  void add(double work) { done_ += work; }

 private:
  bool terminal_;
  double total_;
  double done_ = 0;
  std::chrono::steady_clock::time_point begin_;
};

}  // namespace splitwave::cli
