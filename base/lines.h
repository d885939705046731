// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace splitwave::base {

/// The lines of a text that hold more than spaces. A UTF-8 byte order mark before them is passed over.
class Lines {
 public:
  explicit Lines(std::string_view text) : rest_(text) {
    if (rest_.substr(0, 3) == "\xef\xbb\xbf") rest_.remove_prefix(3);
  }

  /// The next such line, without its line feed; empty after the last one.
  std::string_view next() {
    while (!rest_.empty()) {
      const std::size_t end = rest_.find('\n');
      const std::string_view line = rest_.substr(0, end);
      rest_ = end == std::string_view::npos ? std::string_view() : rest_.substr(end + 1);
      ++number_;
      if (line.find_first_not_of(" \t\r") != std::string_view::npos) return line;
    }
    return {};
  }

  /// Number of the line that next() gave, counted from 1.
  std::int64_t number() const { return number_; }

 private:
  std::string_view rest_;
  std::int64_t number_ = 0;
};

}  // namespace splitwave::base
