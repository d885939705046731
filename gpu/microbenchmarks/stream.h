// SPDX-License-Identifier: Apache-2.0
// Launches of the reading kernel, counted CTA by CTA. Private to gpu/microbenchmarks/.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "gpu/buffer.h"
#include "gpu/microbenchmarks/kernels.h"

namespace splitwave::gpu {

/// How long a CTA reads. Its start and end cost less than 1 % of it.
inline constexpr double kStreamSeconds = 300e-6;
inline constexpr std::int64_t kKiB = 1024;
/// More than an SM takes in while it reads.
inline constexpr std::int64_t kStreamBytesPerCta = std::int64_t{48} << 20;

/// Memory to read from, 16 GiB or half of what is free, filled with words that do not repeat.
class ReadPool {
 public:
  explicit ReadPool(cudaStream_t stream);
  const char* data() const { return reinterpret_cast<const char*>(memory_.get()); }
  std::int64_t bytes() const { return static_cast<std::int64_t>(memory_.size() * sizeof(uint4)); }

 private:
  DeviceBuffer<uint4> memory_;
};

/// A launch of the reading kernel on the device as it is.
struct StreamLaunch {
  const char* data = nullptr;
  std::int32_t ctas = 0;
  std::int64_t bytes_in_flight = 0;  ///< of a CTA
  std::int64_t region_stride = 0;    ///< of kernels.h
  std::int64_t region_bytes = 0;
  std::int64_t offset = 0;
  bool interleaved = false;           ///< CTAs take turns: all walk through memory together
  std::int32_t heads = 0;             ///< rows of so many lie side by side, 64 KiB in flight; 0: not by rows
  std::int32_t row_shift = 0;         ///< by rows: each has 1 << row_shift bytes
  bool keeps_in_l2 = true;            ///< what was read is kept in L2 as long as any; else it goes first
  std::vector<std::uint32_t> active;  ///< bit mask of SM ids; empty: all
};

/// Bytes per second of each SM, those of its CTAs together; 0 where none read. Nothing if two CTAs of a launch with a
/// mask came to the same SM.
std::optional<std::vector<double>> stream_rates(const StreamLaunch& launch, cudaStream_t stream);

/// Queues one launch that reads for so long, and counts nothing.
void queue_stream(const StreamLaunch& launch, double seconds, DeviceBuffer<StreamCount>& counts, cudaStream_t stream);

}  // namespace splitwave::gpu
