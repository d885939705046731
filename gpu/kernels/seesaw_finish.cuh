// SPDX-License-Identifier: Apache-2.0
// The end of an item in a seesaw kernel: as group_finish.cuh, with rows in place of elements along the lanes.
#pragma once

#include "gpu/kernels/group_finish.cuh"
#include "gpu/kernels/seesaw.cuh"

namespace splitwave::gpu {

/// Leaves the warpgroups' sums and the maxima where end_rows() finds them. All threads, which are together afterwards.
template <class Config>
__device__ __forceinline__ void store_sums(const Cta<Config>& cta, const SeesawAccumulator<Config>& acc) {
  auto* sums = reinterpret_cast<float*>(cta.shared + Config::kSumsOffset) + warpgroup(cta) * Config::kRows;
  auto* maxima = reinterpret_cast<float*>(cta.shared + Config::kMaximaOffset);
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    float sum = acc.sum[i] + __shfl_xor_sync(~0U, acc.sum[i], 1);
    sum += __shfl_xor_sync(~0U, sum, 2);
    if ((cta.lane & 3) == 0) sums[first_row(cta) + 8 * i] = sum;
    // Both warpgroups know them.
    if ((cta.lane & 3) == 0 && warpgroup(cta) == 0) maxima[first_row(cta) + 8 * i] = acc.maximum[i];
  }
  cta.sync();
}

/// Writes the warpgroup's elements of the output, normalised and rounded: 64 bytes of a row at a time.
template <class Config>
__device__ __forceinline__ void write_rows(const Cta<Config>& cta, const Rows& rows,
                                           const SeesawAccumulator<Config>& acc, const RowEnds<Config>& ends) {
  using T = ptx::Traits<typename Config::Element>;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int row = first_row(cta) + 8 * i;
    const float inverse = ends.sums[row];
    char* to = static_cast<char*>(cta.params.output) +
               (std::int64_t{rows.query_row} + ends.places[row]) * (Config::kValueDim * 2) +
               warpgroup(cta) * Config::kValueDim + (cta.lane & 3) * 16;
#pragma unroll
    for (int n = 0; n < Config::kValueDim / 16; n += 4) {
      std::uint32_t words[4];
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        words[j] = T::pack(acc.o[n + j][2 * i] * inverse, acc.o[n + j][2 * i + 1] * inverse);
      }
      transpose_quad(words, cta.lane);
      if (row < rows.count) *reinterpret_cast<uint4*>(to + n * 16) = make_uint4(words[0], words[1], words[2], words[3]);
    }
  }
}

/// Leaves the warpgroup's elements as a partial result: fragments hold two rows of an element side by side, so lanes of
/// neighbouring rows exchange one of their two elements.
template <class Config>
__device__ __forceinline__ void leave_partial(const Cta<Config>& cta, const Rows& rows,
                                              const SeesawAccumulator<Config>& acc, int slot) {
  const bool odd = (cta.lane & 4) != 0;
  const int place = (2 * (cta.lane & 3) + (odd ? 1 : 0)) * 4 + (cta.lane >> 3);
  auto* to = reinterpret_cast<float4*>(cta.partial(slot)) + place;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int row_tile = member(cta) * 2 + i;
    if (row_tile * 8 >= rows.count) break;
    const int tile = row_tile * Config::kDimTiles + warpgroup(cta) * (Config::kDimTiles / 2);
#pragma unroll
    for (int n = 0; n < Config::kValueDim / 16; n += 2) {
      float pairs[2][2];  // of both eight elements: the even and the odd row
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        const float first = acc.o[n + j][2 * i];
        const float second = acc.o[n + j][2 * i + 1];
        const float got = __shfl_xor_sync(~0U, odd ? first : second, 4);
        pairs[j][0] = odd ? got : first;
        pairs[j][1] = odd ? second : got;
      }
      __stcg(to + (tile + n / 2) * 32, make_float4(pairs[0][0], pairs[0][1], pairs[1][0], pairs[1][1]));
    }
  }
}

/// Hands the item's result to its sink. There are no clusters: two stages leave no room for what their CTAs would send.
template <class Config, class Meanwhile>
__device__ __forceinline__ void finish_group_item(const Cta<Config>& cta, const Rows& rows, int slot, int,
                                                  const SeesawAccumulator<Config>& acc, const Meanwhile& meanwhile) {
  store_sums(cta, acc);
  const int row = static_cast<int>(threadIdx.x);
  // Afterwards the other warpgroup may be at the next item.
  const float maximum =
      row < Config::kRows ? reinterpret_cast<const float*>(cta.shared + Config::kMaximaOffset)[row] : 0;
  const RowEnds<Config>& ends = end_rows<2>(cta, rows, slot < 0, meanwhile);
  if (slot < 0) {
    write_rows(cta, rows, acc, ends);
    return;
  }
  leave_partial(cta, rows, acc, slot);
  if (row < Config::kRows) {
    __stcg(reinterpret_cast<float2*>(cta.partial_sum(slot)) + row, make_float2(maximum, ends.sums[row]));
  }
}

}  // namespace splitwave::gpu
