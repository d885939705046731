// SPDX-License-Identifier: Apache-2.0
// The best num_splits of the library calls that take one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "studies/explain.h"
#include "studies/target.h"
#include "workloads/workload.h"

namespace splitwave::studies {

/// A library's call that takes num_splits.
struct SplitCall {
  std::string_view schedule;  ///< of which "SCHEDULE:N" is the call with N splits
  std::string_view library;
  std::string_view rule;  ///< the schedule that answers N by the library's own rule
  std::int32_t most = 0;  ///< the library refuses more
  bool pads = false;      ///< N CTAs for each output, whether they find a tile or not; else N is a bound
};

/// Limits: csrc/flash_attn/flash_api.cpp (set_params_splitkv) and hopper/flash_api.cpp:1095.
inline constexpr std::array<SplitCall, 2> kSplitCalls = {
    {{"fixed-split", "FlashAttention-2", "fixed-split:fa2", 128, true},
     {"fa3", "FlashAttention-3", "fa3", 256, false}}};

/// Index in kSplitCalls of the call that those who have the schedule's library can make with any count; none if it
/// takes no count, or the schedule's name gives one.
std::optional<std::size_t> split_call_of(std::string_view schedule);

/// Counts that cut in different ways, ascending, up to `most`: of those of FlashAttention-2 that give equally long
/// splits only the smallest, since the others add CTAs that find nothing to do. A count of FlashAttention-3 is a bound:
/// all above what its dynamic rule asks for are the same.
std::vector<std::int32_t> distinct_splits(const SplitCall& call, const workloads::Workload& workload,
                                          const Target& target, std::int32_t most);

/// A schedule's prediction, or nothing if a bound shows that it takes longer than `limit_seconds` or it cannot serve
/// the workload.
std::optional<Alternative> alternative_within(double limit_seconds, const std::string& schedule,
                                              const workloads::Workload& workload, const Target& target);

/// The call's fastest count up to `most`, the least of those that are equally fast, or nothing if the library cannot
/// serve the workload.
std::optional<Alternative> best_split(const SplitCall& call, const workloads::Workload& workload, const Target& target,
                                      std::int32_t most);

}  // namespace splitwave::studies
