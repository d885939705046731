// SPDX-License-Identifier: Apache-2.0
// Merges across items by partial results that CTAs report: which of them fall to a CTA, and how it does them. Of lists
// by last arrivers, in group kernels also by CTAs that wait; others do that by packets (waiting.cuh).
#pragma once

#include "gpu/kernels/bounded_wait.cuh"
#include "gpu/kernels/combine.cuh"
#include "gpu/kernels/cta.cuh"
#include "gpu/kernels/finish.cuh"
#include "gpu/kernels/items.cuh"
#include "gpu/kernels/ptx.cuh"
#include "gpu/kernels/recorder.cuh"
#include "gpu/kernels/ring_merge.cuh"

namespace splitwave::gpu {

/// Parts of an output times the turns in which a CTA's warps take its fragments, from which on CTAs share a merge: a
/// turn of a part takes some 40 ns, and that the host reports its own part too, and all see it, up to a microsecond.
inline constexpr int kSharedTurns = 16;

/// CTAs of the item's output that merge it, each some of its fragments or a part of one: where its first part's waits
/// for the others, those of its first parts that end their lists, for nobody waits for what they do next.
template <class Config>
__device__ __forceinline__ int mergers(const Cta<Config>& cta, const DeviceItem& item) {
  if (!Config::kWaits && (!Config::kGroup || cta.params.merge != InKernelMerge::host_cta)) return 1;
  const int fragments = cta.fragments_per_rank();
  if (Config::kWaits && merged_by_quarters(item)) {
    if (item.mergers >= kQuarters * fragments) return kQuarters * fragments;
    if (item.mergers >= 2 * fragments) return 2 * fragments;  // each half of one
  }
  const int turns = (fragments + Config::kWarps - 1) / Config::kWarps;
  return item.parts * turns < kSharedTurns ? 1 : min(item.mergers, fragments);
}

/// Fragments of an output, [first, end).
struct FragmentRange {
  int first;
  int end;
};

/// Those that the CTA merges of the item's output, of which `sharing` CTAs have a share each.
template <class Config>
__device__ __forceinline__ FragmentRange fragments_to_merge(const Cta<Config>& cta, const DeviceItem& item,
                                                            const Rows& rows, int sharing) {
  const int count = cta.fragments_with_rows(rows.count);
  const int first = cta.first_fragment();
  if (sharing == 1) return {first, first + count};
  const int together = item.parts > kPartsPerMergeWarp ? 1 : merge_run<Config>(count, sharing);
  return {first + count / together * item.part / sharing * together,
          first + count / together * (item.part + 1) / sharing * together};
}

/// What a warp has of a fragment: 16 parts at a time where registers allow, which with few rows of a latent cache they
/// do. Elsewhere kernels then spill, and each further item takes longer.
template <class Config>
__device__ __forceinline__ Running combine_share(const Cta<Config>& cta, const Source& share, int fragment) {
  const int at = fragment * 512 + cta.lane * 16;
  const int sums_at = fragment / Config::kDimTiles * 64;
  if constexpr (Config::kRowTiles <= 4 && Config::kLatent && !Config::kPortable) {
    RunningRun<1> run;
    combine_run(share, at, sums_at, cta.lane, run);
    return running(run.o[0], run.maximum, run.sum);
  } else {
    const Place places[1] = {{at, sums_at + (cta.lane & 3) * 16}};
    Running runs[1];
    combine<kFarBatch>(share, places, runs);
    return runs[0];
  }
}

/// Merges an output's many items: several warps share a fragment, and are combined through shared memory that is free.
template <class Config>
__device__ __forceinline__ void combine_many(const Cta<Config>& cta, const Source& source, const FragmentRange& range,
                                             const Rows& rows) {
  int shift = 0;
  while (2 << shift <= Config::kWarps && source.count > kPartsPerMergeWarp << shift) ++shift;
  const int place = cta.warp & ((1 << shift) - 1);
#pragma unroll 1
  for (int next = range.first; next < range.end; next += Config::kWarps >> shift) {
    if (next > range.first) cta.sync();
    const int fragment = next + (cta.warp >> shift);
    const bool active = fragment < range.end;
    Running run;
    if (active) run = combine_share(cta, share_of(source, place, shift), fragment);
    add_warps(reinterpret_cast<Running*>(cta.shared), run, cta.warp, cta.lane, shift, active, [&] { cta.sync(); });
    if (active && place == 0) {
      write_output<Config>(cta.params.output, cta.params.lse, rows, fragment, cta.lane, run);
    }
  }
  cta.sync();
}

/// Where in its list a CTA merges what it owes: before its end there are few registers beside what the list keeps.
enum class Moment { between_items, at_end };

/// Combines an output's items: through the warps' rings, if all warps call this and theirs are free; else as many loads
/// at a time as registers allow.
template <Moment kMoment, class Config>
__device__ __forceinline__ void merge_output(const Cta<Config>& cta, const DeviceItem& item, bool ring_is_free) {
  constexpr int kOfWarp = Config::kFragments / Config::kWarps;
  constexpr bool kRoom = kMoment == Moment::at_end && Config::kRowTiles == 1 && Config::kHeadDim <= 128 &&
                         Config::kResident * Config::kWarps <= 8;
  const Source source = slots_source(cta, item);
  const Rows rows = rows_of<Config>(cta.params, item, cta.row_block);
  const int sharing = mergers(cta, item);
  const FragmentRange range = fragments_to_merge(cta, item, rows, sharing);
  const int count = range.end - range.first;
  if constexpr (Config::kGroup) {
    if (sharing > 1 && item.parts > kPartsPerMergeWarp) {
      combine_many(cta, source, range, rows);
      return;
    }
  }
  if constexpr (has_merge_ring<Config>()) {
    if (ring_is_free && merges_through_ring<Config>(item.parts, range.first, count)) {
      combine_through_ring(cta, source, range.first, count, rows);
      return;
    }
  }
  if constexpr (Config::kGroup) {  // in the middle of a list, of very many parts, or of few fragments
    combine_fragments<kFarBatch, (Config::kResident > 2 ? 1 : 2)>(cta, source, range.first, count, Sink::output, 0,
                                                                  rows, -1);
  } else if (kOfWarp >= 4 && item.parts <= kFewItems) {
    combine_fragments<kFewItems, (kRoom ? 4 : 2)>(cta, source, range.first, count, Sink::output, 0, rows, -1);
  } else {
    combine_fragments<kFarBatch, (kRoom && kOfWarp >= 2 ? 2 : 1)>(cta, source, range.first, count, Sink::output, 0,
                                                                  rows, -1);
  }
}

/// Waits, not for ever, until all items of the output have arrived, but that of a CTA which merges it alone. Thread 0
/// only.
template <class Config>
__device__ __forceinline__ bool wait_for_arrivals(const Cta<Config>& cta, const DeviceItem& item) {
  std::uint32_t* arrivals = cta.arrivals(item.slot_begin);
  const std::uint32_t sharing = mergers(cta, item);
  const std::uint32_t all = sharing > 1 ? item.parts : item.parts - 1;
  std::uint64_t since = 0;
  for (int polls = 1; ptx::load_acquire(arrivals) < all; ++polls) {
    if (waited_too_long(cta, polls, since)) {
      give_up(cta, item);
      return false;
    }
  }
  if (sharing > 1) {
    ptx::increment_relaxed(arrivals, item.parts + sharing - 1);  // back to 0 when the last of them has seen it
  } else {
    *arrivals = 0;
  }
  return true;
}

/// What a CTA still owes: the merges it may have to do. Thread 0 keeps the last arrival's answer in a register so that
/// nobody waits for it before the next one.
struct Pending {
  int count = 0;
  std::uint32_t ours = 0;

  __device__ __forceinline__ void settle(Control& control) {
    if (count > 0 && threadIdx.x == 0) control.ours[count - 1] = ours;
  }

  /// The item's partial result is written: report it. All threads of the CTA call this; count < kMaxPending.
  template <class Config>
  __device__ __forceinline__ void arrive(const Cta<Config>& cta, const DeviceItem& item) {
    const bool host = Config::kGroup && cta.params.merge == InKernelMerge::host_cta;
    const int sharing = mergers(cta, item);
    const bool may_merge = !host || item.part < sharing;
    cta.sync();
    if (threadIdx.x == 0) {
      if (may_merge) {
        settle(cta.control());
        cta.control().pending[count] = item;
        ours = 0;
      }
      if (!dropped(cta, item) && !(host && sharing == 1 && item.part == 0)) {
        std::uint32_t* const arrivals = cta.arrivals(item.slot_begin);
        const std::uint32_t last = item.parts - 1U;
        if (host) {
          ptx::report(arrivals, last + sharing);
        } else {
          ours = ptx::increment(arrivals, last) == last ? 1 : 0;
        }
      }
    }
    if (may_merge) ++count;
  }

  /// Learns which of the pending merges fall to this CTA: those whose last arrival was its own, or, as a host, all.
  template <class Config>
  __device__ __forceinline__ void collect(const Cta<Config>& cta) {
    Control& control = cta.control();
    settle(control);
    if (Config::kGroup && threadIdx.x == 0 && cta.params.merge == InKernelMerge::host_cta) {
      for (int i = 0; i < count; ++i) control.ours[i] = wait_for_arrivals(cta, control.pending[i]) ? 1 : 0;
    }
    cta.sync();
  }
};

/// Does the merges that fall to this CTA of those that are pending. ring_is_free: no loader has asked for anything.
template <Moment kMoment, class Config>
__device__ __forceinline__ void merge_pending(const Cta<Config>& cta, Pending& pending, bool ring_is_free) {
  pending.collect(cta);
  if constexpr (kRecords) skip_waiting(cta);
#pragma unroll 1
  for (int i = 0; i < pending.count; ++i) {
    if (cta.control().ours[i] == 0) continue;
    const DeviceItem merged = cta.control().pending[i];
    merge_output<kMoment>(cta, merged, ring_is_free);
    if constexpr (kRecords) {
      if (mergers(cta, merged) == 1 || merged.part == 0) record_merge(cta, merged.slot_begin);
    }
  }
  pending.count = 0;
}

/// Reports the item if its output is split, and does the merges that fall to this CTA if there is no room for more.
/// active: the item has rows of this CTA's row block.
template <class Config>
__device__ __forceinline__ void report_item(const Cta<Config>& cta, const DeviceItem& item, bool active,
                                            Pending& pending) {
  const bool in_kernel = cta.params.merge != InKernelMerge::none;
  if (active && item.parts > 1 && in_kernel) pending.arrive(cta, item);
  if (item.next >= 0 && pending.count == kMaxPending) merge_pending<Moment::between_items>(cta, pending, false);
}

/// The merges that are still pending at the end of a list.
template <class Config>
__device__ __forceinline__ void merge_rest(const Cta<Config>& cta, Pending& pending) {
  if (pending.count > 0) merge_pending<Moment::at_end>(cta, pending, false);
}

}  // namespace splitwave::gpu
