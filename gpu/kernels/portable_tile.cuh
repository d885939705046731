// SPDX-License-Identifier: Apache-2.0
// The products of group_tile.cuh by mma.sync, which devices without wgmma have: 16 tokens or elements as M, 8 rows as
// N. Scores, weights and O lie as wgmma leaves them.
#pragma once

#include "gpu/kernels/group_tile.cuh"
#include "gpu/kernels/ptx.cuh"

namespace splitwave::gpu {

/// S of the warp's 16 tokens of the stage and its part's rows. Operands are asked for some steps at a time, so that one
/// latency covers all of them.
template <class Config>
__device__ __forceinline__ void multiply_group_keys(const Cta<Config>& cta, std::uint32_t stage,
                                                    GroupScores<Config>& s) {
  using T = ptx::Traits<typename Config::Element>;
  constexpr int kTiles = Config::kScoreTiles;
  constexpr int kSteps = 4 / kTiles;  // at a time, each with sums of its own: they do not wait for one another
  constexpr int kLoads = kSteps / 2;  // of queries, which bring two steps' columns
  const int row = cta.lane & 7;
  const std::uint32_t keys = stage + tile_offset<Config>(member(cta) * 16 + (cta.lane & 15), cta.lane >> 4);
  const std::uint32_t queries = ptx::shared_address(cta.shared) + Config::kQueryOffset +
                                (row_part(cta) * kTiles * 8 + row) * 128 + (((cta.lane >> 3) ^ row) << 4);
  float part[kSteps][kTiles][4] = {};
#pragma unroll
  for (int first = 0; first < Config::kHeadDim / 16; first += kSteps) {
    std::uint32_t a[kSteps][4];
    std::uint32_t b[kLoads][kTiles][4];
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      const int pair = first / 2 + i;
#pragma unroll
      for (int n = 0; n < kTiles; ++n) {
        ptx::load_matrices(b[i][n], (queries ^ ((pair & 1) << 6)) + (pair >> 1) * Config::kQueryBlockBytes + n * 1024);
      }
    }
#pragma unroll
    for (int i = 0; i < kSteps; ++i) {
      ptx::load_matrices(a[i], key_tile<Config>(keys, first + i));
    }
#pragma unroll
    for (int i = 0; i < kSteps; ++i) {
#pragma unroll
      for (int n = 0; n < kTiles; ++n) {
        T::mma(part[i][n], a[i], b[i / 2][n][2 * (i & 1)], b[i / 2][n][2 * (i & 1) + 1]);
      }
    }
  }
#pragma unroll
  for (int n = 0; n < kTiles; ++n) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      s[n][j] = part[0][n][j];
#pragma unroll
      for (int i = 1; i < kSteps; ++i) s[n][j] += part[i][n][j];
    }
  }
}

/// O^T += V^T P^T for the warp's elements, over all tokens of the stage.
template <class Config>
__device__ __forceinline__ void multiply_group_values(const Cta<Config>& cta, std::uint32_t stage,
                                                      GroupAccumulator<Config>& acc) {
  using T = ptx::Traits<typename Config::Element>;
  constexpr int kDims = Config::kRowTiles < 8 ? 4 : 2;  // whose operands are asked for at a time
  static_assert(Config::kRowTiles % 2 == 0 && Config::kChunks == 2 && Config::kWarpDims % kDims == 0);
  const int token = (cta.lane >> 4) * 8 + (cta.lane & 7);
  const std::uint32_t weights = ptx::shared_address(cta.shared) + Config::kWeightOffset;
  const int begin = dim_tile(cta, 0);  // the warp's next ones are kChunks further each
  const std::uint32_t values = stage + Config::kValueOffset + (begin >> 2) * Config::kBlockBytes +
                               tile_offset<Config>(token, 2 * (begin & 3) + (cta.lane >> 3 & 1));
#pragma unroll
  for (int i = 0; i < Config::kGroupTokens / 16; ++i) {
    std::uint32_t p[Config::kRowTiles / 2][4];  // of two row tiles each, tokens 0 to 7 and 8 to 15
#pragma unroll
    for (int n = 0; n < Config::kRowTiles / 2; ++n) {
      const int at = i * 16 + (cta.lane & 15);
      ptx::load_matrices_transposed(p[n],
                                    weights + wgmma::swizzled<Config::kWeightRowBytes>(at, 2 * n + (cta.lane >> 4)));
    }
#pragma unroll
    for (int first = 0; first < Config::kWarpDims; first += kDims) {
      std::uint32_t a[kDims][4];
#pragma unroll
      for (int j = 0; j < kDims; ++j) {
        ptx::load_matrices_transposed(a[j], value_tile<Config>(values, i, Config::kChunks * (first + j)));
      }
#pragma unroll
      for (int j = 0; j < kDims; ++j) {
#pragma unroll
        for (int n = 0; n < Config::kRowTiles; ++n) {
          T::mma(acc.o[first + j][n], a[j], p[n >> 1][2 * (n & 1)], p[n >> 1][2 * (n & 1) + 1]);
        }
      }
    }
  }
}

}  // namespace splitwave::gpu
