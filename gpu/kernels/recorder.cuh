// SPDX-License-Identifier: Apache-2.0
// When each CTA, item and merge begins and ends, and on which SM: thread 0 of the CTA writes it down, of items of warps
// with lists of their own the first thread of the warp. Only where kRecords is true, which every caller asks by `if
// constexpr`: a mere call of an empty function changes what the compiler makes of a kernel.
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

/// Whether this thread is to write down what its CTA, or its warp, does.
template <class Cta>
__device__ __forceinline__ bool records(const Cta& cta) {
  return (Cta::kAlone ? cta.lane == 0 : threadIdx.x == 0) && cta.params.timeline.ctas != nullptr;
}

/// The thread's place among those of its CTA that do.
template <class Cta>
__device__ __forceinline__ int recording_warp(const Cta& cta) {
  return Cta::kAlone ? cta.warp : 0;
}

/// Number of the CTA, or of the warp with a list of its own, among all of the grid.
template <class Cta>
__device__ __forceinline__ int recorded_number(const Cta& cta) {
  return Cta::kAlone ? cta_number() * Cta::kWarps + cta.warp : cta_number();
}

/// Writes what has gone on since the thread's last record, or since its start, to place `of` of an array that has one
/// for each row block and rank.
template <class Cta>
__device__ __forceinline__ void write_record(const Cta& cta, TimelineRecord* array, int of) {
  const std::uint64_t now = time_stamp();
  std::uint64_t& until = cta.control().recorded_until[recording_warp(cta)];
  array[(cta.slot_block(of) << cta.shift()) + cta.rank] = {until, now, recorded_number(cta),
                                                           static_cast<std::int32_t>(ptx::sm())};
  until = now;
}

template <class Cta>
__device__ __forceinline__ void begin_recording(const Cta& cta) {
  if (!records(cta)) return;
  const std::uint64_t now = time_stamp();
  cta.control().began[recording_warp(cta)] = now;
  cta.control().recorded_until[recording_warp(cta)] = now;
}

/// What the CTA, or the warp, works on from now on. index: of the item in the table, or its part.
template <class Cta>
__device__ __forceinline__ void begin_item(const Cta& cta, int index) {
  if (records(cta)) cta.control().item[recording_warp(cta)] = table_index(cta, index);
}

/// The item's results are written.
template <class Cta>
__device__ __forceinline__ void end_item(const Cta& cta) {
  if (records(cta)) write_record(cta, cta.params.timeline.items, cta.control().item[recording_warp(cta)]);
}

/// What came before was no work: the CTA waited for others.
template <class Cta>
__device__ __forceinline__ void skip_waiting(const Cta& cta) {
  if (records(cta)) cta.control().recorded_until[recording_warp(cta)] = time_stamp();
}

/// The CTA has merged the output with these partial results; of warps with lists of their own one calls this.
template <class Cta>
__device__ __forceinline__ void record_merge(const Cta& cta, int slot_begin) {
  if (records(cta)) write_record(cta, cta.params.timeline.merges, slot_begin);
}

template <class Cta>
__device__ __forceinline__ void end_recording(const Cta& cta) {
  if (!records(cta)) return;
  const int number = recorded_number(cta);
  cta.params.timeline.ctas[number] = {cta.control().began[recording_warp(cta)], time_stamp(), number,
                                      static_cast<std::int32_t>(ptx::sm())};
}

}  // namespace splitwave::gpu
