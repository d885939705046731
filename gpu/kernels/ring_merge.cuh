// SPDX-License-Identifier: Apache-2.0
// Merges of many parts through rings that are free: when the lists of a CTA's warps have ended, each warp asks for the
// parts of its fragments by asynchronous copies, stage after stage, over the ends of fragments. Registers hold a
// fraction of what it takes to hide L2's latency.
#pragma once

#include "gpu/kernels/combine.cuh"
#include "gpu/kernels/cta.cuh"
#include "gpu/kernels/ptx.cuh"

namespace splitwave::gpu {

/// A warp's ring as stages of kFarBatch parts of a fragment, so that results have the bits that combine() gives: the
/// parts' fragments, then their sums of the fragment's rows.
template <class Config>
struct MergeRing {
  static constexpr int kSums = kFarBatch * 512;  ///< bytes before them
  static constexpr int kStageBytes = kSums + kFarBatch * 64;
  static constexpr int kWarpBytes = Config::kStages * Config::kStageBytes;
  static constexpr int kStages = kWarpBytes / kStageBytes < 8 ? kWarpBytes / kStageBytes : 8;
};

/// Whether there is such a ring. Lists that warps share keep too much in registers meanwhile, single-item kernels merge
/// few parts, and group kernels have so many fragments to a warp that its arithmetic is the limit (docs/kernels.md,
/// "Versions").
template <class Config>
__device__ constexpr bool has_merge_ring() {
  if constexpr (Config::kAlone) return MergeRing<Config>::kStages >= 3;
  return false;
}

/// Asks for the parts of a warp's fragments of [first, first + count), fragment after fragment.
template <class Config>
class PartLoader {
 public:
  using Ring = MergeRing<Config>;

  __device__ __forceinline__ PartLoader(const Cta<Config>& cta, const Source& source, int first, int count)
      : source_(source), lane_(cta.lane), fragment_(first + cta.warp), end_(first + count) {
    // The compiler does not see that all lanes have the same ring: see Loader::fill_next().
    begin_ = place_ = ptx::opaque(ptx::shared_address(cta.shared) + cta.warp * Ring::kWarpBytes) + lane_ * 16;
  }

  /// The next stage: one group of copies, an empty one at the end.
  __device__ __forceinline__ void ask() {
    if (fragment_ < end_) {
      const char* from = source_.fragments + part_ * source_.fragment_stride + fragment_ * 512 + lane_ * 16;
#pragma unroll
      for (int i = 0; i < kFarBatch; ++i) {
        if (part_ + i < source_.count) {
          ptx::copy_16(place_ + i * 512, from + i * source_.fragment_stride, true, kEvictNormal);
        }
      }
      if (const int part = part_ + (lane_ >> 2); part < source_.count) {
        const int pair = (fragment_ / Config::kDimTiles * 4 + (lane_ & 3)) * 16;
        ptx::copy_16(place_ + Ring::kSums, source_.sums + part * source_.sum_stride + pair, true, kEvictNormal);
      }
      part_ += kFarBatch;
      if (part_ >= source_.count) {
        part_ = 0;
        fragment_ += Config::kWarps;
      }
      place_ += Ring::kStageBytes;
      if (place_ == begin_ + Ring::kStages * Ring::kStageBytes) place_ = begin_;
    }
    ptx::commit_copies();
  }

 private:
  const Source& source_;
  int lane_;
  int fragment_;
  int end_;
  int part_ = 0;
  std::uint32_t begin_;
  std::uint32_t place_;
};

/// Combines `source` for fragments [first, first + count) and writes the output. All warps of a CTA whose ring is free.
template <class Config>
__device__ __forceinline__ void combine_through_ring(const Cta<Config>& cta, const Source& source, int first, int count,
                                                     const Rows& rows) {
  using Ring = MergeRing<Config>;
  static_assert(kFarBatch * 4 == 32, "a lane copies a pair of sums");
  PartLoader<Config> loader(cta, source, first, count);
#pragma unroll 1
  for (int i = 1; i < Ring::kStages; ++i) loader.ask();
  const unsigned char* ring = cta.shared + cta.warp * Ring::kWarpBytes;
  int stage = 0;
#pragma unroll 1
  for (int fragment = first + cta.warp; fragment < first + count; fragment += Config::kWarps) {
    Running run;
#pragma unroll 1
    for (int part = 0; part < source.count; part += kFarBatch) {
      loader.ask();
      ptx::wait_copies<Ring::kStages - 1>();
      __syncwarp();
      const auto* o_of = reinterpret_cast<const float4*>(ring + stage * Ring::kStageBytes) + cta.lane;
      const auto* sums_of =
          reinterpret_cast<const float4*>(ring + stage * Ring::kStageBytes + Ring::kSums) + (cta.lane & 3);
      float4 sums[kFarBatch];
      float4 o[kFarBatch];
#pragma unroll
      for (int i = 0; i < kFarBatch; ++i) {
        sums[i] = make_float4(kNothingSeen, 0, kNothingSeen, 0);
        o[i] = make_float4(0, 0, 0, 0);
        if (part + i < source.count) {
          sums[i] = sums_of[i * 4];
          o[i] = o_of[i * 32];
        }
      }
      add_batch<kFarBatch>(sums, o, run);
      __syncwarp();  // the stage is asked for again
      if (++stage == Ring::kStages) stage = 0;
    }
    write_output<Config>(cta.params.output, cta.params.lse, rows, fragment, cta.lane, run);
  }
}

}  // namespace splitwave::gpu
