// SPDX-License-Identifier: Apache-2.0
// Merges across items without fences. Partial results are left in packets that say by themselves that they are there: a
// word of them that nobody has written is no number that arithmetic gives. So nobody waits until what was written can
// be seen by others (0.35 us on Hopper), as in NCCL's LL protocol. CTAs that wait, at the ends of their lists, look at
// the packets themselves. Last arrivers, of single-item kernels in clusters: each warp takes a ticket for its fragments
// before it writes them, and the one that takes an output's last ticket merges them: it waits for nobody who has not
// begun, since all others have theirs.
#pragma once

#include "gpu/kernels/bounded_wait.cuh"
#include "gpu/kernels/combine.cuh"
#include "gpu/kernels/cta.cuh"
#include "gpu/kernels/ptx.cuh"
#include "gpu/kernels/recorder.cuh"

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

/// Leaves a lane's part of a fragment. sums: of its first row, then of the second.
template <class Config>
__device__ __forceinline__ void put_packet(const Cta<Config>& cta, int index, int fragment, const float4& value,
                                           const float4& sums) {
  if (Config::kWaits && index < 0) return;  // a test lets it get lost
  char* to = packet(cta, Config::kWaits ? index & ~kSumsOfQuarters : index, fragment);
  ptx::store_whole(to + cta.lane * 16, sixteen(value));
  const int with_sums = Config::kWaits && (index & kSumsOfQuarters) != 0 ? 4 * kQuarters : 4;
  if (cta.lane < with_sums) ptx::store_whole(to + kPacketSums + cta.lane * 16, sixteen(sums));
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

/// Takes a lane's part of up to kAhead packets of each of kFragments fragments, of parts side by side, `count` of them;
/// of the others nothing. from: the first one. step: from there to the next fragment's, in bytes. at, sums_at: where
/// the lane's part and its sums lie in each. False: they have not come in time. All lanes of a warp, which may have
/// other packets each.
template <int kAhead, int kFragments = 1, class Config>
__device__ __forceinline__ bool take_packets(const Cta<Config>& cta, const char* from, int count, int at, int sums_at,
                                             float4 (&sums)[kFragments * kAhead], float4 (&o)[kFragments * kAhead],
                                             int step = 0) {
  std::uint64_t since = 0;
  for (int polls = 1;; ++polls) {
    std::uint32_t greatest = 0;
#pragma unroll
    for (int fragment = 0; fragment < kFragments; ++fragment) {
      const char* of = from + fragment * step;
#pragma unroll
      for (int i = 0; i < kAhead; ++i) {
        float4& sum = sums[fragment * kAhead + i];
        float4& value = o[fragment * kAhead + i];
        sum = make_float4(kNothingSeen, 0, kNothingSeen, 0);
        value = make_float4(0, 0, 0, 0);
        if (i < count) {
          sum = ptx::load_whole(of + i * kPacketStride<Config> + sums_at);
          value = ptx::load_whole(of + i * kPacketStride<Config> + at);
        }
      }
    }
#pragma unroll
    for (int i = 0; i < kFragments * kAhead; ++i) {
      greatest = max(greatest, max(__float_as_uint(sums[i].x), __float_as_uint(o[i].x)));
    }
    if (__all_sync(~0U, greatest != kNotThere)) return true;
    if (waited_too_long(cta, polls, since)) return false;
  }
}

/// Marks the packets of a fragment of an output as not there, for the next launch.
template <class Config>
__device__ __forceinline__ void forget_packets(const Cta<Config>& cta, const DeviceItem& item, int fragment) {
  const uint4 nothing = {kNotThere, kNotThere, kNotThere, kNotThere};
  char* at = packet(cta, packet_index(cta, item, 0), fragment) + cta.lane * 16;
#pragma unroll 4
  for (int part = 0; part < item.parts; ++part, at += kPacketStride<Config>) {
    ptx::store_whole(at, nothing);
    if (cta.lane < 4) ptx::store_whole(at + kPacketSums, nothing);
  }
}

/// Merges kFragments fragments of the item's output, each `step` from the one before, in the order of its parts, of
/// which the warp asks for kAhead at a time and adds as many as other merges do. False: they have not come in time.
template <int kAhead, int kFragments = 1, class Config>
__device__ __forceinline__ bool merge_fragments(const Cta<Config>& cta, const DeviceItem& item, const Rows& rows,
                                                int fragment, int step = 0) {
  static_assert(kAhead % kFarBatch == 0);
  Running run[kFragments];
#pragma unroll 1
  for (int first = 0; first < item.parts; first += kAhead) {
    float4 sums[kFragments * kAhead];
    float4 o[kFragments * kAhead];
    const char* from = packet(cta, packet_index(cta, item, first), fragment);
    if (!take_packets<kAhead, kFragments>(cta, from, item.parts - first, cta.lane * 16,
                                          kPacketSums + (cta.lane & 3) * 16, sums, o, step * kPacketBytes)) {
      give_up(cta, item);
      return false;
    }
#pragma unroll
    for (int i = 0; i < kFragments * kAhead; i += kFarBatch) {
      add_batch(*reinterpret_cast<const float4(*)[kFarBatch]>(&sums[i]),
                *reinterpret_cast<const float4(*)[kFarBatch]>(&o[i]), run[i / kAhead]);
    }
  }
#pragma unroll
  for (int i = 0; i < kFragments; ++i) {
    write_output<Config>(cta.params.output, cta.params.lse, rows, fragment + i * step, cta.lane, run[i]);
    forget_packets(cta, item, fragment + i * step);
  }
  return true;
}

/// Merges the warp's fragments of the item's output one after the other.
template <int kAhead, class Config>
__device__ __forceinline__ void merge_packets(const Cta<Config>& cta, const DeviceItem& item, const Rows& rows) {
#pragma unroll 1
  for (int local = cta.warp; local < Config::kFragmentsPerRank; local += Config::kWarps) {
    if (!merge_fragments<kAhead>(cta, item, rows, cta.first_fragment() + local)) return;
  }
}

/// Merges the item's output if the warp's ticket is the last one. Of many parts as many loads are under way as
/// registers allow: with d = 128 three batches, since two make the compiler keep fewer registers for the stream, which
/// becomes up to 4 % slower.
template <class Config>
__device__ __forceinline__ void merge_if_last(const Cta<Config>& cta, const DeviceItem& item, const Rows& rows,
                                              std::uint32_t ticket) {
  constexpr int kMostAhead = (Config::kHeadDim > 128 || Config::kResident > 2 ? 1
                              : Config::kHeadDim == 128                       ? 3
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
