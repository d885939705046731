// SPDX-License-Identifier: Apache-2.0
// Merges across items without fences. Partial results are left in packets that say by themselves that they are there: a
// word of them that nobody has written is no number that arithmetic gives. So nobody waits until what was written can
// be seen by others (0.35 us on Hopper), as in NCCL's LL protocol. CTAs that wait, at the ends of their lists or, of
// a latent cache, with items that their clusters hold, look at the packets themselves. Last arrivers, of single-item
// kernels in clusters: each warp takes a ticket for its fragments before it writes them, and the one that takes an
// output's last ticket merges them: it waits for nobody who has not begun, since all others have theirs.
#pragma once

#include "gpu/kernels/bounded_wait.cuh"
#include "gpu/kernels/combine.cuh"
#include "gpu/kernels/cta.cuh"
#include "gpu/kernels/ptx.cuh"
#include "gpu/kernels/recorder.cuh"
#include "gpu/kernels/run_merge.cuh"

namespace splitwave::gpu {

/// The first word of each 16 bytes of a packet that are not there. Memory is filled with it by bytes of 0xff, and a
/// merge leaves it behind. As a float it is a NaN that no instruction makes; one that an input had becomes another.
inline constexpr std::uint32_t kNotThere = 0xffffffffU;

/// Whether launches of the config's kernel that merge do it so: of lists, those that wait; of single items, last
/// arrivers, if they are in clusters: of single CTAs each warp has several fragments, whose instructions take what is
/// won.
template <class Config>
inline constexpr bool kLeavesPackets =
    Config::kSingleItem ? Config::kSingleItemCluster > 1 && Config::kParts : Config::kWaits;

/// Whether this launch does.
template <class Config>
__device__ __forceinline__ bool merges_packets(const Cta<Config>& cta) {
  return Config::kWaits || (kLeavesPackets<Config> && cta.params.merge == InKernelMerge::last_arriver);
}

/// Which of all packets are those of an output's part: those of the parts of an output's row block lie side by side.
template <class Config>
__device__ __forceinline__ int packet_index(const Cta<Config>& cta, const DeviceItem& item, int part) {
  return item.slot_begin * cta.row_blocks() + cta.row_block * item.parts + part;
}

/// From the packet of a fragment to that of the next part.
template <class Config>
inline constexpr int kPacketStride = Config::kFragments* kPacketBytes;

template <class Config>
__device__ __forceinline__ char* packet(const Cta<Config>& cta, int index, int fragment) {
  return static_cast<char*>(cta.params.packets) +
         (static_cast<std::int64_t>(index) * Config::kFragments + fragment) * kPacketBytes;
}

/// A lane's 16 bytes of a packet that is there.
__device__ __forceinline__ uint4 sixteen(const float4& value) {
  return {min(__float_as_uint(value.x), kNotThere - 1), __float_as_uint(value.y), __float_as_uint(value.z),
          __float_as_uint(value.w)};
}

/// Whether CTAs that wait merge the item's output by quarters of fragments (waiting.cuh): it has so many parts that a
/// fragment's would come to a warp in several turns, and several CTAs that share it.
__device__ __forceinline__ bool merged_by_quarters(const DeviceItem& item) {
  return item.parts > kPartsPerMergeWarp && item.mergers > 1;
}

/// Beside a packet's index: its sums are left once for each quarter.
inline constexpr int kSumsOfQuarters = 1 << 30;

/// Leaves a lane's part of a fragment. sums: of its first row, then of the second. first_of_run: whether anybody will
/// look for them with this fragment: what comes unseen might come after it is forgotten.
template <class Config>
__device__ __forceinline__ void put_packet(const Cta<Config>& cta, int index, int fragment, const float4& value,
                                           const float4& sums, bool first_of_run = true) {
  if (Config::kWaits && index < 0) return;  // a test lets it get lost
  char* to = packet(cta, Config::kWaits ? index & ~kSumsOfQuarters : index, fragment);
  ptx::store_whole(to + cta.lane * 16, sixteen(value));
  const int with_sums = Config::kWaits && (index & kSumsOfQuarters) != 0 ? 4 * kQuarters : 4;
  if (first_of_run && cta.lane < with_sums) ptx::store_whole(to + kPacketSums + cta.lane * 16, sixteen(sums));
}

/// Warps of each CTA that have fragments.
template <class Config>
inline constexpr int kWarpsWithFragments =
    Config::kFragmentsPerRank < Config::kWarps ? Config::kFragmentsPerRank : Config::kWarps;

/// The warp's ticket for its fragments of the item, from 0 on, in lane 0. The answer takes a trip to L2: ask early.
template <class Config>
__device__ __forceinline__ std::uint32_t take_ticket(const Cta<Config>& cta, const DeviceItem& item) {
  constexpr int kWarps = kWarpsWithFragments<Config>;
  static_assert(kWarps * Config::kSingleItemCluster <= 2 * kCountersPerSlot);  // an output has two slots or more
  if (cta.lane != 0 || cta.warp >= kWarps) return 0;
  if constexpr (Config::kRanksPerFragment > 1) {
    if (cta.rank % Config::kRanksPerFragment != 0) return 0;  // this CTA has none: no number of parts is 1
  }
  return ptx::increment_relaxed(cta.params.arrivals + item.slot_begin * kCountersPerSlot + cta.rank * kWarps + cta.warp,
                                item.parts - 1U);
}

/// Takes a lane's part of up to kAhead packets of a fragment, of parts side by side, `count` of them; of the others
/// nothing. from: the first one. at, sums_at: where the lane's part and its sums lie in each. False: they have not come
/// in time. All lanes of a warp, which may have other packets each.
template <int kAhead, class Config>
__device__ __forceinline__ bool take_packets(const Cta<Config>& cta, const char* from, int count, int at, int sums_at,
                                             float4 (&sums)[kAhead], float4 (&o)[kAhead]) {
  std::uint64_t since = 0;
  for (int polls = 1;; ++polls) {
    std::uint32_t greatest = 0;
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {
      sums[i] = make_float4(kNothingSeen, 0, kNothingSeen, 0);
      o[i] = make_float4(0, 0, 0, 0);
      if (i < count) {
        sums[i] = ptx::load_whole(from + i * kPacketStride<Config> + sums_at);
        o[i] = ptx::load_whole(from + i * kPacketStride<Config> + at);
      }
    }
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {
      greatest = max(greatest, max(__float_as_uint(sums[i].x), __float_as_uint(o[i].x)));
    }
    if (__all_sync(~0U, greatest != kNotThere)) return true;
    if (waited_too_long(cta, polls, since)) return false;
  }
}

/// Marks the packets of `count` parts of a fragment, side by side from `first` on, as not there, for the next launch.
template <class Config>
__device__ __forceinline__ void forget_packets(const Cta<Config>& cta, char* first, int count) {
  const uint4 nothing = {kNotThere, kNotThere, kNotThere, kNotThere};
  char* at = first + cta.lane * 16;
#pragma unroll 4
  for (int part = 0; part < count; ++part, at += kPacketStride<Config>) {
    ptx::store_whole(at, nothing);
    if (cta.lane < 4) ptx::store_whole(at + kPacketSums, nothing);
  }
}

/// Adds `end` parts of a run of fragments, side by side, each as soon as it is there, of which the warp asks for kAsked
/// at a time. from: the first one's packet of the run's first fragment. False: some have not come in time.
template <int kAsked, int kRun, class Config>
__device__ __forceinline__ bool add_packets(const Cta<Config>& cta, const char* from, int end, RunningRun<kRun>& run) {
  constexpr int kTurn = kAsked > kFarBatch ? kAsked : kFarBatch;
#pragma unroll 1
  for (int first = 0; first < end; first += kTurn, from += kTurn * kPacketStride<Config>) {
    float4 sums[kTurn / kFarBatch];
    BatchFactors factors;
#pragma unroll
    for (int asked = 0; asked < kTurn; asked += kAsked) {
      if (first + asked >= end) break;
      float4 o[kAsked][kRun];
      std::uint64_t since = 0;
#pragma unroll 1
      for (int polls = 1;; ++polls) {
        std::uint32_t greatest = 0;
#pragma unroll
        for (int batch = 0; asked == 0 && batch < kTurn / kFarBatch; ++batch) {
          const int part = batch * kFarBatch + (cta.lane >> 2);
          sums[batch] = make_float4(kNothingSeen, 0, kNothingSeen, 0);
          if (first + part < end) {
            sums[batch] = ptx::load_whole(from + part * kPacketStride<Config> + kPacketSums + (cta.lane & 3) * 16);
          }
        }
#pragma unroll
        for (int i = 0; i < kAsked; ++i) {
#pragma unroll
          for (int r = 0; r < kRun; ++r) {
            o[i][r] = make_float4(0, 0, 0, 0);
            if (first + asked + i < end) {
              o[i][r] = ptx::load_whole(from + (asked + i) * kPacketStride<Config> + r * kPacketBytes + cta.lane * 16);
            }
          }
        }
#pragma unroll
        for (const float4& batch : sums) greatest = max(greatest, __float_as_uint(batch.x));
#pragma unroll
        for (int i = 0; i < kAsked; ++i) {
#pragma unroll
          for (int r = 0; r < kRun; ++r) greatest = max(greatest, __float_as_uint(o[i][r].x));
        }
        if (__all_sync(~0U, greatest != kNotThere)) break;
        if (waited_too_long(cta, polls, since)) return false;
      }
#pragma unroll
      for (int i = 0; i < kAsked; ++i) {
        const int part = asked + i;
        if (part % kFarBatch == 0) {
          if (first + part >= end) break;
          factors.begin(sums[part / kFarBatch], run);
        }
        factors.add(part % kFarBatch, cta.lane, o[i], run);
      }
    }
  }
  return true;
}

/// Merges a run of fragments of the item's output. False: not all parts have come in time.
template <int kRun, int kAsked = 16 / kRun, class Config>
__device__ __forceinline__ bool merge_packet_run(const Cta<Config>& cta, const DeviceItem& item, const Rows& rows,
                                                 int fragment) {
  RunningRun<kRun> run;
  char* const first = packet(cta, packet_index(cta, item, 0), fragment);
  if (!add_packets<kAsked>(cta, first, item.parts, run)) {
    give_up(cta, item);
    return false;
  }
  write_run<Config>(cta.params.output, cta.params.lse, rows, fragment, cta.lane, run.o, run.maximum, run.sum);
#pragma unroll
  for (int r = 0; r < kRun; ++r) forget_packets(cta, first + r * kPacketBytes, item.parts);
  return true;
}

/// Merges a fragment of the item's output in the order of its parts, of which the warp asks for kAhead at a time and
/// adds as many as other merges do. False: they have not come in time.
template <int kAhead, class Config>
__device__ __forceinline__ bool merge_fragment(const Cta<Config>& cta, const DeviceItem& item, const Rows& rows,
                                               int fragment) {
  static_assert(kAhead % kFarBatch == 0);
  Running run;
#pragma unroll 1
  for (int first = 0; first < item.parts; first += kAhead) {
    float4 sums[kAhead];
    float4 o[kAhead];
    const char* from = packet(cta, packet_index(cta, item, first), fragment);
    if (!take_packets<kAhead>(cta, from, item.parts - first, cta.lane * 16, kPacketSums + (cta.lane & 3) * 16, sums,
                              o)) {
      give_up(cta, item);
      return false;
    }
#pragma unroll
    for (int i = 0; i < kAhead; i += kFarBatch) {
      add_batch(*reinterpret_cast<const float4(*)[kFarBatch]>(&sums[i]),
                *reinterpret_cast<const float4(*)[kFarBatch]>(&o[i]), run);
    }
  }
  write_output<Config>(cta.params.output, cta.params.lse, rows, fragment, cta.lane, run);
  forget_packets(cta, packet(cta, packet_index(cta, item, 0), fragment), item.parts);
  return true;
}

/// Merges the warp's fragments of the item's output one after the other. Kernels without rings do it as of runs of one:
/// a lane finds what one part in four counts for, not all of them, and fewer instructions make them 2 to 3 % faster.
/// With rings it was no gain.
template <int kAhead, class Config>
__device__ __forceinline__ void merge_packets(const Cta<Config>& cta, const DeviceItem& item, const Rows& rows) {
#pragma unroll 1
  for (int local = cta.warp; local < Config::kFragmentsPerRank; local += Config::kWarps) {
    const int fragment = cta.first_fragment() + local;
    if constexpr (Config::kWholeItem) {
      if (!merge_packet_run<1, kAhead>(cta, item, rows, fragment)) return;
    } else {
      if (!merge_fragment<kAhead>(cta, item, rows, fragment)) return;
    }
  }
}

/// Merges the item's output if the warp's ticket is the last one. Of many parts as many loads are under way as
/// registers allow without spills: with d = 128 and rings three batches, since two make the compiler keep fewer
/// registers for the stream, which becomes up to 4 % slower.
template <class Config>
__device__ __forceinline__ void merge_if_last(const Cta<Config>& cta, const DeviceItem& item, const Rows& rows,
                                              std::uint32_t ticket) {
  constexpr int kMostAhead = (Config::kHeadDim > 128 || Config::kResident > 2  ? 1
                              : Config::kHeadDim == 128 && !Config::kWholeItem ? 3
                                                                               : 2) *
                             kFarBatch;
  if (cta.warp >= kWarpsWithFragments<Config> || __shfl_sync(~0U, ticket, 0) + 1 != item.parts) return;
  if (kMostAhead > kFarBatch && item.parts > kFarBatch) {
    merge_packets<kMostAhead>(cta, item, rows);
  } else {
    merge_packets<kFarBatch>(cta, item, rows);
  }
  if constexpr (kRecords) record_merge(cta, item.slot_begin);
}

}  // namespace splitwave::gpu
