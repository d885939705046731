// SPDX-License-Identifier: Apache-2.0
// The order in which a plan's tokens are added up. Inside the folder only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/stop.h"
#include "cpu_reference/numerics/schemes.h"
#include "schedules/plan.h"

namespace splitwave::cpu_reference::numerics {

/// Tokens of K or V that are loaded in one go, and have one factor where these are per block and a tile is longer.
inline constexpr std::int32_t kChunkTokens = 128;

/// Per output, its items in order of slots.
std::vector<std::vector<schedules::Item>> items_of_outputs(const schedules::Plan& plan);

/// The steps of the online softmax over an item, in the rounding's order: tiles between multiples of `tile_kv`, or the
/// whole item.
std::vector<workloads::KvRange> tiles_of(const schedules::Item& item, std::int32_t tile_kv, const Rounding& rounding);

/// Runs work(chunk) for ranges of at most kChunkTokens that make up the range; leaves early if asked to stop: what is
/// computed then is thrown away.
template <typename Work>
void for_chunks(workloads::KvRange range, Work work) {
  for (std::int32_t begin = range.begin; begin < range.end && !base::stop_asked(); begin += kChunkTokens) {
    work(workloads::KvRange{begin, std::min(begin + kChunkTokens, range.end)});
  }
}

workloads::KvRange intersection(workloads::KvRange a, workloads::KvRange b);

/// What row `row` of an output tile may attend to.
workloads::KvRange visible_to_row(const workloads::Workload& workload, const schedules::OutputTile& output,
                                  std::int32_t row);

/// Runs work(index) for every output of the plan on all OpenMP threads; leaves early if asked to stop. The work must
/// not throw.
void for_outputs(const schedules::Plan& plan, const std::function<void(std::int32_t)>& work);

}  // namespace splitwave::cpu_reference::numerics
