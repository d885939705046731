// SPDX-License-Identifier: Apache-2.0
#include "cpu_reference/algorithms/traffic.h"

namespace splitwave::cpu_reference::algorithms {
namespace {

constexpr Moved Traffic::*kParts[] = {&Traffic::q,      &Traffic::k,          &Traffic::v,       &Traffic::scores,
                                      &Traffic::output, &Traffic::statistics, &Traffic::partials};

}  // namespace

std::int64_t Traffic::total() const {
  std::int64_t sum = 0;
  for (const auto part : kParts) sum += (this->*part).total();
  return sum;
}

Traffic& Traffic::operator+=(const Traffic& other) {
  for (const auto part : kParts) {
    (this->*part).loaded += (other.*part).loaded;
    (this->*part).stored += (other.*part).stored;
  }
  return *this;
}

Traffic in_bytes(const Traffic& elements, std::int64_t element_bytes) {
  constexpr std::int64_t kFloatBytes = 4;
  Traffic bytes = elements;
  for (const auto part : kParts) {
    const bool fp32 = part == &Traffic::statistics || part == &Traffic::partials;
    (bytes.*part).loaded *= fp32 ? kFloatBytes : element_bytes;
    (bytes.*part).stored *= fp32 ? kFloatBytes : element_bytes;
  }
  return bytes;
}

}  // namespace splitwave::cpu_reference::algorithms
