// SPDX-License-Identifier: Apache-2.0
// What an algorithm moves between slow memory (HBM) and fast memory (registers, shared memory), which is what the
// algorithms of the papers differ in.
#pragma once

#include <cstdint>

namespace splitwave::cpu_reference::algorithms {

/// Amounts that cross, by direction: elements, or bytes where said so.
struct Moved {
  std::int64_t loaded = 0;  ///< from slow to fast memory
  std::int64_t stored = 0;  ///< from fast to slow memory

  std::int64_t total() const { return loaded + stored; }
  bool operator==(const Moved&) const = default;
};

/// The same by what it is.
struct Traffic {
  Moved q;
  Moved k;
  Moved v;
  Moved scores;      ///< S and P, in algorithms that keep them in slow memory
  Moved output;      ///< O
  Moved statistics;  ///< per query row: largest score m, denominator l, LSE
  Moved partials;    ///< outputs and statistics of parts of a context, to be reduced

  std::int64_t total() const;
  Traffic& operator+=(const Traffic& other);
  bool operator==(const Traffic&) const = default;
};

/// Elements as bytes: Q, K, V, S, P and O have `element_bytes`, statistics and partials are fp32, as in the libraries'
/// kernels (softmax_lse, softmax_lse_accum and out_accum of Dao-AILab/flash-attention csrc/flash_attn/flash_api.cpp).
Traffic in_bytes(const Traffic& elements, std::int64_t element_bytes);

/// All that traffic depends on, beside an algorithm's own block sizes.
struct HeadShape {
  std::int64_t rows = 0;    ///< query rows, R
  std::int64_t tokens = 0;  ///< of K and V, N; at least 1
  std::int64_t head_dim = 0;
  std::int64_t value_dim = 0;
  bool v_in_k = false;  ///< V is a part of K (MLA)
};

}  // namespace splitwave::cpu_reference::algorithms
