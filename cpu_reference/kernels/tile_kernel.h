// SPDX-License-Identifier: Apache-2.0
// The one source of the tile kernels. A translation unit includes a Simd first and is then compiled for its
// instruction set. Everything is in an unnamed namespace and no standard template is used, so that no code for a wide
// instruction set can be linked into the rest of the program under a shared name.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu_reference/kernels/tile_block.h"

namespace splitwave::cpu_reference {
namespace {

using Vec = Simd::Vec;
constexpr std::ptrdiff_t kWidth = Simd::kWidth;

struct F16 {
  using Stored = std::uint16_t;
  static Vec load(const Stored* p) { return Simd::load_f16(p); }
};
struct Bf16 {
  using Stored = std::uint16_t;
  static Vec load(const Stored* p) { return Simd::load_bf16(p); }
};
struct F32 {
  using Stored = float;
  static Vec load(const Stored* p) { return Simd::load(p); }
};

template <typename Element>
const typename Element::Stored* row(const std::byte* const* rows, std::int32_t token) {
  return reinterpret_cast<const typename Element::Stored*>(rows[token]);
}

/// Most rows whose sums stay in registers.
constexpr std::int32_t kChunkRows = 4;

/// Tokens per step where one chunk of rows is all there is, so that memory sets the pace: K and V are asked for in
/// shorter turns, which was worth 5 to 12% of bandwidth. Longer steps cost less arithmetic.
constexpr std::int32_t kMemoryStepTokens = 16;

/// Part of a block: up to kChunkRows rows and kStepTokens tokens, and what to fetch ahead meanwhile.
struct Piece {
  std::int32_t first_row;
  std::int32_t rows;
  std::int32_t first_token;
  std::int32_t tokens;
  const std::byte* const* ahead_k_rows;
  const std::byte* const* ahead_v_rows;
  std::int32_t ahead_tokens;
};

inline std::int32_t least(std::int32_t a, std::int32_t b) {
  return a < b ? a : b;
}

/// Least power of two that is not below n.
constexpr int power_of_two(int n) {
  return n <= 1 ? 1 : 2 * power_of_two((n + 1) / 2);
}

constexpr int kLineBytes = 64;

/// e^x for x <= 0, and 0 for -inf; NaN stays. Below e^-87 the result is 0.
inline Vec exp_nonpositive(Vec x) {
  const Vec log2e = Simd::set1(1.44269504F);
  const Vec log2e_rest = Simd::set1(1.92596299e-8F);
  const Vec limit = Simd::set1(-87.0F);
  const Vec clamped = Simd::max(limit, x);
  const Vec high = Simd::mul(clamped, log2e);
  const Vec exponent = Simd::round(high);
  // The product's rounding error is recovered: it matters for weights far below the greatest.
  const Vec rest = Simd::fma(clamped, log2e, Simd::sub(Simd::zero(), high));
  const Vec f = Simd::fma(clamped, log2e_rest, Simd::add(Simd::sub(high, exponent), rest));
  // Taylor series of 2^f for |f| <= 1/2: terms (f ln 2)^i / i!, the first one left out is below 6e-9.
  Vec p = Simd::set1(1.52527338e-5F);
  p = Simd::fma(p, f, Simd::set1(1.54035304e-4F));
  p = Simd::fma(p, f, Simd::set1(1.33335581e-3F));
  p = Simd::fma(p, f, Simd::set1(9.61812911e-3F));
  p = Simd::fma(p, f, Simd::set1(5.55041087e-2F));
  p = Simd::fma(p, f, Simd::set1(2.40226507e-1F));
  p = Simd::fma(p, f, Simd::set1(6.93147181e-1F));
  p = Simd::fma(p, f, Simd::set1(1.0F));
  return Simd::zero_below(x, limit, Simd::scale_by_power(p, exponent));
}

/// The address of what is only asked for ahead: it may follow from no row at all, or lie beyond the last, where
/// pointers must not point.
inline std::uintptr_t address_of(const void* place) {
  return reinterpret_cast<std::uintptr_t>(place);
}
inline void ask_for(std::uintptr_t address) {
  __builtin_prefetch(reinterpret_cast<const void*>(address));
}

/// Scores of `Rows` query rows with every token of the piece: scores[r * kStepTokens + t], padding included. For each
/// cache line that is used, one line ahead is asked for: requests have to be spread evenly, because those beyond what
/// the core can hold open are dropped, and a pause leaves memory idle. Where rows follow each other, lines are asked
/// for in the order of their addresses, so that the hardware sees a stream and reads on by itself.
template <typename Element, int Rows>
void dot_rows(const TileBlock& block, const Piece& piece, float* scores) {
  using Stored = typename Element::Stored;
  constexpr int kTokens = Simd::kWidth / power_of_two(Rows);
  constexpr int kLineVectors = kLineBytes / (Simd::kWidth * static_cast<int>(sizeof(Stored)));
  constexpr std::ptrdiff_t kLineElements = kLineVectors * kWidth;
  const float* const q = block.q + std::ptrdiff_t{piece.first_row} * block.head_dim;
  const std::byte* const* k_rows = block.k_rows + piece.first_token;
  const std::int32_t tokens = piece.tokens;
  const std::ptrdiff_t head_dim = block.head_dim;
  const std::ptrdiff_t ahead_step = block.k_contiguous ? kTokens : 1;
  for (std::int32_t begin = 0; begin < tokens; begin += kTokens) {
    const Stored* k[kTokens];
    std::uintptr_t ahead[kTokens];
    for (int t = 0; t < kTokens; ++t) k[t] = row<Element>(k_rows, begin + t);
    // Beyond its share, a piece asks for what it has, which costs next to nothing.
    const std::byte* const* ahead_rows = begin < piece.ahead_tokens ? piece.ahead_k_rows : k_rows;
    for (int t = 0; t < kTokens; ++t) {
      ahead[t] = block.k_contiguous
                     ? address_of(ahead_rows[0]) + (begin * head_dim + t * kLineElements) * sizeof(Stored)
                     : address_of(ahead_rows[begin + t]);
    }
    Vec sums[kWidth];
#pragma GCC unroll 16
    for (int i = 0; i < kWidth; ++i) sums[i] = Simd::zero();
    const auto add_products = [&](std::ptrdiff_t d) __attribute__((always_inline)) {
      Vec query[Rows];
#pragma GCC unroll 4
      for (int r = 0; r < Rows; ++r) {
        query[r] = Simd::load(q + d * Rows + r * kWidth);
        Simd::keep_in_register(query[r]);
      }
#pragma GCC unroll 16
      for (int t = 0; t < kTokens; ++t) {
        const Vec key = Element::load(k[t] + d);
#pragma GCC unroll 4
        for (int r = 0; r < Rows; ++r) sums[r * kTokens + t] = Simd::fma(key, query[r], sums[r * kTokens + t]);
      }
    };
    std::ptrdiff_t d = 0;
    for (; d + kLineElements <= head_dim; d += kLineElements) {
#pragma GCC unroll 8
      for (int v = 0; v < kLineVectors; ++v) {
#pragma GCC unroll 16
        for (int t = 0; t < kTokens; ++t) {
          if (t * kLineVectors / kTokens == v) ask_for(ahead[t] + d * ahead_step * sizeof(Stored));
        }
        add_products(d + v * kWidth);
      }
    }
    for (; d < head_dim; d += kWidth) add_products(d);
    float dots[kWidth];
    Simd::store(dots, Simd::mul(Simd::sums(sums), Simd::set1(block.scale)));
    for (int r = 0; r < Rows; ++r) {
      for (int t = 0; t < kTokens; ++t) scores[r * kStepTokens + begin + t] = dots[r * kTokens + t];
    }
  }
}

/// Turns one row's scores into weights relative to the new greatest score, updates the row's greatest score and sum
/// of weights, and returns the factor for what was summed before.
inline float softmax_row(std::int32_t tokens, float* scores, float& row_max, float& row_weight) {
  const float infinity = __builtin_inff();
  const std::int32_t padded = (tokens + Simd::kWidth - 1) / Simd::kWidth * Simd::kWidth;
  for (std::int32_t t = tokens; t < padded; ++t) scores[t] = -infinity;
  Vec most = Simd::set1(row_max);
  for (std::int32_t t = 0; t < padded; t += Simd::kWidth) most = Simd::max(Simd::load(scores + t), most);  // skips NaN
  const float new_max = Simd::greatest(most);
  // A row that has seen nothing but -inf: exp(-inf - 0) is the 0 wanted, exp(-inf - -inf) would be NaN.
  const float reference = new_max == -infinity ? 0.0F : new_max;
  const Vec shift = Simd::set1(reference);
  Vec weight = Simd::zero();
  for (std::int32_t t = 0; t < padded; t += Simd::kWidth) {
    const Vec p = exp_nonpositive(Simd::sub(Simd::load(scores + t), shift));
    Simd::store(scores + t, p);
    weight = Simd::add(weight, p);
  }
  float factor[kWidth];
  Simd::store(factor, exp_nonpositive(Simd::set1(row_max - reference)));
  row_weight = row_weight * factor[0] + Simd::sum(weight);
  row_max = new_max;
  return factor[0];
}

/// sums[r][d, d + Vectors * kWidth) = sums * factor + weights x V for `Rows` rows. Asks for as much of the rows ahead.
template <typename Element, int Rows, int Vectors, bool Contiguous>
void add_values(const TileBlock& block, const Piece& piece, std::ptrdiff_t d, const float* weights,
                const float* factor) {
  using Stored = typename Element::Stored;
  constexpr std::ptrdiff_t kBytes = Vectors * kWidth * std::ptrdiff_t{sizeof(Stored)};
  const std::int32_t tokens = piece.tokens;
  const std::byte* const* v_rows = block.v_rows + piece.first_token;
  const std::byte* const* ahead_rows = piece.ahead_v_rows;
  const std::int32_t ahead_tokens = piece.ahead_tokens;
  // Contiguous rows ahead are one stream, of which each pass takes the next part; of others it takes its own part.
  const std::uintptr_t stream = address_of(ahead_rows[0]) + d * ahead_tokens * sizeof(Stored);
  Vec sums[Rows][Vectors];
#pragma GCC unroll 4
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v) sums[r][v] = Simd::zero();
  }
  for (std::int32_t t = 0; t < tokens; ++t) {
    const Stored* const value = row<Element>(v_rows, t) + d;
    if (t < ahead_tokens) {
      const std::uintptr_t ahead = Contiguous ? stream + t * kBytes : address_of(ahead_rows[t]) + d * sizeof(Stored);
#pragma GCC unroll 8
      for (std::ptrdiff_t line = 0; line < kBytes; line += kLineBytes) ask_for(ahead + line);
    }
    Vec values[Vectors];
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v) values[v] = Element::load(value + v * kWidth);
#pragma GCC unroll 4
    for (int r = 0; r < Rows; ++r) {
      const Vec weight = Simd::set1(weights[r * kStepTokens + t]);
#pragma GCC unroll 8
      for (int v = 0; v < Vectors; ++v) sums[r][v] = Simd::fma(weight, values[v], sums[r][v]);
    }
  }
  // Sums of a piece, then sums of pieces: the error grows with their two lengths, not with their product.
#pragma GCC unroll 4
  for (int r = 0; r < Rows; ++r) {
    float* out = block.sums + std::ptrdiff_t{piece.first_row + r} * block.sum_stride + d;
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v) {
      Simd::store(out + v * kWidth, Simd::fma(Simd::load(out + v * kWidth), Simd::set1(factor[r]), sums[r][v]));
    }
  }
}

/// add_values from element d on, `Vectors` at a time and then by halves of it.
template <typename Element, int Rows, int Vectors>
void add_all_values(const TileBlock& block, const Piece& piece, std::ptrdiff_t d, const float* weights,
                    const float* factor) {
  for (; d + Vectors * kWidth <= block.value_dim; d += Vectors * kWidth) {
    if (block.v_contiguous) {
      add_values<Element, Rows, Vectors, true>(block, piece, d, weights, factor);
    } else {
      add_values<Element, Rows, Vectors, false>(block, piece, d, weights, factor);
    }
  }
  if constexpr (Vectors > 1) add_all_values<Element, Rows, Vectors / 2>(block, piece, d, weights, factor);
}

/// First half of a piece: weights[r * kStepTokens + t], and the factor for what each row has summed before.
template <typename Element, int Rows>
void weigh(const TileBlock& block, const Piece& piece, float* weights, float* factor) {
  dot_rows<Element, Rows>(block, piece, weights);
  for (int r = 0; r < Rows; ++r) {
    factor[r] = softmax_row(piece.tokens, weights + std::ptrdiff_t{r} * kStepTokens, block.row_max[piece.first_row + r],
                            block.row_weight[piece.first_row + r]);
  }
}

/// Second half of a piece: adds V by these weights.
template <typename Element, int Rows>
void accumulate(const TileBlock& block, const Piece& piece, const float* weights, const float* factor) {
  constexpr int kVectors = Simd::kAccumulators / power_of_two(Rows) < 8 ? Simd::kAccumulators / power_of_two(Rows) : 8;
  add_all_values<Element, Rows, kVectors>(block, piece, 0, weights, factor);
}

template <typename Element>
void weigh_piece(const TileBlock& block, const Piece& piece, float* weights, float* factor) {
  switch (piece.rows) {
    case 4:
      return weigh<Element, 4>(block, piece, weights, factor);
    case 3:
      return weigh<Element, 3>(block, piece, weights, factor);
    case 2:
      return weigh<Element, 2>(block, piece, weights, factor);
    default:
      return weigh<Element, 1>(block, piece, weights, factor);
  }
}

template <typename Element>
void accumulate_piece(const TileBlock& block, const Piece& piece, const float* weights, const float* factor) {
  switch (piece.rows) {
    case 4:
      return accumulate<Element, 4>(block, piece, weights, factor);
    case 3:
      return accumulate<Element, 3>(block, piece, weights, factor);
    case 2:
      return accumulate<Element, 2>(block, piece, weights, factor);
    default:
      return accumulate<Element, 1>(block, piece, weights, factor);
  }
}

/// The piece of the block for rows from first_row on and tokens from first_token on. The pieces of a step share in
/// fetching the tokens of the next step, or of the next block.
inline Piece piece_at(const TileBlock& block, std::int32_t step, std::int32_t first_row, std::int32_t first_token) {
  const std::int32_t next = first_token + step;
  const bool inside = next < block.tokens;
  Piece piece;
  piece.first_row = first_row;
  piece.rows = least(kChunkRows, block.rows - first_row);
  piece.first_token = first_token;
  piece.tokens = least(step, block.tokens - first_token);
  const std::int32_t ahead = inside ? least(step, block.tokens - next) : block.next_k_rows != nullptr ? step : 0;
  const std::int32_t share_begin = static_cast<std::int32_t>(std::int64_t{ahead} * first_row / block.rows);
  const std::int32_t share_end = static_cast<std::int32_t>(std::int64_t{ahead} * (first_row + piece.rows) / block.rows);
  const bool in_next_block = !inside && ahead > 0;
  const std::int32_t first_ahead = inside ? next : 0;
  piece.ahead_k_rows = (in_next_block ? block.next_k_rows : block.k_rows) + first_ahead + share_begin;
  piece.ahead_v_rows = (in_next_block ? block.next_v_rows : block.v_rows) + first_ahead + share_begin;
  piece.ahead_tokens = share_end - share_begin;
  return piece;
}

/// Goes through the pieces, and accumulates each only after the next one is weighed: a softmax is a long chain of
/// dependent operations, and there is other work beside it this way.
template <typename Element>
void attend_block(const TileBlock& block) {
  alignas(64) float weights[2][kChunkRows * kStepTokens];
  float factor[2][kChunkRows];
  Piece last{};
  int turn = 0;
  const std::int32_t step = block.rows <= kChunkRows ? kMemoryStepTokens : kStepTokens;
  for (std::int32_t token = 0; token < block.tokens; token += step) {
    for (std::int32_t row = 0; row < block.rows; row += kChunkRows) {
      const Piece piece = piece_at(block, step, row, token);
      weigh_piece<Element>(block, piece, weights[turn], factor[turn]);
      turn = 1 - turn;
      if (last.rows > 0) accumulate_piece<Element>(block, last, weights[turn], factor[turn]);
      last = piece;
    }
  }
  accumulate_piece<Element>(block, last, weights[1 - turn], factor[1 - turn]);
}

/// Rows of q as float in the order that dot_rows reads them: chunk by chunk of kChunkRows rows, of each the vectors
/// with the first elements of its rows, then those with the next.
template <typename Element>
void pack_query(const std::byte* const* rows, std::int32_t row_count, std::int32_t elements, std::int32_t head_dim,
                float* to) {
  using Stored = typename Element::Stored;
  for (std::int32_t first = 0; first < row_count; first += kChunkRows) {
    const std::int32_t chunk = least(kChunkRows, row_count - first);
    for (std::int32_t d = 0; d < head_dim; d += Simd::kWidth) {
      for (std::int32_t r = 0; r < chunk; ++r) {
        const Stored* const from = row<Element>(rows, first + r);
        Stored part[kWidth] = {};
        for (std::int32_t i = d; i < least(d + Simd::kWidth, elements); ++i) part[i - d] = from[i];
        Simd::store(to, Element::load(part));
        to += kWidth;
      }
    }
  }
}

template <typename Element>
TileKernel kernel_of() {
  return {attend_block<Element>, pack_query<Element>};
}

}  // namespace
}  // namespace splitwave::cpu_reference
