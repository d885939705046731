// SPDX-License-Identifier: Apache-2.0
// The end of an item in a group kernel: its sums, its rows' places, and where its result goes.
#pragma once

#include "gpu/kernels/finish.cuh"
#include "gpu/kernels/group_loader.cuh"
#include "gpu/kernels/group_tile.cuh"

namespace splitwave::gpu {

/// What the end of an item needs of each row.
template <class Config>
struct RowEnds {
  float sums[Config::kRows];  ///< over all tokens; of outputs 1 over them
  int places[Config::kRows];  ///< in [query token][query head], from the item's first query on
};

/// What the sums of a row, one from each of kParts warps or warpgroups, make of it: the LSE of an output among it. A
/// thread a row; all threads call this once sums and maxima are there, and are together afterwards. meanwhile: called
/// when no thread needs the item's last stage and its queries any more.
template <int kParts, class Config, class Meanwhile>
__device__ __forceinline__ const RowEnds<Config>& end_rows(const Cta<Config>& cta, const Rows& rows, bool output,
                                                           const Meanwhile& meanwhile) {
  const auto* sums = reinterpret_cast<const float*>(cta.shared + Config::kSumsOffset);
  const auto* maxima = reinterpret_cast<const float*>(cta.shared + Config::kMaximaOffset);
  auto& ends = *reinterpret_cast<RowEnds<Config>*>(cta.shared + Config::kRowEndsOffset);
  const int row = static_cast<int>(threadIdx.x);
  if (row < Config::kRows) {
    float sum = 0;
#pragma unroll
    for (int part = 0; part < kParts; ++part) sum += sums[part * Config::kRows + row];
    const std::int64_t index = row_index(rows, HeadDivisor(rows.head_count), row);
    ends.places[row] = static_cast<int>(index - rows.query_row);
    ends.sums[row] = !output ? sum : sum == 0 ? 0.0F : ptx::reciprocal_approximate(sum);
    if (output && cta.params.lse != nullptr && row < rows.count) cta.params.lse[index] = log_sum_exp(maxima[row], sum);
  }
  meanwhile();
  cta.sync();
  return ends;
}

/// Leaves the warps' sums and the maxima where end_rows() finds them. All threads, which are together afterwards.
template <class Config>
__device__ __forceinline__ void store_sums(const Cta<Config>& cta, const GroupAccumulator<Config>& acc) {
  auto* sums = reinterpret_cast<float2*>(cta.shared + Config::kSumsOffset);
  auto* maxima = reinterpret_cast<float2*>(cta.shared + Config::kMaximaOffset);
  float sum_of_rows[Config::kScoreTiles][2];
#pragma unroll
  for (int n = 0; n < Config::kScoreTiles; ++n) {
#pragma unroll
    for (int j = 0; j < 2; ++j) sum_of_rows[n][j] = acc.sum[n][j];
  }
  reduce_rows<Config::kScoreTiles>(sum_of_rows, cta.lane, [](float a, float b) { return a + b; });
  sums[member(cta) * (Config::kRows / 2) + tile_of_lane(cta) * 4 + (cta.lane & 3)] =
      make_float2(sum_of_rows[0][0], sum_of_rows[0][1]);
#pragma unroll
  for (int n = 0; n < Config::kRowTiles; ++n) {  // all lanes that have them write the same: no branch to come back from
    maxima[n * 4 + (cta.lane & 3)] = make_float2(acc.maximum[n][0], acc.maximum[n][1]);
  }
  cta.sync();
}

/// Writes the warp's elements of row tiles n and n + 1, normalised and rounded: 32 bytes of a row at a time.
template <class Config>
__device__ __forceinline__ void write_group_rows(const Cta<Config>& cta, const Rows& rows, int n,
                                                 const GroupAccumulator<Config>& acc, const RowEnds<Config>& ends) {
  using T = ptx::Traits<typename Config::Element>;
  const int row = (n + (cta.lane >> 1 & 1)) * 8 + (cta.lane >> 2);
  char* to = static_cast<char*>(cta.params.output) +
             (std::int64_t{rows.query_row} + ends.places[row]) * (Config::kValueDim * 2) + dim_tile(cta, 0) * 32 +
             (cta.lane & 1) * 16;
  float2 inverse[2];
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    inverse[i] = *reinterpret_cast<const float2*>(&ends.sums[(n + i) * 8 + 2 * (cta.lane & 3)]);
  }
#pragma unroll
  for (int d = 0; d < Config::kWarpDims; ++d) {
    std::uint32_t words[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float(&o)[4] = acc.o[d][n + i / 2];
      words[i] = ptx::transpose(T::pack(o[i % 2 * 2] * inverse[i / 2].x, o[i % 2 * 2 + 1] * inverse[i / 2].y));
    }
    transpose_quad(words, cta.lane);
    if (row < rows.count) {
      *reinterpret_cast<uint4*>(to + d * (Config::kChunks * 32)) = make_uint4(words[0], words[1], words[2], words[3]);
    }
  }
}

/// Leaves the CTA's elements as a partial result, and with a thread a row their maxima and sums.
template <class Config>
__device__ __forceinline__ void leave_partial(const Cta<Config>& cta, const Rows& rows, int slot,
                                              const GroupAccumulator<Config>& acc, const RowEnds<Config>& ends) {
  auto* to = reinterpret_cast<float4*>(cta.partial(slot)) + dim_tile(cta, 0) * 32 + cta.lane;
#pragma unroll
  for (int n = 0; n < Config::kRowTiles; ++n) {
    if (n * 8 >= rows.count) break;
#pragma unroll
    for (int d = 0; d < Config::kWarpDims; ++d) {
      const float(&o)[4] = acc.o[d][n];
      __stcg(to + (n * Config::kDimTiles + d * Config::kChunks) * 32, make_float4(o[0], o[1], o[2], o[3]));
    }
  }
  if (const int row = static_cast<int>(threadIdx.x); row < Config::kRows) {
    const float maximum = reinterpret_cast<const float*>(cta.shared + Config::kMaximaOffset)[row];
    __stcg(reinterpret_cast<float2*>(cta.partial_sum(slot)) + row, make_float2(maximum, ends.sums[row]));
  }
}

/// Exchanges the results of a cluster's CTAs, and combines what falls to this one.
template <class Config>
__device__ __forceinline__ void finish_with_cluster(const Cta<Config>& cta, const Rows& rows, int slot, int item_count,
                                                    const GroupAccumulator<Config>& acc, const RowEnds<Config>& ends) {
#if __CUDA_ARCH__ >= 900
  const int buffer = item_count & 1;
  if (item_count == 0) ptx::cluster_wait();
#pragma unroll
  for (int n = 0; n < Config::kRowTiles; ++n) {
    const float2 sum = *reinterpret_cast<const float2*>(&ends.sums[n * 8 + 2 * (cta.lane & 3)]);
    const float4 total = make_float4(acc.maximum[n][0], sum.x, acc.maximum[n][1], sum.y);
#pragma unroll
    for (int d = 0; d < Config::kWarpDims; ++d) {
      const float(&o)[4] = acc.o[d][n];
      hand_on_fragment(cta, n * Config::kDimTiles + dim_tile(cta, d), make_float4(o[0], o[1], o[2], o[3]), total,
                       Sink::ranks, buffer, slot);
    }
  }
  const std::uint32_t barrier = ptx::shared_address(&cta.control().barriers[buffer]);
  __syncwarp();
  ptx::wait_barrier(barrier, (item_count >> 1) & 1);
  if (threadIdx.x == 0) ptx::expect_bytes(barrier, cta.received_bytes());
  combine_fragments<kNearBatch, 1>(cta, ranks_source(cta, buffer), cta.first_fragment(),
                                   cta.fragments_with_rows(rows.count), slot < 0 ? Sink::output : Sink::partial, buffer,
                                   rows, slot);
#endif
}

/// Hands the item's result to its sink: there is nothing to combine but the warps' sums, and with clusters the CTAs'
/// results. meanwhile: as end_rows() calls it.
template <class Config, class Meanwhile>
__device__ __forceinline__ void finish_group_item(const Cta<Config>& cta, const Rows& rows, int slot, int item_count,
                                                  const GroupAccumulator<Config>& acc, const Meanwhile& meanwhile) {
  const Sink sink = cta.shift() > 0 ? Sink::ranks : slot < 0 ? Sink::output : Sink::partial;
  store_sums(cta, acc);
  const RowEnds<Config>& ends = end_rows<Config::kChunks>(cta, rows, sink == Sink::output, meanwhile);
  if (sink == Sink::partial) {
    leave_partial(cta, rows, slot, acc, ends);
  } else if (sink == Sink::output) {
#pragma unroll
    for (int n = 0; n < Config::kRowTiles; n += 2) write_group_rows(cta, rows, n, acc, ends);
  } else {
    finish_with_cluster(cta, rows, slot, item_count, acc, ends);
  }
}

}  // namespace splitwave::gpu
