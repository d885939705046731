// SPDX-License-Identifier: Apache-2.0
// When each CTA, item and merge begins and ends, and on which SM: thread 0 of the CTA writes it down. Only where
// kRecords is true, which every caller asks by `if constexpr`: a mere call of an empty function changes what the
// compiler makes of a kernel.
#pragma once

#include "gpu/kernels/cta.cuh"
#include "gpu/kernels/items.cuh"
#include "gpu/kernels/params.h"
#include "gpu/kernels/ptx.cuh"

namespace splitwave::gpu {

#ifdef SPLITWAVE_TIMELINE
inline constexpr bool kRecords = true;
#else
inline constexpr bool kRecords = false;
#endif

/// The time on the clock that all SMs share. Memory operations before and after it stay where they are.
__device__ __forceinline__ std::uint64_t time_stamp() {
  asm volatile("" ::: "memory");
  const std::uint64_t time = ptx::nanoseconds();
  asm volatile("" ::: "memory");
  return time;
}

/// Number of the CTA in its grid.
__device__ __forceinline__ int cta_number() {
  return static_cast<int>((blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x);
}

/// Whether this thread is to write down what its CTA does.
template <class Cta>
__device__ __forceinline__ bool records(const Cta& cta) {
  return threadIdx.x == 0 && cta.params.timeline.ctas != nullptr;
}

/// Writes what has gone on since the CTA's last record, or since its start, to place `of` of an array that has one for
/// each row block and rank.
template <class Cta>
__device__ __forceinline__ void write_record(const Cta& cta, TimelineRecord* array, int of) {
  const std::uint64_t now = time_stamp();
  array[(cta.slot_block(of) << cta.shift()) + cta.rank] = {cta.control().recorded_until, now, cta_number(),
                                                           static_cast<std::int32_t>(ptx::sm())};
  cta.control().recorded_until = now;
}

template <class Cta>
__device__ __forceinline__ void begin_recording(const Cta& cta) {
  if (!records(cta)) return;
  cta.control().began = time_stamp();
  cta.control().recorded_until = cta.control().began;
}

/// What the CTA works on from now on. index: of the item in the table, or its part.
template <class Cta>
__device__ __forceinline__ void begin_item(const Cta& cta, int index) {
  if (records(cta)) cta.control().item = table_index(cta, index);
}

/// The item's results are written.
template <class Cta>
__device__ __forceinline__ void end_item(const Cta& cta) {
  if (records(cta)) write_record(cta, cta.params.timeline.items, cta.control().item);
}

/// What came before was no work: the CTA waited for others.
template <class Cta>
__device__ __forceinline__ void skip_waiting(const Cta& cta) {
  if (records(cta)) cta.control().recorded_until = time_stamp();
}

/// The CTA has merged the output with these partial results.
template <class Cta>
__device__ __forceinline__ void record_merge(const Cta& cta, int slot_begin) {
  if (records(cta)) write_record(cta, cta.params.timeline.merges, slot_begin);
}

template <class Cta>
__device__ __forceinline__ void end_recording(const Cta& cta) {
  if (!records(cta)) return;
  const int number = cta_number();
  cta.params.timeline.ctas[number] = {cta.control().began, time_stamp(), number, static_cast<std::int32_t>(ptx::sm())};
}

}  // namespace splitwave::gpu
