// SPDX-License-Identifier: Apache-2.0
// A seeded stream of random numbers that is the same on every machine and in every standard library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "workloads/tensor_values.h"

namespace splitwave::workloads {

class RandomStream {
 public:
  /// `purpose` keeps streams of one seed apart.
  RandomStream(std::uint64_t seed, std::uint64_t purpose) : key_(mix(mix(seed + kStep) ^ purpose)) {}

  std::uint64_t next() { return mix(key_ + kStep * ++count_); }

  /// Uniform in [0, 1), with 53 random bits.
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }

  /// Uniform in [0, bound), bound >= 1; the bias is below bound / 2^64.
  std::uint64_t below(std::uint64_t bound) {
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>(static_cast<Wide>(next()) * bound >> 64);
  }

  /// Fisher and Yates.
  template <typename T>
  void shuffle(std::vector<T>& values) {
    for (std::size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[below(i)]);
  }

 private:
  static constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15ULL;
  std::uint64_t key_;
  std::uint64_t count_ = 0;
};

}  // namespace splitwave::workloads
