// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace splitwave::cpu_reference {

/// What can be wrong with an attention kernel and leaves a pattern in its output.
enum class Fault {
  missing_tokens,    ///< a KV tile, page or split was left out
  doubled_tokens,    ///< a KV tile, page or split was counted twice
  merge_weights,     ///< partial results were merged with wrong weights
  stale_partial,     ///< a partial result of another row, or of nobody, was merged
  last_token,        ///< the last visible token was left out
  unmasked_tail,     ///< tokens after the last visible one were counted
  softmax_scale,     ///< scores were scaled by another factor
  lse_base_two,      ///< LSE in base 2 where base e was asked for, or the reverse
  head_mapping,      ///< a query head read another KV head, or was written to another place
  swapped_pages,     ///< a page was read where another belongs
  causal_alignment,  ///< causal mask at the top left, or none, or one where there should be none
  window,            ///< sliding window too wide, too narrow, or ignored
  low_accumulator,   ///< the sum of weights times V was kept in half precision
  mask_sentinel,     ///< masked scores were a finite number
  missing_rescale,   ///< the output was not rescaled when the largest score grew
};

inline constexpr int kFaults = 15;

/// "missing_tokens", ...
std::string to_string(Fault fault);

/// A fault and how well it explains the error.
struct Finding {
  Fault fault = Fault::missing_tokens;
  std::string text;          ///< one sentence: what, where
  double explained = 0;      ///< share of the squared error of the rows looked at that is gone if the fault is assumed
  double evidence_nats = 0;  ///< log of the likelihood ratio to "rounding", less what trying so many faults costs
  double against_rounding_nats = 0;  ///< the same where a row's elements count as no more numbers than its rounded
                                     ///< weights make independent: what a correct kernel does not reach by chance
  std::int64_t rows = 0;             ///< rows looked at in which the fault explains the error
  std::int32_t token_begin = -1;     ///< KV positions that the fault is about, where it is about some
  std::int32_t token_end = -1;
};

}  // namespace splitwave::cpu_reference
