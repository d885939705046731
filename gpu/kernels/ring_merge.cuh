// SPDX-License-Identifier: Apache-2.0
// Merges through rings that are free: when the lists of a CTA have ended, each warp asks for the parts of its fragments
// by asynchronous copies, stage after stage, over the ends of fragments. Registers hold a fraction of what it takes to
// hide L2's latency. What each part counts for is found once for each row.
#pragma once

#include "gpu/kernels/combine.cuh"
#include "gpu/kernels/cta.cuh"
#include "gpu/kernels/ptx.cuh"
#include "gpu/kernels/run_merge.cuh"

namespace splitwave::gpu {

/// What a part counts for in two rows, for each a factor of the part and, where it begins a batch of kFarBatch, one of
/// what came before it. Until they are known, the rows' maxima and sums in the part; behind the last part, those of
/// all.
using PairFactors = float4;

/// How shared memory is used: a table of factors, [part][pair of rows] and a last entry for all parts together, and the
/// warps' rings. A warp combines runs of kRun fragments of one row tile, which lie one behind the other in each part; a
/// stage has those of kStageParts parts.
template <class Config>
struct MergeRing {
  static constexpr int kOfWarp = Config::kFragments / Config::kWarps;
  static constexpr int kRun = kOfWarp < 2 ? 1 : kOfWarp < 4 ? 2 : 4;
  static constexpr int kStageParts = kFarBatch / kRun;
  static constexpr int kStageBytes = kFarBatch * 512;
  // The table lies behind the stages that are used. In group kernels, which do not need their queries and weights
  // meanwhile, that is beyond the ring; others leave some of it.
  static constexpr int kBytes =
      Config::kGroup ? Config::kControlOffset : Config::kWarps * Config::kStages * Config::kStageBytes;
  static constexpr int kForStages = Config::kGroup ? Config::kQueryOffset : kBytes - 10 * 1024;
  static constexpr int kFit = kForStages / Config::kWarps / kStageBytes;
  static constexpr int kStages = kFit < 6 ? kFit : 6;
  static constexpr int kTableOffset = Config::kWarps * kStages * kStageBytes;

  /// Row tiles whose factors the table holds, of so many parts.
  __device__ __forceinline__ static int tiles(int parts) { return (kBytes - kTableOffset) / 64 / (parts + 1); }
};

/// Whether there is such a ring. Lists that warps share keep too much in registers meanwhile, and single-item kernels
/// merge few parts.
template <class Config>
__device__ constexpr bool has_merge_ring() {
  if constexpr ((Config::kAlone && !Config::kWaits) || Config::kGroup) return MergeRing<Config>::kStages >= 3;
  return false;
}

/// Fragments that so many CTAs which share `count` of them should leave together.
template <class Config>
__device__ __forceinline__ int merge_run(int count, int sharing) {
  constexpr int kRun = has_merge_ring<Config>() ? MergeRing<Config>::kRun : 1;
  return count % kRun == 0 && count >= kRun * sharing ? kRun : 1;
}

/// Whether a merge of so many parts of these fragments goes through the ring: what registers take at one time is
/// combined sooner there, and in kernels whose warps have lists of their own also what has fewer runs than warps, or
/// few parts.
template <class Config>
__device__ __forceinline__ bool merges_through_ring(int parts, int first, int count) {
  using Ring = MergeRing<Config>;
  if (Ring::tiles(parts) <= 0 || (first | count) % Ring::kRun != 0) return false;
  if (!Config::kGroup) return parts > kFarBatch && count >= Config::kWarps * Ring::kRun;
  return count > (parts > kFarBatch ? 1 : 2) * Config::kWarps;
}

/// Asks for the parts of a warp's runs.
template <class Config>
class PartLoader {
 public:
  using Ring = MergeRing<Config>;

  /// [fragment, end): the first one of the warp's runs, and where all warps' end.
  __device__ __forceinline__ PartLoader(const Cta<Config>& cta, const Source& source, int fragment, int end)
      : source_(source), fragment_(fragment), end_(end) {
    // The compiler does not see that all lanes have the same ring: see Loader::fill_next().
    begin_ = place_ =
        ptx::opaque(ptx::shared_address(cta.shared) + cta.warp * (Ring::kStages * Ring::kStageBytes)) + cta.lane * 16;
    from_ = source.fragments + fragment * 512 + cta.lane * 16;
  }

  /// The next stage: one group of copies, an empty one at the end.
  __device__ __forceinline__ void ask() {
    if (fragment_ < end_) {
#pragma unroll
      for (int i = 0; i < Ring::kStageParts; ++i) {
        if (part_ < source_.count) {
#pragma unroll
          for (int r = 0; r < Ring::kRun; ++r) {
            ptx::copy_16(place_ + (i * Ring::kRun + r) * 512, from_ + r * 512, true, kEvictNormal);
          }
          from_ += source_.fragment_stride;
          ++part_;
        }
      }
      if (part_ == source_.count) {
        from_ += Config::kWarps * Ring::kRun * 512 - part_ * source_.fragment_stride;
        fragment_ += Config::kWarps * Ring::kRun;
        part_ = 0;
      }
      place_ += Ring::kStageBytes;
      if (place_ == begin_ + Ring::kStages * Ring::kStageBytes) place_ = begin_;
    }
    ptx::commit_copies();
  }

 private:
  const Source& source_;
  const char* from_;
  int fragment_;
  int end_;
  int part_ = 0;
  std::uint32_t begin_;
  std::uint32_t place_;
};

/// Asks for the parts' maxima and sums of `pairs` pairs of rows.
template <class Config>
__device__ __forceinline__ void ask_for_sums(const Cta<Config>& cta, const Source& source, int first_pair, int pairs) {
  static_assert(Config::kRows / 2 <= 32);
  if (cta.lane >= pairs) return;
#pragma unroll 1
  for (int part = cta.warp; part < source.count; part += Config::kWarps) {
    ptx::copy_16(ptx::shared_address(cta.shared) + MergeRing<Config>::kTableOffset + (part * pairs + cta.lane) * 16,
                 source.sums + part * source.sum_stride + (first_pair + cta.lane) * 16, true, kEvictNormal);
  }
}

/// Makes factors of the maxima and sums of a row, as add_batch() has them. Parts lie `stride` apart.
__device__ __forceinline__ void find_factors(float2* of_row, int stride, int parts) {
  float maximum = kNothingSeen;
  float sum = 0;
#pragma unroll 1
  for (int first = 0; first < parts; first += kFarBatch) {
    float2 x[kFarBatch];
    float raised = maximum;
#pragma unroll
    for (int i = 0; i < kFarBatch; ++i) {
      x[i] = make_float2(kNothingSeen, 0);
      if (first + i < parts) x[i] = of_row[(first + i) * stride];
      raised = fmaxf(raised, x[i].x);
    }
    const float before = ptx::exp2_approximate(maximum - raised);
    sum *= before;
    maximum = raised;
#pragma unroll
    for (int i = 0; i < kFarBatch; ++i) {
      const float factor = ptx::exp2_approximate(x[i].x - raised);
      sum += factor * x[i].y;
      if (first + i < parts) of_row[(first + i) * stride] = make_float2(factor, before);
    }
  }
  of_row[parts * stride] = make_float2(maximum, sum);
}

/// A lane's elements of a run's fragments.
template <class Config>
using RunSum = float4[MergeRing<Config>::kRun];

/// Adds the parts [part, part + kStageParts) of a run, as far as there are; their factors lie `pairs` apart. The bits
/// are those of add_batch().
template <class Config>
__device__ __forceinline__ void add_stage(const float4* fragments, const PairFactors* of_pair, int pairs, int part,
                                          int parts, RunSum<Config>& o) {
  using Ring = MergeRing<Config>;
#pragma unroll
  for (int i = 0; i < Ring::kStageParts; ++i) {
    if (part + i >= parts) break;
    const PairFactors f = of_pair[(part + i) * pairs];
    if (i == 0 && part % kFarBatch == 0) {
#pragma unroll
      for (int r = 0; r < Ring::kRun; ++r) o[r] = make_float4(o[r].x * f.y, o[r].y * f.w, o[r].z * f.y, o[r].w * f.w);
    }
#pragma unroll
    for (int r = 0; r < Ring::kRun; ++r) {
      const float4 x = fragments[(i * Ring::kRun + r) * 32];
      o[r].x += f.x * x.x;
      o[r].y += f.z * x.y;
      o[r].z += f.x * x.z;
      o[r].w += f.z * x.w;
    }
  }
}

/// Combines `source` for fragments [first, end), of as many row tiles as the table holds, and writes the output.
template <class Config>
__device__ __forceinline__ void combine_tiles(const Cta<Config>& cta, const Source& source, int first, int end,
                                              const Rows& rows) {
  using Ring = MergeRing<Config>;
  const int first_pair = first / Config::kDimTiles * 4;
  const int pairs = ((end - 1) / Config::kDimTiles + 1) * 4 - first_pair;
  auto* const table = reinterpret_cast<PairFactors*>(cta.shared + Ring::kTableOffset);
  ask_for_sums(cta, source, first_pair, pairs);
  ptx::commit_copies();
  PartLoader<Config> loader(cta, source, first + cta.warp * Ring::kRun, end);
#pragma unroll 1
  for (int i = 1; i < Ring::kStages; ++i) loader.ask();
  ptx::wait_copies<Ring::kStages - 1>();
  cta.sync();
  if (const int row = static_cast<int>(threadIdx.x); row < 2 * pairs) {
    find_factors(reinterpret_cast<float2*>(table) + row, 2 * pairs, source.count);
  }
  cta.sync();
  const unsigned char* const ring = cta.shared + cta.warp * (Ring::kStages * Ring::kStageBytes);
  int stage = 0;
#pragma unroll 1
  for (int fragment = first + cta.warp * Ring::kRun; fragment < end; fragment += Config::kWarps * Ring::kRun) {
    const PairFactors* of_pair = table + fragment / Config::kDimTiles * 4 - first_pair + (cta.lane & 3);
    RunSum<Config> o = {};
#pragma unroll 1
    for (int part = 0; part < source.count; part += Ring::kStageParts) {
      loader.ask();
      ptx::wait_copies<Ring::kStages - 1>();
      __syncwarp();
      add_stage<Config>(reinterpret_cast<const float4*>(ring + stage * Ring::kStageBytes) + cta.lane, of_pair, pairs,
                        part, source.count, o);
      __syncwarp();  // the stage is asked for again
      if (++stage == Ring::kStages) stage = 0;
    }
    const PairFactors all = of_pair[source.count * pairs];
    write_run<Config>(cta.params.output, cta.params.lse, rows, fragment, cta.lane, o, {all.x, all.z}, {all.y, all.w});
  }
  cta.sync();  // what comes next may need the ring
}

/// The same for fragments [first, first + count). All threads of a CTA whose ring is free; merges_through_ring().
template <class Config>
__device__ __forceinline__ void combine_through_ring(const Cta<Config>& cta, const Source& source, int first, int count,
                                                     const Rows& rows) {
  const int tiles = MergeRing<Config>::tiles(source.count);
  const int end = first + count;
#pragma unroll 1
  while (first < end) {
    const int last = min(end, (first / Config::kDimTiles + tiles) * Config::kDimTiles);
    combine_tiles(cta, source, first, last, rows);
    first = last;
  }
}

}  // namespace splitwave::gpu
