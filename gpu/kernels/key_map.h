// SPDX-License-Identifier: Apache-2.0
// The keys of a cache as a matrix of which a copy takes a box.
#pragma once

#include <cstdint>

namespace splitwave::gpu {

/// A box: 128 bytes of each token, which a copy swizzles as wgmma wants them.
inline constexpr int kBoxElements = 64;
inline constexpr int kBoxTokens = 64;

/// A CUtensorMap, which is a kernel's second parameter.
struct alignas(64) KeyMap {
  std::uint64_t words[16];
};

}  // namespace splitwave::gpu
