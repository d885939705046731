// SPDX-License-Identifier: Apache-2.0
// The one source of the tile kernels. A translation unit includes a Simd first and is then compiled for its
// instruction set. Everything is in an unnamed namespace and no standard template is used, so that no code for a wide
// instruction set can be linked into the rest of the program under a shared name.
#pragma once

#include "cpu_reference/kernels/tile_block.h"

namespace splitwave::cpu_reference {
namespace {

using Vec = Simd::Vec;
constexpr int kWidth = Simd::kWidth;

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

/// Least power of two that is not below n.
constexpr int power_of_two(int n) {
  return n <= 1 ? 1 : 2 * power_of_two((n + 1) / 2);
}

/// Asks for the rows of the next block, cache line by cache line, evenly over the steps of a loop: requests beyond what
/// the core can hold open are dropped, and a pause leaves memory idle.
class Prefetcher {
 public:
  Prefetcher(const std::byte* const* rows, std::int32_t count, std::int32_t row_bytes, std::int32_t steps)
      : rows_(rows), steps_(steps) {
    if (count == 0 || row_bytes == 0) return;
    // Rows are taken to begin at the same place of a line, as those of one tensor mostly do.
    const std::int32_t line_offset = static_cast<std::int32_t>(reinterpret_cast<std::uintptr_t>(*rows) % kLineBytes);
    begin_ = -line_offset;
    end_ = row_bytes;
    offset_ = begin_;
    lines_ = (row_bytes + line_offset + kLineBytes - 1) / kLineBytes * count;
  }

  void step() {
    credit_ += lines_;
    while (credit_ >= steps_) {
      if (offset_ >= end_) {
        offset_ = begin_;
        ++rows_;
      }
      __builtin_prefetch(*rows_ + offset_);
      offset_ += kLineBytes;
      credit_ -= steps_;
    }
  }

 private:
  static constexpr std::int32_t kLineBytes = 64;
  const std::byte* const* rows_;
  std::int32_t steps_;
  std::int32_t begin_ = 0;
  std::int32_t end_ = 0;
  std::int32_t lines_ = 0;
  std::int32_t offset_ = 0;
  std::int32_t credit_ = 0;
};

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

/// Scores of `Rows` query rows with every token of the block: scores[r * kBlockTokens + t], padding included.
template <typename Element, int Rows>
void dot_rows(const TileBlock& block, const float* q, Prefetcher prefetcher, float* scores) {
  constexpr int kTokens = kWidth / power_of_two(Rows);
  const std::ptrdiff_t q_stride = block.q_stride;
  const std::int32_t tokens = block.tokens;
  const std::int32_t head_dim = block.head_dim;
  for (std::int32_t begin = 0; begin < tokens; begin += kTokens) {
    const typename Element::Stored* k[kTokens];
    for (int t = 0; t < kTokens; ++t) k[t] = row<Element>(block.k_rows, begin + t < tokens ? begin + t : tokens - 1);
    Vec sums[kWidth];
#pragma GCC unroll 16
    for (int i = 0; i < kWidth; ++i) sums[i] = Simd::zero();
    for (std::int32_t d = 0; d < head_dim; d += kWidth) {
      prefetcher.step();
      Vec query[Rows];
#pragma GCC unroll 4
      for (int r = 0; r < Rows; ++r) {
        query[r] = Simd::load(q + r * q_stride + d);
        Simd::keep_in_register(query[r]);
      }
#pragma GCC unroll 16
      for (int t = 0; t < kTokens; ++t) {
        const Vec key = Element::load(k[t] + d);
#pragma GCC unroll 4
        for (int r = 0; r < Rows; ++r) sums[r * kTokens + t] = Simd::fma(key, query[r], sums[r * kTokens + t]);
      }
    }
    float dots[kWidth];
    Simd::store(dots, Simd::mul(Simd::sums(sums), Simd::set1(block.scale)));
    for (int r = 0; r < Rows; ++r) {
      for (int t = 0; t < kTokens; ++t) scores[r * kBlockTokens + begin + t] = dots[r * kTokens + t];
    }
  }
}

/// Turns one row's scores into weights relative to the new greatest score, updates the row's greatest score and sum
/// of weights, and returns the factor for what was summed before.
inline float softmax_row(std::int32_t tokens, float* scores, float& row_max, float& row_weight) {
  const float infinity = __builtin_inff();
  const std::int32_t padded = (tokens + kWidth - 1) / kWidth * kWidth;
  for (std::int32_t t = tokens; t < padded; ++t) scores[t] = -infinity;
  Vec most = Simd::set1(row_max);
  for (std::int32_t t = 0; t < padded; t += kWidth) most = Simd::max(Simd::load(scores + t), most);  // skips NaN
  const float new_max = Simd::greatest(most);
  // A row that has seen nothing but -inf: exp(-inf - 0) is the 0 wanted, exp(-inf - -inf) would be NaN.
  const float reference = new_max == -infinity ? 0.0F : new_max;
  const Vec shift = Simd::set1(reference);
  Vec weight = Simd::zero();
  for (std::int32_t t = 0; t < padded; t += kWidth) {
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

/// sums[r][d, d + Vectors * kWidth) = sums * factor + weights x V for `Rows` rows.
template <typename Element, int Rows, int Vectors>
void add_values(const TileBlock& block, std::int32_t d, const float* weights, const float* factor, float* row_sums,
                Prefetcher& shared_prefetcher) {
  const std::int32_t tokens = block.tokens;
  Prefetcher prefetcher = shared_prefetcher;  // a copy that can live in registers
  const std::byte* const* v_rows = block.v_rows;
  Vec sums[Rows][Vectors];
#pragma GCC unroll 4
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v) sums[r][v] = Simd::zero();
  }
  for (std::int32_t t = 0; t < tokens; ++t) {
    const typename Element::Stored* value = row<Element>(v_rows, t) + d;
    prefetcher.step();
    Vec values[Vectors];
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v) values[v] = Element::load(value + v * kWidth);
#pragma GCC unroll 4
    for (int r = 0; r < Rows; ++r) {
      const Vec weight = Simd::set1(weights[r * kBlockTokens + t]);
#pragma GCC unroll 8
      for (int v = 0; v < Vectors; ++v) sums[r][v] = Simd::fma(weight, values[v], sums[r][v]);
    }
  }
  shared_prefetcher = prefetcher;
  // Sums of a block, then sums of blocks: the error grows with their two lengths, not with their product.
#pragma GCC unroll 4
  for (int r = 0; r < Rows; ++r) {
    float* out = row_sums + r * block.sum_stride + d;
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v) {
      Simd::store(out + v * kWidth, Simd::fma(Simd::load(out + v * kWidth), Simd::set1(factor[r]), sums[r][v]));
    }
  }
}

/// add_values over all of value_dim, `Vectors` at a time and then by halves of it.
template <typename Element, int Rows, int Vectors>
void add_all_values(const TileBlock& block, std::int32_t d, const float* weights, const float* factor, float* row_sums,
                    Prefetcher& prefetcher) {
  for (; d + Vectors * kWidth <= block.value_dim; d += Vectors * kWidth) {
    add_values<Element, Rows, Vectors>(block, d, weights, factor, row_sums, prefetcher);
  }
  if constexpr (Vectors > 1) {
    add_all_values<Element, Rows, Vectors / 2>(block, d, weights, factor, row_sums, prefetcher);
  }
}

/// The block for rows [first, first + Rows). The rows of a block are dealt out in such chunks; each prefetches its
/// share of the next block.
template <typename Element, int Rows>
void attend_rows(const TileBlock& block, std::int32_t first) {
  constexpr int kTokens = kWidth / power_of_two(Rows);
  constexpr int kVectors = Simd::kAccumulators / power_of_two(Rows) < 8 ? Simd::kAccumulators / power_of_two(Rows) : 8;
  const std::int32_t share_begin = static_cast<std::int32_t>(std::int64_t{block.next_tokens} * first / block.rows);
  const std::int32_t share_end =
      static_cast<std::int32_t>(std::int64_t{block.next_tokens} * (first + Rows) / block.rows);
  const std::int32_t vectors = block.value_dim / kWidth;
  const std::int32_t value_passes = vectors / kVectors + __builtin_popcount(vectors % kVectors);
  Prefetcher k_prefetcher(block.next_k_rows + share_begin, share_end - share_begin, block.k_row_bytes,
                          (block.tokens + kTokens - 1) / kTokens * (block.head_dim / kWidth));
  Prefetcher v_prefetcher(block.next_v_rows + share_begin, share_end - share_begin, block.v_row_bytes,
                          block.tokens * value_passes);
  alignas(64) float scores[Rows * kBlockTokens];
  float factor[Rows];
  dot_rows<Element, Rows>(block, block.q + first * block.q_stride, k_prefetcher, scores);
  for (int r = 0; r < Rows; ++r) {
    factor[r] =
        softmax_row(block.tokens, scores + r * kBlockTokens, block.row_max[first + r], block.row_weight[first + r]);
  }
  add_all_values<Element, Rows, kVectors>(block, 0, scores, factor, block.sums + first * block.sum_stride,
                                          v_prefetcher);
}

/// to[i] = element i of the stored ones at `from`, as float.
template <typename Element>
void widen(const std::byte* from, std::int32_t count, float* to) {
  const typename Element::Stored* stored = reinterpret_cast<const typename Element::Stored*>(from);
  std::int32_t i = 0;
  for (; i + kWidth <= count; i += kWidth) Simd::store(to + i, Element::load(stored + i));
  typename Element::Stored rest[kWidth] = {};
  for (std::int32_t j = i; j < count; ++j) rest[j - i] = stored[j];
  float values[kWidth];
  Simd::store(values, Element::load(rest));
  for (std::int32_t j = i; j < count; ++j) to[j] = values[j - i];
}

template <typename Element>
void attend_block(const TileBlock& block) {
  std::int32_t first = 0;
  for (; first + 4 <= block.rows; first += 4) attend_rows<Element, 4>(block, first);
  switch (block.rows - first) {
    case 3:
      attend_rows<Element, 3>(block, first);
      break;
    case 2:
      attend_rows<Element, 2>(block, first);
      break;
    case 1:
      attend_rows<Element, 1>(block, first);
      break;
    default:
      break;
  }
}

template <typename Element>
TileKernel kernel_of() {
  return {attend_block<Element>, widen<Element>};
}

}  // namespace
}  // namespace splitwave::cpu_reference
