// SPDX-License-Identifier: Apache-2.0
// Judges the output of anybody's attention kernel: a verdict with its reasons, and where the error has a pattern, the
// fault that explains it. docs/verify.md says how.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/array.h"
#include "cpu_reference/compare.h"
#include "cpu_reference/diagnosis.h"
#include "workloads/tensors.h"
#include "workloads/workload.h"

namespace splitwave::cpu_reference {

/// Order of a tensor's axes. token_major: [batch, token, head, element] or [token, head, element], pages [page, token,
/// head, element] (FlashAttention's; NHD of FlashInfer). head_major: [batch, head, token, element], pages [page, head,
/// token, element] (PyTorch's scaled_dot_product_attention; HND).
enum class AxisOrder { token_major, head_major };

/// Precision of the weights P that a kernel multiplies with V, its coarsest step inside. tf32: Q, K and V are rounded
/// to 10 bits of fraction too.
enum class WeightPrecision { bf16, f16, tf32, f32, f64 };

/// One call of a kernel: what it was given and what it gave. Views of rank 3 or 4 with a dense last axis; elements f16,
/// bf16, f32 or f64, where each array may have another type. Integer arrays are i32 or i64.
struct KernelCall {
  base::ArrayView q;                 ///< rank 4, or rank 3 [query token of the batch, head, element]
  base::ArrayView k;                 ///< rank 4, rank 3 [token of the batch, KV head, element], or pages (rank 4)
  std::optional<base::ArrayView> v;  ///< as k; none: V is the first elements of each K row, as many as a row of output
  std::optional<base::ArrayView> block_table;   ///< [request, logical page]: physical page of k and v
  std::optional<base::ArrayView> context_lens;  ///< [request]; none: cu_seqlens_k, or the extent of k
  std::optional<base::ArrayView> cu_seqlens_q;  ///< [requests + 1], from 0; q has rank 3
  std::optional<base::ArrayView> cu_seqlens_k;  ///< [requests + 1], from 0; k has rank 3, or for the lengths alone
  std::optional<base::ArrayView> mask;       ///< bool (true: visible) or added to the scaled scores; its last axes are
                                             ///< [query, token], before them [request] or [request, head], extents of 1
                                             ///< stand for all; besides causal and window
  AxisOrder order = AxisOrder::token_major;  ///< of q and output
  AxisOrder kv_order = AxisOrder::token_major;  ///< of k and v
  bool causal = false;                          ///< the last query sees the last token (bottom-right)
  std::optional<std::int32_t> window;           ///< as workloads::Geometry::window
  std::optional<double> softmax_scale;          ///< none: 1 / sqrt(head_dim)

  base::ArrayView output;              ///< shape of q, but for the last axis
  std::optional<base::ArrayView> lse;  ///< [token, head] or [head, token]; rank 4 q: [request, head, query] or
                                       ///< [request, query, head]
  bool lse_base_two = false;           ///< log2 of the sum of 2^(score * log2 e), FlashInfer's; none: natural
  std::optional<bool> lse_head_first;  ///< which of the two; needed only where the extents do not tell
  /// LSE of a row that sees nothing: +inf (FlashMLA); else -inf.
  bool empty_lse_positive = false;
};

/// How much to ask.
struct VerifyOptions {
  /// None: the type of v (docs/verify.md).
  std::optional<WeightPrecision> weights;
  bool diagnose = true;  ///< look for the fault that explains the error
};

/// An element (or an LSE: element is -1) and its row.
struct Coordinates {
  std::int32_t request = 0;
  std::int32_t query = 0;  ///< within the request
  std::int32_t head = 0;   ///< query head
  std::int32_t element = -1;
};

/// Distance of outputs from the exact ones. All norms leave out what is not finite.
struct ErrorFigures {
  std::int64_t elements = 0;
  double max_abs = 0;
  double max_relative = 0;       ///< largest |error| / |exact| where exact is a normal number of the output's type
  double rmse_over_rms = 0;      ///< root mean square error over that of the exact output
  double cosine = 1;             ///< of output and exact output
  double worst_bound_ratio = 0;  ///< largest |error| / bound
  std::int64_t over_bound = 0;   ///< elements beyond their bounds
  std::int64_t mismatched_non_finite = 0;  ///< NaN or inf where the exact output is none, or the reverse
};

/// The figures of one query head, or of one request.
struct GroupFigures {
  std::int32_t index = 0;
  ErrorFigures output;
  double lse_max_abs = 0;  ///< 0 where no LSE was given
};

/// Distance of an output element from the exact value rounded to its type, in units in the last place.
struct UlpHistogram {
  /// Counts of distance 0, 1, 2, 3-4, 5-8, ..., 2^(i-2)+1 to 2^(i-1), the last one open.
  std::vector<std::int64_t> counts;
  std::int64_t largest = 0;  ///< at most 2^63 - 1
};

/// The element that lies farthest beyond (or nearest to) its bound.
struct WorstElement {
  Coordinates at;
  double value = 0;
  double exact = 0;
  double bound = 0;
  std::int32_t heaviest_token = -1;  ///< position of the token that adds most to it, -1 if it sees none
  double heaviest_weight = 0;        ///< softmax weight of that token
};

/// The rules of a verdict. `bound` decides, and `pattern` where the error is within its bounds; the others are shown.
enum class Rule { bound, pattern, tolerance, twice_plain };
/// The enumerator's own name, as `verify --json` has it.
std::string to_string(Rule rule);

/// What one rule says of a call. The rules' numbers: bound, error over its bound; pattern, nats against rounding;
/// tolerance, relative error of the worst row (the LSE's is in the text alone); twice_plain, absolute error.
struct RuleResult {
  Rule rule = Rule::bound;
  bool passed = true;
  double value = 0;  ///< what was measured
  double limit = 0;  ///< the most that passes
  std::string text;  ///< the two in words
};

/// The verdict on a call and all that it rests on. LSEs are natural, whatever base the call's are in.
struct Verification {
  bool passed = true;
  Rule decided_by = Rule::bound;  ///< bound or pattern
  std::vector<RuleResult> rules;  ///< in the order of Rule; pattern only where it was looked for
  ErrorFigures output;
  bool has_lse = false;                ///< the call gave an LSE; the two figures are 0 where it did not
  double lse_max_abs = 0;              ///< largest |error|
  double lse_worst_bound_ratio = 0;    ///< largest |error| / bound
  std::vector<GroupFigures> heads;     ///< by query head
  std::vector<GroupFigures> requests;  ///< in the order of the call
  UlpHistogram ulps;
  std::optional<WorstElement> worst;  ///< none where there are no elements
  std::vector<Finding>
      findings;           ///< best explanation first; empty where nothing explains the error, or nothing needs to
  std::int64_t rows = 0;  ///< query tokens times query heads
};

/// Judges the call. Throws base::InputError with one line that names the array and what is allowed where shapes, types
/// or tables do not fit together. Uses all OpenMP threads; the result does not depend on their number.
Verification verify(const KernelCall& call, const VerifyOptions& options = {});

/// The same for a kernel that was given a workload's own tensors (workloads::make_tensors). output: [query token of the
/// batch, query head, value_dim]; lse, if there is one: [query token of the batch, query head], in base e or 2.
Verification verify(const workloads::Workload& workload, const workloads::Tensors& tensors,
                    const base::ArrayView& output, const std::optional<base::ArrayView>& lse = std::nullopt,
                    bool lse_base_two = false, const VerifyOptions& options = {});

}  // namespace splitwave::cpu_reference
