// SPDX-License-Identifier: Apache-2.0
// One stage of K and V against the packed query rows by the warps of a CTA together: S^T = K Q^T and O^T = V^T P^T by
// wgmma, 64 tokens and 64 elements as M, the rows as N, or the same by mma.sync (portable_tile.cuh). Each warp has the
// scores of 16 tokens and a part of the rows and, of O, tiles of 16 elements, over all tokens: at the end of an item
// there is nothing to combine but the sums.
#pragma once

#include "gpu/kernels/config.cuh"
#include "gpu/kernels/cta.cuh"
#include "gpu/kernels/group_config.cuh"
#include "gpu/kernels/ptx.cuh"
#include "gpu/kernels/tile.cuh"
#include "gpu/kernels/wgmma.cuh"

namespace splitwave::gpu {

/// The part of the rows whose scores the warp has, and which 16 of a stage's tokens. By wgmma: the warpgroup, and the
/// warp's place in it.
template <class Config>
__device__ __forceinline__ int row_part(const Cta<Config>& cta) {
  return Config::kRowParts == 1 ? 0 : cta.warp / Config::kChunks;
}
template <class Config>
__device__ __forceinline__ int member(const Cta<Config>& cta) {
  return Config::kRowParts == 1 ? cta.warp : cta.warp % Config::kChunks;
}

/// Which of O's tiles of 16 elements the warp has as its d-th.
template <class Config>
__device__ __forceinline__ int dim_tile(const Cta<Config>& cta, int d) {
  return (row_part(cta) * Config::kWarpDims + d) * Config::kChunks + member(cta);
}

/// Running result of a CTA: lane l holds rows 2 * (l % 4) and + 1 of each row tile, elements l / 4 and + 8 of each of
/// its warp's dim_tile(), in the order of Accumulator. The maxima are the same in all warps.
template <class Config>
struct GroupAccumulator {
  float o[Config::kWarpDims][Config::kRowTiles][4];
  float sum[Config::kScoreTiles][2];  ///< of the rows whose scores the warp has, over the tokens of this lane
  float maximum[Config::kRowTiles][2];

  /// Of row tile n of a part. Registers have no address: all are named.
  __device__ __forceinline__ float own_maximum(int part, int n, int j) const {
    float own = maximum[n][j];
#pragma unroll
    for (int p = 1; p < Config::kRowParts; ++p) {
      if (part == p) own = maximum[p * Config::kScoreTiles + n][j];
    }
    return own;
  }

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int n = 0; n < Config::kRowTiles; ++n) {
      maximum[n][0] = maximum[n][1] = kNothingSeen;
      if (n < Config::kScoreTiles) sum[n][0] = sum[n][1] = 0;
#pragma unroll
      for (int d = 0; d < Config::kWarpDims; ++d) {
#pragma unroll
        for (int j = 0; j < 4; ++j) o[d][n][j] = 0;
      }
    }
  }
};

/// Scores of the warp's 16 tokens: [0] = (token, row), [1] = (token, row + 1), [2], [3] = 8 tokens later.
template <class Config>
using GroupScores = float[Config::kScoreTiles][4];

/// queries: those of the warpgroup's first row. first, last: which of the steps of 16 elements, without the last one.
template <class Config>
__device__ __forceinline__ void start_keys(std::uint32_t stage, std::uint32_t queries, GroupScores<Config>& s,
                                           int first = 0, int last = Config::kHeadDim / 16) {
  using wgmma::Major;
  const std::uint64_t first_a = wgmma::descriptor(stage);
  const std::uint64_t first_b = wgmma::descriptor(queries);
#pragma unroll
  for (int k = first; k < last; ++k) {
    const std::uint64_t a = wgmma::advance(first_a, (k >> 2) * Config::kBlockBytes + (k & 3) * 32);
    const std::uint64_t b = wgmma::advance(first_b, (k >> 2) * Config::kQueryBlockBytes + (k & 3) * 32);
    wgmma::multiply<typename Config::Element, Major::k>(s, a, b, k > 0 ? 1 : 0);
  }
}

/// values: the first block of the stage's that the warpgroup has.
template <class Config>
__device__ __forceinline__ void start_values(std::uint32_t values, std::uint32_t weights,
                                             GroupAccumulator<Config>& acc) {
  using wgmma::Major;
  const std::uint64_t first_a = wgmma::descriptor(values);
  const std::uint64_t first_b = wgmma::descriptor<Config::kWeightRowBytes>(weights);
#pragma unroll
  for (int d = 0; d < Config::kWarpDims; ++d) {
#pragma unroll
    for (int k = 0; k < Config::kGroupTokens / 16; ++k) {
      const std::uint64_t a = wgmma::advance(first_a, d * Config::kBlockBytes + k * 2048);
      const std::uint64_t b = wgmma::advance(first_b, k * 16 * Config::kWeightRowBytes);
      wgmma::multiply<typename Config::Element, Major::mn>(acc.o[d], a, b, 1);
    }
  }
}

/// All instructions that were started are done, and their accumulators may be used.
template <class Config>
__device__ __forceinline__ void wait_products(GroupScores<Config>* s, GroupAccumulator<Config>& acc) {
  wgmma::commit_and_wait();
  if (s != nullptr) wgmma::hold(*s);
#pragma unroll
  for (int d = 0; d < Config::kWarpDims; ++d) wgmma::hold(acc.o[d]);
}

/// The greatest of this lane's scores, scaled to base 2. A scale may be negative.
template <class Config>
using LaneMaxima = float[Config::kScoreTiles][2];

template <class Config>
__device__ __forceinline__ void lane_maxima(const GroupScores<Config>& s, float scale, LaneMaxima<Config>& x) {
#pragma unroll
  for (int n = 0; n < Config::kScoreTiles; ++n) {
#pragma unroll
    for (int j = 0; j < 2; ++j) x[n][j] = fmaxf(s[n][j] * scale, s[n][j + 2] * scale);
  }
}

/// Of values of a lane's rows those over the lanes that have the same rows. Each lane is left with the first row tile
/// of x, which is tile_of_lane(): half as many values travel at each step as at the one before.
template <int kTiles, int kLanes = 16, int kCount, class Operation>
__device__ __forceinline__ void reduce_rows(float (&x)[kCount][2], int lane, const Operation& operation) {
  if constexpr (kLanes >= 4) {
    constexpr int kKept = kTiles > 1 ? kTiles / 2 : 1;
    const bool upper = kTiles > 1 && (lane & kLanes) != 0;
#pragma unroll
    for (int n = 0; n < kKept; ++n) {
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        const float other = x[kTiles > 1 ? n + kKept : n][j];
        const float given = upper ? x[n][j] : other;
        x[n][j] = operation(upper ? other : x[n][j], __shfl_xor_sync(~0U, given, kLanes));
      }
    }
    reduce_rows<kKept, kLanes / 2>(x, lane, operation);
  }
}

/// Of the CTA's row tiles.
template <class Config>
__device__ __forceinline__ int tile_of_lane(const Cta<Config>& cta) {
  return row_part(cta) * Config::kScoreTiles + (cta.lane >> 2) * Config::kScoreTiles / 8;
}

/// Brings the maxima up to date: all warps' scores of a row count. All threads.
template <class Config>
__device__ __forceinline__ void raise_group_maxima(const Cta<Config>& cta, LaneMaxima<Config>& lane_x,
                                                   GroupAccumulator<Config>& acc) {
  auto* maxima = reinterpret_cast<float2*>(cta.shared + Config::kMaximaOffset);
  reduce_rows<Config::kScoreTiles>(lane_x, cta.lane, [](float a, float b) { return fmaxf(a, b); });
  maxima[member(cta) * (Config::kRows / 2) + tile_of_lane(cta) * 4 + (cta.lane & 3)] =
      make_float2(lane_x[0][0], lane_x[0][1]);
  cta.sync();
#pragma unroll
  for (int n = 0; n < Config::kRowTiles; ++n) {
    float raised[2] = {acc.maximum[n][0], acc.maximum[n][1]};
#pragma unroll
    for (int warp = 0; warp < Config::kChunks; ++warp) {
      const float2 x = maxima[warp * (Config::kRows / 2) + n * 4 + (cta.lane & 3)];
      raised[0] = fmaxf(raised[0], x.x);
      raised[1] = fmaxf(raised[1], x.y);
    }
    float factor[2];
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      factor[j] = ptx::exp2_approximate(acc.maximum[n][j] - raised[j]);
      acc.maximum[n][j] = raised[j];
      if (n / Config::kScoreTiles == row_part(cta)) acc.sum[n % Config::kScoreTiles][j] *= factor[j];
    }
#pragma unroll
    for (int d = 0; d < Config::kWarpDims; ++d) {
#pragma unroll
      for (int j = 0; j < 4; ++j) acc.o[d][n][j] *= factor[j & 1];
    }
  }
}

/// P as B operand, [token][row], and its sums before rounding. The scores times `scale` are to base 2.
template <class Config>
__device__ __forceinline__ void store_weights(const Cta<Config>& cta, const GroupScores<Config>& s, float scale,
                                              GroupAccumulator<Config>& acc) {
  using T = ptx::Traits<typename Config::Element>;
  const int token = member(cta) * 16 + (cta.lane >> 2);
  const int first = row_part(cta) * Config::kScoreTiles;
  unsigned char* to = cta.shared + Config::kWeightOffset + (cta.lane & 3) * 4;
#pragma unroll
  for (int n = 0; n < Config::kScoreTiles; ++n) {
    float p[4];
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      p[j] = ptx::exp2_approximate(__fmaf_rn(s[n][j], scale, -acc.own_maximum(row_part(cta), n, j & 1)));
      acc.sum[n][j & 1] += p[j];
    }
    unsigned char* at = to + wgmma::swizzled<Config::kWeightRowBytes>(token, first + n);
    *reinterpret_cast<std::uint32_t*>(at) = T::pack(p[0], p[1]);
    *reinterpret_cast<std::uint32_t*>(at + 8 * Config::kWeightRowBytes) = T::pack(p[2], p[3]);
  }
}

/// Which positions of an item each row sees: from x to y. They lie where the rows' sums and places come when the item
/// ends.
template <class Config>
__device__ __forceinline__ int2* row_bounds(const Cta<Config>& cta) {
  return reinterpret_cast<int2*>(cta.shared + Config::kRowEndsOffset);
}

/// Finds them, a thread a row. All threads; nobody needs the ends of the rows of the item before.
template <class Config>
__device__ __forceinline__ void find_row_bounds(const Cta<Config>& cta, const DeviceItem& item, const RowMask& mask) {
  const int row = static_cast<int>(threadIdx.x);
  if (row >= Config::kRows) return;
  const int query = mask.query(row);
  row_bounds(cta)[row] = make_int2(mask.begin(query), min(mask.end(query), item.kv_end));
}

/// Scores of rows that do not see a position, and of positions from the item's end on, become -inf.
template <class Config>
__device__ __forceinline__ void mask_group(const Cta<Config>& cta, const DeviceItem& item, int position,
                                           GroupScores<Config>& s) {
  const int first = position + member(cta) * 16 + (cta.lane >> 2);
  const int row = row_part(cta) * (Config::kScoreTiles * 8) + 2 * (cta.lane & 3);
#pragma unroll
  for (int n = 0; n < Config::kScoreTiles; ++n) {
    int4 bounds = make_int4(first, item.kv_end, first, item.kv_end);
    if constexpr (Config::kMasked) bounds = *reinterpret_cast<const int4*>(row_bounds(cta) + row + n * 8);
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const int at = first + (j >> 1) * 8;
      const bool seen = (j & 1) == 0 ? at >= bounds.x && at < bounds.y : at >= bounds.z && at < bounds.w;
      if (!seen) s[n][j] = -INFINITY;
    }
  }
}

/// Whether all elements that it is shown are numbers: 0 times another is none, and none is a sum with it.
template <class Element>
class NumberCheck {
 public:
  __device__ __forceinline__ void add(const uint4& elements) {
    for (const std::uint32_t pair : {elements.x, elements.y, elements.z, elements.w}) {
      sum_ = __hfma2(*reinterpret_cast<const Pair*>(&pair), zero(), sum_);
    }
  }
  __device__ __forceinline__ bool failed() const {
    return (*reinterpret_cast<const std::uint32_t*>(&sum_) & 0x7fff7fffU) != 0;  // of 0 the sign alone
  }

 private:
  using Pair = std::conditional_t<std::is_same_v<Element, __half>, __half2, __nv_bfloat162>;
  __device__ __forceinline__ static Pair zero() {
    constexpr std::uint32_t kZero = 0;
    return *reinterpret_cast<const Pair*>(&kZero);
  }

  Pair sum_ = zero();
};

/// Whether an element of the stage's V is no number. 0 * NaN is NaN: a row that does not see such a value must not even
/// multiply it by zero.
template <class Config>
__device__ __forceinline__ bool has_no_number(const Cta<Config>& cta, const unsigned char* stage) {
  NumberCheck<typename Config::Element> check;
#pragma unroll 4
  for (int at = static_cast<int>(threadIdx.x) * 16; at < Config::kValueBytes; at += Config::kThreads * 16) {
    check.add(*reinterpret_cast<const uint4*>(stage + Config::kValueOffset + at));
  }
  return check.failed();
}

/// O^T += V^T P^T where a value that some row does not see is no number: each row adds what it sees, one after the
/// other.
template <class Config>
__device__ __forceinline__ void multiply_seen_values(const Cta<Config>& cta, const unsigned char* stage, int position,
                                                     GroupAccumulator<Config>& acc) {
  using Element = typename Config::Element;
  const unsigned char* weights = cta.shared + Config::kWeightOffset;
#pragma unroll 1
  for (int token = 0; token < Config::kGroupTokens; ++token) {
#pragma unroll
    for (int n = 0; n < Config::kRowTiles; ++n) {
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const int row = n * 8 + 2 * (cta.lane & 3) + (j & 1);
        const int2 bounds = row_bounds(cta)[row];
        if (position + token < bounds.x || position + token >= bounds.y) continue;
        const auto p = *reinterpret_cast<const Element*>(weights + wgmma::swizzled<Config::kWeightRowBytes>(token, n) +
                                                         (row & 7) * 2);
#pragma unroll
        for (int d = 0; d < Config::kWarpDims; ++d) {
          constexpr int kTurns = 4 / Config::kChunks;  // in which the warps have a block of 64 elements
          const int block = row_part(cta) * (Config::kWarpDims / kTurns) + d / kTurns;
          const int element = (d % kTurns * Config::kChunks + member(cta)) * 16 + (cta.lane >> 2) + (j >> 1) * 8;
          const auto v = *reinterpret_cast<const Element*>(stage + Config::kValueOffset + block * Config::kBlockBytes +
                                                           wgmma::swizzled(token, element >> 3) + (element & 7) * 2);
          acc.o[d][n][j] += static_cast<float>(p) * static_cast<float>(v);
        }
      }
    }
  }
}

/// Clears the stage's V: what was multiplied by hand adds nothing to the product of all. All threads.
template <class Config>
__device__ __forceinline__ void clear_values(const Cta<Config>& cta, unsigned char* stage) {
  cta.sync();
#pragma unroll 1
  for (int at = static_cast<int>(threadIdx.x) * 16; at < Config::kValueBytes; at += Config::kThreads * 16) {
    *reinterpret_cast<uint4*>(stage + Config::kValueOffset + at) = make_uint4(0, 0, 0, 0);
  }
  wgmma::publish();
  cta.sync();
}

}  // namespace splitwave::gpu
