// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace splitwave::base {

/// FNV-1a, 64 bits: tells different texts apart, the same on every machine. Nobody attacks it.
class Digest {
 public:
  /// Adds a text and its end: "ab" and "c" differ from "a" and "bc".
  void add(std::string_view text);
  std::uint64_t value() const { return value_; }
  /// 16 hexadecimal digits.
  std::string hex() const;

 private:
  std::uint64_t value_ = 0xcbf29ce484222325ULL;
};

}  // namespace splitwave::base
