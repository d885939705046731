// SPDX-License-Identifier: Apache-2.0
// How large a workload may be. The limits keep every count that the project holds in int32 or int64 from wrapping, and
// the time and memory of reading hostile files bounded. docs/workloads.md states them.
#pragma once

#include <cstdint>
#include <string>

#include "workloads/workload.h"

namespace splitwave::workloads {

inline constexpr std::int64_t kMaxHeads = 4096;
inline constexpr std::int64_t kMaxHeadDim = 1024;
inline constexpr std::int64_t kHeadDimStep = 8;  ///< head and value dims are multiples: 16-byte rows of 16-bit elements
inline constexpr std::int64_t kMaxContextLen = std::int64_t{1} << 30;
inline constexpr std::int64_t kMaxQueryLen = std::int64_t{1} << 20;
inline constexpr std::int64_t kMaxQueryTokens = std::int64_t{1} << 24;      ///< of a whole batch
inline constexpr std::int64_t kMaxQueryRows = (std::int64_t{1} << 31) - 1;  ///< query tokens times query heads
inline constexpr std::int64_t kMaxRequests = std::int64_t{1} << 20;         ///< of one workload
inline constexpr std::int64_t kMaxPageSize = 65536;
inline constexpr std::int64_t kMaxPages = (std::int64_t{1} << 31) - 1;  ///< of one workload, a block table is int32
inline constexpr std::int64_t kMaxTensorBytes = std::int64_t{1} << 60;  ///< of each of Q, K and V
inline constexpr std::int64_t kMaxNameLength = 200;
inline constexpr std::int64_t kMaxNoteLength = 2000;
inline constexpr std::int64_t kMaxWorkloads = 10'000;                     ///< of one file, sweeps expanded
inline constexpr std::int64_t kMaxSweepAxes = 64;                         ///< of one workload
inline constexpr std::int64_t kMaxTotalRequests = std::int64_t{1} << 22;  ///< of one file, sweeps expanded

/// validate(), with `where` instead of the workload's name at the start of the message.
void validate(const Workload& workload, const std::string& where);

}  // namespace splitwave::workloads
