// SPDX-License-Identifier: Apache-2.0
// Partial results become one: of a CTA's warps, of a cluster's CTAs, of an output's items. Always in a fixed order, so
// that results do not depend on timing.
#pragma once

#include "gpu/kernels/config.cuh"
#include "gpu/kernels/params.h"
#include "gpu/kernels/ptx.cuh"

namespace splitwave::gpu {

/// Divides packed rows by the heads that they have per query: after one division by one multiplication, exact as long
/// as rows times heads are less than 2^31.
class HeadDivisor {
 public:
  __device__ __forceinline__ explicit HeadDivisor(int heads) : reciprocal_(0x7fffffffU / heads + 1) {}
  __device__ __forceinline__ int divide(int row) const {
    return static_cast<int>(__umulhi(2U * static_cast<std::uint32_t>(row), reciprocal_));
  }

 private:
  std::uint32_t reciprocal_;
};

/// The packed rows of a CTA's row block, and where they lie in Q and in the output.
struct Rows {
  int query_row;
  int row_begin;
  int head_count;
  int count;  ///< rows that exist
  int query_heads;

  /// Index of the row in [query token][query head].
  __device__ __forceinline__ std::int64_t index(int row) const {
    int head = row_begin + row;
    std::int64_t at = query_row;
    for (; head >= head_count; head -= head_count) at += query_heads;  // one step per query: cheaper than to divide
    return at + head;
  }
};

/// Where a number of partial results lie, all alike. Strides in bytes.
struct Source {
  const char* fragments;
  std::int64_t fragment_stride;
  const char* sums;  ///< pairs of rows: max, sum, max, sum
  std::int64_t sum_stride;
  int count;
};

/// A lane's part of one fragment, unnormalised, with the maxima and sums of its two rows.
struct Running {
  float o[4] = {};
  float maximum[2] = {kNothingSeen, kNothingSeen};
  float sum[2] = {};
};

__device__ __forceinline__ Running running(const float4& o, const float (&maximum)[2], const float (&sum)[2]) {
  return {{o.x, o.y, o.z, o.w}, {maximum[0], maximum[1]}, {sum[0], sum[1]}};
}

/// Turns the maxima of each lane into those of all lanes and of all of the CTA's warps. shared: room for a pair of each
/// warp, row tile and pair of rows.
template <class Config, class Cta>
__device__ __forceinline__ void maxima_of_warps(const Cta& cta, float2* shared,
                                                float (&maximum)[Config::kRowTiles][2]) {
#pragma unroll
  for (int n = 0; n < Config::kRowTiles; ++n) {
#pragma unroll
    for (int lanes = 4; lanes < 32; lanes <<= 1) {
#pragma unroll
      for (float& value : maximum[n]) value = fmaxf(value, __shfl_xor_sync(~0U, value, lanes));
    }
    if (cta.lane < 4) shared[(cta.warp * Config::kRowTiles + n) * 4 + cta.lane] = {maximum[n][0], maximum[n][1]};
  }
  cta.sync();
#pragma unroll
  for (int n = 0; n < Config::kRowTiles; ++n) {
    maximum[n][0] = maximum[n][1] = kNothingSeen;
#pragma unroll
    for (int warp = 0; warp < Config::kWarps; ++warp) {
      const float2 other = shared[(warp * Config::kRowTiles + n) * 4 + (cta.lane & 3)];
      maximum[n][0] = fmaxf(maximum[n][0], other.x);
      maximum[n][1] = fmaxf(maximum[n][1], other.y);
    }
  }
}

/// Partial results that are combined at a time, all asked for before the first is used: of a CTA's or a cluster's
/// parts, which lie in shared memory, and of an output's items, whose latency is long. Few items of many rows are
/// combined for more fragments at a time in place of more items.
inline constexpr int kNearBatch = 4;
inline constexpr int kFarBatch = 8;
inline constexpr int kFewItems = 4;

/// Adds a batch of partial results, in order. sums: maximum and sum of the lane's first row, then of the second.
template <int kBatch>
__device__ __forceinline__ void add_batch(const float4 (&sums)[kBatch], const float4 (&o)[kBatch], Running& run) {
  float raised[2] = {run.maximum[0], run.maximum[1]};
#pragma unroll
  for (int i = 0; i < kBatch; ++i) {
    raised[0] = fmaxf(raised[0], sums[i].x);
    raised[1] = fmaxf(raised[1], sums[i].z);
  }
#pragma unroll
  for (int j = 0; j < 2; ++j) {
    const float factor = ptx::exp2_approximate(run.maximum[j] - raised[j]);
    run.sum[j] *= factor;
    run.o[j] *= factor;
    run.o[j + 2] *= factor;
    run.maximum[j] = raised[j];
  }
#pragma unroll
  for (int i = 0; i < kBatch; ++i) {
    const float factor0 = ptx::exp2_approximate(sums[i].x - raised[0]);
    const float factor1 = ptx::exp2_approximate(sums[i].z - raised[1]);
    run.sum[0] += factor0 * sums[i].y;
    run.sum[1] += factor1 * sums[i].w;
    run.o[0] += factor0 * o[i].x;
    run.o[1] += factor1 * o[i].y;
    run.o[2] += factor0 * o[i].z;
    run.o[3] += factor1 * o[i].w;
  }
}

/// A lane's offsets of one fragment and of its pair of rows within a partial result, in bytes.
struct Place {
  int fragment;
  int pair;
};

/// Adds the source's partial results to the runs, in order, kBatch of them for all kTogether places at a time.
template <int kBatch, int kTogether>
__device__ __forceinline__ void combine(const Source& source, const Place (&places)[kTogether],
                                        Running (&runs)[kTogether]) {
#pragma unroll 1
  for (int first = 0; first < source.count; first += kBatch) {
    float4 sums[kTogether][kBatch];
    float4 o[kTogether][kBatch];
#pragma unroll
    for (int i = 0; i < kBatch; ++i) {
#pragma unroll
      for (int t = 0; t < kTogether; ++t) {
        sums[t][i] = make_float4(kNothingSeen, 0, kNothingSeen, 0);
        o[t][i] = make_float4(0, 0, 0, 0);
        if (first + i < source.count) {
          const std::int64_t at = first + i;
          sums[t][i] = *reinterpret_cast<const float4*>(source.sums + at * source.sum_stride + places[t].pair);
          o[t][i] =
              *reinterpret_cast<const float4*>(source.fragments + at * source.fragment_stride + places[t].fragment);
        }
      }
    }
#pragma unroll
    for (int t = 0; t < kTogether; ++t) add_batch<kBatch>(sums[t], o[t], runs[t]);
  }
}

/// The parts of one of the 1 << shift warps that share a fragment: consecutive ones.
__device__ __forceinline__ Source share_of(Source source, int place, int shift) {
  const int first = source.count * place >> shift;
  source.fragments += first * source.fragment_stride;
  source.sums += first * source.sum_stride;
  source.count = (source.count * (place + 1) >> shift) - first;
  return source;
}

/// Adds the results of the fragment's further warps, in the order of their parts, to that of its first. shared: as many
/// as threads. sync: all warps that call this meet.
template <class Sync>
__device__ __forceinline__ void add_warps(Running* shared, Running& run, int warp, int lane, int shift, bool active,
                                          const Sync& sync) {
  if (active) shared[warp * 32 + lane] = run;
  sync();
  if (!active || (warp & ((1 << shift) - 1)) != 0) return;
#pragma unroll 1
  for (int i = 1; i < 1 << shift; ++i) {
    const Running& other = shared[(warp + i) * 32 + lane];
    const float4 sums[1] = {make_float4(other.maximum[0], other.sum[0], other.maximum[1], other.sum[1])};
    const float4 o[1] = {make_float4(other.o[0], other.o[1], other.o[2], other.o[3])};
    add_batch<1>(sums, o, run);
  }
}

/// The factors that bring kCount partial results to their common maximum, for the two rows of a lane.
template <int kCount>
struct Weights {
  float factor[kCount][2];
  float maximum[2] = {kNothingSeen, kNothingSeen};
  float sum[2] = {};
};

/// x: maxima and sums of the lane's pair of rows.
template <int kCount>
__device__ __forceinline__ void weigh_sums(const float4 (&x)[kCount], Weights<kCount>& weights) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    weights.maximum[0] = fmaxf(weights.maximum[0], x[i].x);
    weights.maximum[1] = fmaxf(weights.maximum[1], x[i].z);
  }
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    weights.factor[i][0] = ptx::exp2_approximate(x[i].x - weights.maximum[0]);
    weights.factor[i][1] = ptx::exp2_approximate(x[i].z - weights.maximum[1]);
    weights.sum[0] += weights.factor[i][0] * x[i].y;
    weights.sum[1] += weights.factor[i][1] * x[i].w;
  }
}

/// sums: of the lane's pair of rows in the first partial result; the others follow at `stride`. Shared memory.
template <int kCount>
__device__ __forceinline__ Weights<kCount> weigh(const float4* sums, int stride) {
  float4 x[kCount];
#pragma unroll
  for (int i = 0; i < kCount; ++i) x[i] = sums[i * stride];
  Weights<kCount> weights;
  weigh_sums(x, weights);
  return weights;
}

/// A fragment of kCount partial results by their weights: what combine() does, with everything known in advance.
template <int kCount>
__device__ __forceinline__ float4 weighted_sum(const float4 (&o)[kCount], const Weights<kCount>& weights) {
  float4 sum = make_float4(0, 0, 0, 0);
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    sum.x += weights.factor[i][0] * o[i].x;
    sum.y += weights.factor[i][1] * o[i].y;
    sum.z += weights.factor[i][0] * o[i].z;
    sum.w += weights.factor[i][1] * o[i].w;
  }
  return sum;
}

/// The same of partial results that lie at equal distances.
template <int kCount>
__device__ __forceinline__ float4 gather(const float4* fragments, int stride, const Weights<kCount>& weights) {
  float4 o[kCount];
#pragma unroll
  for (int i = 0; i < kCount; ++i) o[i] = fragments[i * stride];
  return weighted_sum(o, weights);
}

/// Natural-log LSE of a row.
__device__ __forceinline__ float log_sum_exp(float maximum, float sum) {
  constexpr float kLn2 = 0.693147180559945309F;
  return sum == 0 ? -INFINITY : (maximum + __log2f(sum)) * kLn2;
}

/// Of two KV heads the first row of the second.
template <class Config>
__device__ __forceinline__ int second_head_row(const Rows& rows) {
  return Config::kKvHeads == 2 ? rows.count / 2 : 0;
}

/// Where a row's dimension tile d is in its output, in tiles. Of two KV heads, which share the tiles, it is none of it
/// where the result is negative.
template <class Config>
__device__ __forceinline__ int tile_of_row(const Rows& rows, int row, int d) {
  constexpr int kOfHead = Config::kDimTiles / Config::kKvHeads;
  const int tile = row < second_head_row<Config>(rows) ? d : d - kOfHead;
  return tile < kOfHead ? tile : -1;
}

/// Four lanes side by side have four words each; afterwards the first has all their first words, and so on. A store
/// takes as long for each row that it touches, however few bytes of it.
__device__ __forceinline__ void transpose_quad(std::uint32_t (&words)[4], int lane) {
#pragma unroll
  for (int bit = 1; bit < 4; bit <<= 1) {
    const bool odd = (lane & bit) != 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if ((i & bit) != 0) continue;
      const std::uint32_t got = __shfl_xor_sync(~0U, odd ? words[i] : words[i | bit], bit);
      (odd ? words[i] : words[i | bit]) = got;
    }
  }
}

/// Writes finished fragments of a row tile, normalised and rounded. What a lane needs of its row is found once: an
/// item's end runs cold, so that its instructions count. Of one KV head.
template <class Config>
class RowTileWriter {
  static_assert(Config::kKvHeads == 1);

 public:
  /// first: dimension tile that write() counts from. sum: of the lane's pair of rows.
  __device__ __forceinline__ RowTileWriter(void* output, const Rows& rows, int n, int first, int lane,
                                           const float (&sum)[2])
      : exists_(n * 8 + (lane >> 2) < rows.count) {
#pragma unroll
    for (int j = 0; j < 2; ++j) inverse_[j] = sum[j] == 0 ? 0.0F : ptx::reciprocal_approximate(sum[j]);
    const int row = min(n * 8 + (lane >> 2), rows.count - 1);
    to_ = static_cast<char*>(output) + rows.index(row) * (Config::kValueDim * 2) + first * 32 + (lane & 3) * 4;
  }

  /// Dimension tile first + d; only the lanes whose part it is write.
  __device__ __forceinline__ void write(int d, const float4& o, bool mine = true) const {
    using T = ptx::Traits<typename Config::Element>;
    const std::uint32_t low = ptx::transpose(T::pack(o.x * inverse_[0], o.y * inverse_[1]));
    const std::uint32_t high = ptx::transpose(T::pack(o.z * inverse_[0], o.w * inverse_[1]));
    if (!exists_ || !mine) return;
    *reinterpret_cast<std::uint32_t*>(to_ + d * 32) = low;
    *reinterpret_cast<std::uint32_t*>(to_ + d * 32 + 16) = high;
  }

  /// Dimension tiles first + d and the next one.
  __device__ __forceinline__ void write_two(int d, const float4& a, const float4& b, int lane) const {
    using T = ptx::Traits<typename Config::Element>;
    std::uint32_t words[4] = {
        T::pack(a.x * inverse_[0], a.y * inverse_[1]), T::pack(a.z * inverse_[0], a.w * inverse_[1]),
        T::pack(b.x * inverse_[0], b.y * inverse_[1]), T::pack(b.z * inverse_[0], b.w * inverse_[1])};
#pragma unroll
    for (std::uint32_t& word : words) word = ptx::transpose(word);
    transpose_quad(words, lane);
    if (!exists_) return;
    *reinterpret_cast<uint4*>(to_ + (lane & 3) * 12 + d * 32) = make_uint4(words[0], words[1], words[2], words[3]);
  }

 private:
  bool exists_;
  float inverse_[2];
  char* to_;
};

/// Writes the LSE of a row tile's rows, if it is wanted.
__device__ __forceinline__ void write_lse(float* lse, const Rows& rows, int n, int lane, const float (&maximum)[2],
                                          const float (&sum)[2]) {
  if (lse == nullptr || lane >= 4) return;
#pragma unroll
  for (int j = 0; j < 2; ++j) {
    const int row = n * 8 + 2 * lane + j;
    if (row < rows.count) lse[rows.index(row)] = log_sum_exp(maximum[j], sum[j]);
  }
}

/// Writes one finished fragment; the first one of a row tile also writes the LSE.
template <class Config>
__device__ __forceinline__ void write_output(void* output, float* lse, const Rows& rows, int fragment, int lane,
                                             const Running& run) {
  using T = ptx::Traits<typename Config::Element>;
  const int n = fragment / Config::kDimTiles;
  const int d = fragment % Config::kDimTiles;
  const float inverse0 = run.sum[0] == 0 ? 0.0F : ptx::reciprocal_approximate(run.sum[0]);
  const float inverse1 = run.sum[1] == 0 ? 0.0F : ptx::reciprocal_approximate(run.sum[1]);
  const std::uint32_t low = ptx::transpose(T::pack(run.o[0] * inverse0, run.o[1] * inverse1));
  const std::uint32_t high = ptx::transpose(T::pack(run.o[2] * inverse0, run.o[3] * inverse1));
  const int row = n * 8 + (lane >> 2);
  int tile = d;
  if constexpr (Config::kKvHeads > 1) tile = tile_of_row<Config>(rows, row, d);
  if (row < rows.count && (Config::kKvHeads == 1 || tile >= 0)) {
    constexpr int kRowBytes = Config::kValueDim / Config::kKvHeads * 2;
    auto* to = reinterpret_cast<std::uint32_t*>(static_cast<char*>(output) + rows.index(row) * kRowBytes + tile * 32) +
               (lane & 3);
    to[0] = low;
    to[4] = high;
  }
  if (lse != nullptr && d == 0 && lane < 4) {
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      const int sum_row = n * 8 + 2 * lane + j;
      if (sum_row < rows.count) lse[rows.index(sum_row)] = log_sum_exp(run.maximum[j], run.sum[j]);
    }
  }
}

}  // namespace splitwave::gpu
