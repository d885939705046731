// SPDX-License-Identifier: Apache-2.0
// One chunk of K and V against the packed query rows: S^T = K Q^T, online softmax, O^T += V^T P^T, all of it in one
// warp. The KV positions are the M dimension of the MMA, so that 8 query rows fill an instruction.
#pragma once

#include "gpu/kernels/combine.cuh"
#include "gpu/kernels/config.cuh"
#include "gpu/kernels/loader.cuh"
#include "gpu/kernels/params.h"
#include "gpu/kernels/ptx.cuh"

namespace splitwave::gpu {

/// A maximum may fall behind the scores by so much (log2) before sums are rescaled: P stays at most 2^8, and most
/// chunks need no reduction across lanes.
inline constexpr float kSlack = 8.0F;

/// Running result of a warp. Lane l holds rows 2 * (l % 4) and + 1 of each row tile, elements l / 4 and + 8 of each
/// dimension tile: o[..][0] = (element, row), [1] = (element, row + 1), [2] = (element + 8, row), [3] = both later.
template <class Config>
struct Accumulator {
  float o[Config::kRowTiles][Config::kDimTiles][4];
  float sum[Config::kRowTiles][2];  ///< over the tokens of this lane alone
  float maximum[Config::kRowTiles][2];

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int n = 0; n < Config::kRowTiles; ++n) {
      maximum[n][0] = maximum[n][1] = kNothingSeen;
      sum[n][0] = sum[n][1] = 0;
#pragma unroll
      for (int d = 0; d < Config::kDimTiles; ++d) {
#pragma unroll
        for (int j = 0; j < 4; ++j) o[n][d][j] = 0;
      }
    }
  }
};

/// The query rows as B operands: for each row tile and 16 elements two registers.
template <class Config>
using QueryFragments = std::uint32_t[Config::kRowTiles][Config::kQueryDim / 8];

/// Which rows see which positions, for tiles whose rows differ.
struct RowMask {
  HeadDivisor heads;
  int row_begin;  ///< first packed row of the CTA's row block
  int first_position;
  int causal;
  int window;
  int seen_from;   ///< all rows see positions from here ...
  int seen_to;     ///< ... to here
  int last_query;  ///< of the rows that there are

  __device__ __forceinline__ int query(int row) const { return heads.divide(row_begin + row); }
  __device__ __forceinline__ int end(int query) const {
    const int reach = causal ? 1 : window;  // the position itself, or as far ahead as the window goes back
    return reach > 0 ? first_position + query + reach : 0x7fffffff;
  }
  __device__ __forceinline__ int begin(int query) const {
    return window > 0 ? first_position + query + 1 - window : static_cast<int>(0x80000000);
  }
  __device__ __forceinline__ bool sees(int query, int position) const {
    return position >= begin(query) && position < end(query);
  }
  /// Whether some rows do not see all of these tokens.
  __device__ __forceinline__ bool at_edge(int position, int tokens) const {
    return position < seen_from || position + tokens > seen_to;
  }
};

/// The mask of the item's rows.
__device__ __forceinline__ RowMask row_mask(const DecodeParams& params, const DeviceItem& item, const Rows& rows) {
  RowMask mask{HeadDivisor(rows.head_count),
               rows.row_begin,
               item.first_position,
               params.causal,
               params.window,
               static_cast<int>(0x80000000),
               0x7fffffff,
               0};
  if (item.masked != 0) {
    mask.last_query = mask.query(max(rows.count - 1, 0));
    mask.seen_from = mask.begin(mask.last_query);
    mask.seen_to = mask.end(mask.query(0));
  }
  return mask;
}

template <class Config>
using Scores = float[Config::kRowTiles][Config::kTokenTiles][4];

template <class Config>
using Probabilities = std::uint32_t[Config::kRowTiles][Config::kTokenTiles][2];

/// A operands that are loaded before the first of them is used, so that one latency covers all. Registers limit it.
template <class Config>
inline constexpr int kAhead = Config::kRowTiles == 4 || Config::kDimTiles* Config::kTokenTiles == 2   ? 2
                              : Config::kRowTiles == 2 || Config::kDimTiles* Config::kTokenTiles == 4 ? 4
                                                                                                      : 8;

template <class Config>
using Operands = std::uint32_t[kAhead<Config>][4];

/// Operand number `index` of K: 16 elements of 16 tokens, token tiles fastest.
template <class Config>
__device__ __forceinline__ std::uint32_t key_tile(std::uint32_t base, int index) {
  const int i = index % Config::kTokenTiles;
  const int k = index / Config::kTokenTiles;
  return (base ^ ((k & 3) << 5)) + (k >> 2) * Config::kBlockBytes + i * 2048;
}

/// Scores of a chunk, scaled to base 2: [0] = (token, row), [1] = (token, row + 1), [2], [3] = 8 tokens later, with
/// token = lane / 4. Of two KV heads each row's scores are with the keys of its own.
template <class Config>
__device__ __forceinline__ void multiply_keys(std::uint32_t stage, const QueryFragments<Config>& q, float scale,
                                              int second_head_row, int lane, Scores<Config>& s) {
  using T = ptx::Traits<typename Config::Element>;
  // Several chains of dependent MMAs where one tile alone would wait for itself.
  constexpr int kTiles = Config::kRowTiles * Config::kTokenTiles;
  constexpr int kHeads = Config::kKvHeads;
  constexpr int kChains = kTiles == 1 ? 4 : kTiles == 2 || kHeads == 2 ? 2 : 1;
  constexpr int kHeadChains = kChains / kHeads;
  constexpr int kHeadTiles = Config::kDimTiles / kHeads;
  constexpr int kOperands = Config::kDimTiles * Config::kTokenTiles;
  static_assert(kOperands % kAhead<Config> == 0);
  float part[kChains][Config::kRowTiles][Config::kTokenTiles][4] = {};
  const std::uint32_t base = stage + tile_offset<Config>(lane & 15, lane >> 4);
#pragma unroll
  for (int first = 0; first < kOperands; first += kAhead<Config>) {
    Operands<Config> a;
#pragma unroll
    for (int j = 0; j < kAhead<Config>; ++j) {
      ptx::load_matrices(a[j], key_tile<Config>(base, first + j));
    }
#pragma unroll
    for (int j = 0; j < kAhead<Config>; ++j) {
      const int i = (first + j) % Config::kTokenTiles;
      const int k = (first + j) / Config::kTokenTiles;
#pragma unroll
      for (int n = 0; n < Config::kRowTiles; ++n) {
        const int d = k % kHeadTiles;
        T::mma(part[k / kHeadTiles * kHeadChains + k % kHeadChains][n][i], a[j], q[n][2 * d], q[n][2 * d + 1]);
      }
    }
  }
#pragma unroll
  for (int n = 0; n < Config::kRowTiles; ++n) {
#pragma unroll
    for (int i = 0; i < Config::kTokenTiles; ++i) {
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        float sum = part[0][n][i][j];
#pragma unroll
        for (int chain = 1; chain < kHeadChains; ++chain) sum += part[chain][n][i][j];
        if constexpr (kHeads > 1) {
          float second = part[kHeadChains][n][i][j];
#pragma unroll
          for (int chain = kHeadChains + 1; chain < kChains; ++chain) second += part[chain][n][i][j];
          if (n * 8 + 2 * (lane & 3) + (j & 1) >= second_head_row) sum = second;
        }
        s[n][i][j] = sum * scale;
      }
    }
  }
}

/// Tokens from `valid` on lie behind the item's end.
template <class Config>
__device__ __forceinline__ void mask_tail(int valid, int lane, Scores<Config>& s) {
#pragma unroll
  for (int i = 0; i < Config::kTokenTiles; ++i) {
    const int token = i * 16 + (lane >> 2);
#pragma unroll
    for (int n = 0; n < Config::kRowTiles; ++n) {
      if (token >= valid) s[n][i][0] = s[n][i][1] = -INFINITY;
      if (token + 8 >= valid) s[n][i][2] = s[n][i][3] = -INFINITY;
    }
  }
}

template <class Config>
__device__ __forceinline__ void mask_rows(const RowMask& mask, int position, int lane, Scores<Config>& s) {
#pragma unroll
  for (int n = 0; n < Config::kRowTiles; ++n) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const int query = mask.query(n * 8 + 2 * (lane & 3) + (j & 1));
#pragma unroll
      for (int i = 0; i < Config::kTokenTiles; ++i) {
        if (!mask.sees(query, position + i * 16 + (lane >> 2) + (j >> 1) * 8)) s[n][i][j] = -INFINITY;
      }
    }
  }
}

/// Brings the maxima up to date if a score has outgrown them by more than kSlack.
template <class Config>
__device__ __forceinline__ void raise_maxima(const Scores<Config>& s, Accumulator<Config>& acc) {
  float x[Config::kRowTiles][2];
  bool outgrown = false;
#pragma unroll
  for (int n = 0; n < Config::kRowTiles; ++n) {
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      x[n][j] = fmaxf(s[n][0][j], s[n][0][j + 2]);
#pragma unroll
      for (int i = 1; i < Config::kTokenTiles; ++i) x[n][j] = fmaxf(x[n][j], fmaxf(s[n][i][j], s[n][i][j + 2]));
      outgrown |= x[n][j] > acc.maximum[n][j] + kSlack;
    }
  }
  if (!__any_sync(~0U, outgrown)) return;
#pragma unroll
  for (int n = 0; n < Config::kRowTiles; ++n) {
    float factor[2];
#pragma unroll
    for (int j = 0; j < 2; ++j) {
#pragma unroll
      for (int lanes = 4; lanes < 32; lanes <<= 1) x[n][j] = fmaxf(x[n][j], __shfl_xor_sync(~0U, x[n][j], lanes));
      const float raised = fmaxf(acc.maximum[n][j], x[n][j]);
      factor[j] = ptx::exp2_approximate(acc.maximum[n][j] - raised);
      acc.maximum[n][j] = raised;
      acc.sum[n][j] *= factor[j];
    }
#pragma unroll
    for (int d = 0; d < Config::kDimTiles; ++d) {
      acc.o[n][d][0] *= factor[0];
      acc.o[n][d][1] *= factor[1];
      acc.o[n][d][2] *= factor[0];
      acc.o[n][d][3] *= factor[1];
    }
  }
}

/// P as B operands of O^T = V^T P^T, and its sums before rounding.
template <class Config>
__device__ __forceinline__ void exponentiate(const Scores<Config>& s, Accumulator<Config>& acc,
                                             Probabilities<Config>& p) {
  using T = ptx::Traits<typename Config::Element>;
#pragma unroll
  for (int n = 0; n < Config::kRowTiles; ++n) {
#pragma unroll
    for (int i = 0; i < Config::kTokenTiles; ++i) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const float p0 = ptx::exp2_approximate(s[n][i][2 * half] - acc.maximum[n][0]);
        const float p1 = ptx::exp2_approximate(s[n][i][2 * half + 1] - acc.maximum[n][1]);
        acc.sum[n][0] += p0;
        acc.sum[n][1] += p1;
        p[n][i][half] = ptx::transpose(T::pack(p0, p1));
      }
    }
  }
}

/// Address of the V matrices of (token tile 0, dimension tile 0) for ldmatrix.trans.
template <class Config>
__device__ __forceinline__ std::uint32_t value_address(std::uint32_t stage, int lane) {
  return stage + Config::kTileBytes + tile_offset<Config>(((lane >> 4) << 3) + (lane & 7), (lane >> 3) & 1);
}

template <class Config>
__device__ __forceinline__ std::uint32_t value_tile(std::uint32_t base, int i, int d) {
  return (base ^ ((d & 3) << 5)) + (d >> 2) * Config::kBlockBytes + i * 2048;
}

/// The first kAhead operands of V, dimension tiles fastest; asked for before the softmax, whose time covers theirs.
template <class Config>
__device__ __forceinline__ void load_first_values(std::uint32_t stage, int lane, Operands<Config>& a) {
  const std::uint32_t base = value_address<Config>(stage, lane);
#pragma unroll
  for (int j = 0; j < kAhead<Config>; ++j) {
    ptx::load_matrices_transposed(a[j], value_tile<Config>(base, j / Config::kDimTiles, j % Config::kDimTiles));
  }
}

template <class Config>
__device__ __forceinline__ void multiply_values(std::uint32_t stage, const Probabilities<Config>& p, int lane,
                                                Operands<Config>& a, Accumulator<Config>& acc) {
  using T = ptx::Traits<typename Config::Element>;
  constexpr int kOperands = Config::kDimTiles * Config::kTokenTiles;
  const std::uint32_t base = value_address<Config>(stage, lane);
#pragma unroll
  for (int first = 0; first < kOperands; first += kAhead<Config>) {
    if (first > 0) {
#pragma unroll
      for (int j = 0; j < kAhead<Config>; ++j) {
        const int at = first + j;
        ptx::load_matrices_transposed(a[j], value_tile<Config>(base, at / Config::kDimTiles, at % Config::kDimTiles));
      }
    }
#pragma unroll
    for (int j = 0; j < kAhead<Config>; ++j) {
      const int i = (first + j) / Config::kDimTiles;
      const int d = (first + j) % Config::kDimTiles;
#pragma unroll
      for (int n = 0; n < Config::kRowTiles; ++n) T::mma(acc.o[n][d], a[j], p[n][i][0], p[n][i][1]);
    }
  }
}

/// The same where rows see different tokens. 0 * NaN is NaN, so a value that a row does not see must not even be
/// multiplied by zero: query by query of those that there are, the unseen values are cleared and the others' rows left
/// alone. Only chunks at the edge of a mask come here.
template <class Config>
__device__ __forceinline__ void multiply_values_masked(std::uint32_t stage, const Probabilities<Config>& p,
                                                       const RowMask& mask, int position, int lane,
                                                       Accumulator<Config>& acc) {
  using T = ptx::Traits<typename Config::Element>;
  const std::uint32_t base = value_address<Config>(stage, lane);
#pragma unroll 1
  for (int query = mask.query(0); query <= mask.last_query; ++query) {
#pragma unroll
    for (int i = 0; i < Config::kTokenTiles; ++i) {
      std::uint32_t keep[2];
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int token = position + i * 16 + half * 8 + 2 * (lane & 3);
        keep[half] = (mask.sees(query, token) ? 0x0000ffffU : 0) | (mask.sees(query, token + 1) ? 0xffff0000U : 0);
      }
#pragma unroll
      for (int d = 0; d < Config::kDimTiles; ++d) {
        std::uint32_t a[4];
        ptx::load_matrices_transposed(a, value_tile<Config>(base, i, d));
        a[0] &= keep[0];
        a[1] &= keep[0];
        a[2] &= keep[1];
        a[3] &= keep[1];
#pragma unroll
        for (int n = 0; n < Config::kRowTiles; ++n) {
          float product[4] = {};
          T::mma(product, a, p[n][i][0], p[n][i][1]);
#pragma unroll
          for (int j = 0; j < 4; ++j) {
            if (mask.query(n * 8 + 2 * (lane & 3) + (j & 1)) == query) acc.o[n][d][j] += product[j];
          }
        }
      }
    }
  }
}

/// Adds one chunk of the item to the running result. position: of the chunk's first token; valid: tokens from there to
/// the item's end; second_head_row: of two KV heads the second's first row.
template <class Config>
__device__ __forceinline__ void add_chunk(std::uint32_t stage, const QueryFragments<Config>& q, float scale,
                                          int position, int valid, const RowMask& mask, int second_head_row, int lane,
                                          Accumulator<Config>& acc) {
  Scores<Config> s;
  Probabilities<Config> p;
  Operands<Config> values;
  multiply_keys<Config>(stage, q, scale, second_head_row, lane, s);
  load_first_values<Config>(stage, lane, values);
  if (valid < Config::kTokens) mask_tail<Config>(valid, lane, s);
  bool at_edge = false;
  if constexpr (Config::kMasked) {
    at_edge = mask.at_edge(position, Config::kTokens);
    if (at_edge) mask_rows<Config>(mask, position, lane, s);
  }
  raise_maxima<Config>(s, acc);
  exponentiate<Config>(s, acc, p);
  if (Config::kMasked && at_edge) {
    multiply_values_masked<Config>(stage, p, mask, position, lane, acc);
  } else {
    multiply_values<Config>(stage, p, lane, values, acc);
  }
}

}  // namespace splitwave::gpu
