// SPDX-License-Identifier: Apache-2.0
#include "base/digest.h"

#include <fmt/format.h>

namespace splitwave::base {

void Digest::add(std::string_view text) {
  constexpr std::uint64_t kPrime = 0x100000001b3ULL;
  for (const char c : text) value_ = (value_ ^ static_cast<unsigned char>(c)) * kPrime;
  value_ = (value_ ^ 0xffU) * kPrime;
}

std::string Digest::hex() const {
  return fmt::format("{:016x}", value_);
}

}  // namespace splitwave::base
