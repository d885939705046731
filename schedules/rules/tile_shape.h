// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace splitwave::schedules {

/// Query rows and KV tokens of a kernel's tile.
struct TileShape {
  std::int32_t block_m = 0;
  std::int32_t block_n = 0;
  bool operator==(const TileShape&) const = default;
};

}  // namespace splitwave::schedules
