// SPDX-License-Identifier: Apache-2.0
// What attention kernels round, when and to what, as data (docs/numerics.md).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "cpu_reference/numerics/precision.h"

namespace splitwave::cpu_reference::numerics {

/// How e^x is computed. exp2: as 2^(x log2 e), log2 e folded into the softmax scale and the maximum subtracted by one
/// fused multiply-add.
enum class Exponential { exp2, exp };

/// The tiles of a split, each a step of the online softmax.
enum class TileOrder { first_to_last, last_to_first };

/// What a split hands to the merge: its output divided by its sum of weights, with an LSE; or the sum of weighted rows
/// as it is, with the largest score and the sum of weights.
enum class PartialForm { normalised, raw };

/// What elements of Q, K and V are divided by before they are rounded to e4m3, so that the largest becomes 448. tensor:
/// one factor for each of Q, K and V. block: one for the query rows of an output tile, one for each tile of K and V.
enum class Scaling { none, tensor, block };

/// The roundings of one kernel and the order of its sums. The default is fp32 throughout, and P and the output rounded
/// to the workload's dtype.
struct Rounding {
  Precision arithmetic = Precision::f32;  ///< of what nothing below rounds further: f32 or f64
  Precision operands = Precision::input;  ///< of Q, K and V
  Scaling scaling = Scaling::none;        ///< of the operands, for e4m3
  bool incoherent = false;  ///< Q and K are first multiplied with one random orthogonal matrix: a Hadamard matrix times
                            ///< random signs (FlashAttention-3, section 3.3); head_dim must be a power of two
  Precision scores = Precision::f32;  ///< of scale * Q K^T before the softmax
  Exponential exponential = Exponential::exp2;
  bool whole_rows = false;  ///< no online softmax: P is normalised before it is rounded and multiplied with V
  Precision weights = Precision::input;    ///< of P as it is multiplied with V
  std::int32_t weight_exponent = 0;        ///< P is held times 2^weight_exponent
  bool sum_rounded_weights = false;        ///< the row sum adds P after it was rounded
  Precision accumulator = Precision::f32;  ///< of the output between two matrix instructions
  std::int32_t instruction_tokens = 16;    ///< tokens that one matrix instruction adds
  TileOrder order = TileOrder::first_to_last;
  PartialForm partial_form = PartialForm::normalised;
  Precision partials = Precision::f32;  ///< of the splits' outputs in memory
  Precision merge = Precision::f32;     ///< of the splits' LSEs and of the weights that their outputs are merged with
  Precision output = Precision::input;
};

/// The rounding with `input` replaced by the precision of the dtype. Throws std::logic_error for fp8 dtypes, which have
/// no tensors.
Rounding resolved(Rounding rounding, workloads::Dtype dtype);

/// A Rounding with a name.
struct Scheme {
  std::string_view name;     ///< "fa3"
  std::string_view summary;  ///< what sets it apart, in a few words
  std::string_view source;   ///< repository file:line or paper and section
  Rounding rounding;
  /// What to tell `verify --weights` for such a kernel. input: nothing; e4m3: verify has nothing so coarse.
  Precision verify_weights = Precision::input;
};

/// The table, in the order of docs/numerics.md.
std::span<const Scheme> schemes();

/// The scheme of that name. Throws InputError with all names if it is unknown.
const Scheme& find_scheme(std::string_view name);

}  // namespace splitwave::cpu_reference::numerics
