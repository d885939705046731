// SPDX-License-Identifier: Apache-2.0
#include "cli/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace splitwave::cli {
namespace {

std::size_t terminal_width() {
  winsize size{};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col - 1U : 79U;
}

}  // namespace

std::string progress_line(double done, double total, double elapsed_seconds, const std::string& label,
                          std::size_t width) {
  constexpr std::size_t kBar = 20;
  const double share = total > 0 ? std::clamp(done / total, 0.0, 1.0) : 1.0;
  const auto filled = static_cast<std::size_t>(share * kBar);
  std::string left = "--:--";
  if (share > 0) {
    const long seconds = std::lround(elapsed_seconds * (1 - share) / share);
    left = fmt::format("{:02}:{:02}", seconds / 60, seconds % 60);
  }
  const std::string line = fmt::format("[{}{}] {:3.0f} % ETA {} {}", std::string(filled, '#'),
                                       std::string(kBar - filled, ' '), share * 100, left, label);
  return line.substr(0, width);
}

Progress::Progress(double total_work)
    : terminal_(::isatty(STDERR_FILENO) == 1), total_(total_work), begin_(std::chrono::steady_clock::now()) {}

Progress::~Progress() {
  if (terminal_) {
    std::fputs("\r\x1b[K", stderr);
  }
}

void Progress::show(const std::string& label) {
  if (terminal_) {
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin_;
    const std::string line = progress_line(done_, total_, elapsed.count(), label, terminal_width());
    std::fputs(("\r\x1b[K" + line).c_str(), stderr);  // a terminal that is gone is no reason to end
    std::fflush(stderr);
  }
}

}  // namespace splitwave::cli
