// SPDX-License-Identifier: Apache-2.0
// Waits for other CTAs end: a merge whose parts do not come, by packets or by reports, makes the launch fail.
#pragma once

#include "gpu/kernels/cta.cuh"
#include "gpu/kernels/params.h"
#include "gpu/kernels/ptx.cuh"

namespace splitwave::gpu {

/// Between two looks at the clock, which take longer than a poll.
inline constexpr int kPollsUntimed = 64;

/// Whether a thread or warp that has polled `polls` times, from 1 on, has waited too long. since: when it looked first.
template <class Config>
__device__ __forceinline__ bool waited_too_long(const Cta<Config>& cta, int polls, std::uint64_t& since) {
  if (polls % kPollsUntimed != 0) return false;
  const std::uint64_t now = ptx::nanoseconds();
  if (polls == kPollsUntimed) since = now;
  return now - since > cta.params.wait_nanoseconds;
}

/// Says that a merge of the item's output has waited in vain: the launch fails.
template <class Config>
__device__ __forceinline__ void give_up(const Cta<Config>& cta, const DeviceItem& item) {
  if (cta.lane == 0) atomicCAS(cta.params.error, 0U, 1U + item.slot_begin);
}

}  // namespace splitwave::gpu
