// SPDX-License-Identifier: Apache-2.0
// Attention as a framework computes it without a fused kernel: every intermediate tensor is stored in the dtype.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "workloads/tensors.h"
#include "workloads/workload.h"

namespace splitwave::testing {

/// Output, [query token][query head][value_dim], of S = Q K^T, P = softmax(scale S), O = P V with S, P and O rounded to
/// the dtype and sums in fp32: PyTorch's scaled_dot_product_attention with its math backend, which FlashAttention's
/// tests compare with (tests/test_flash_attn.py, attention_ref with upcast=False). One query per request, no window.
inline std::vector<float> half_reference(const workloads::Workload& w, const workloads::Tensors& tensors) {
  const workloads::Geometry& g = w.geometry;
  const auto rounded = [&](float x) { return workloads::from_bits(g.dtype, workloads::round_to_bits(g.dtype, x)); };
  std::vector<float> output(static_cast<std::size_t>(tensors.first_query.back()) * g.query_heads * g.value_dim);
  const workloads::Bytes& values = g.kind == workloads::AttentionKind::mla ? tensors.k : tensors.v;
  for (std::int32_t r = 0; r < static_cast<std::int32_t>(w.requests.size()); ++r) {
    const std::int32_t tokens = w.requests[static_cast<std::size_t>(r)].context_len;
    for (std::int32_t head = 0; head < g.query_heads; ++head) {
      const std::int64_t q = workloads::q_row(w, tensors, r, 0, head);
      std::vector<float> p(static_cast<std::size_t>(tokens));
      float maximum = -std::numeric_limits<float>::infinity();
      for (std::int32_t t = 0; t < tokens; ++t) {
        const std::int64_t k = workloads::k_row(w, tensors, r, t, head / g.group());
        float sum = 0;
        for (std::int32_t e = 0; e < g.head_dim; ++e) {
          sum +=
              workloads::load_element(g.dtype, tensors.q, q + e) * workloads::load_element(g.dtype, tensors.k, k + e);
        }
        p[static_cast<std::size_t>(t)] = rounded(rounded(sum) * static_cast<float>(g.scale()));
        maximum = std::max(maximum, p[static_cast<std::size_t>(t)]);
      }
      float total = 0;
      for (float& x : p) total += x = std::exp(x - maximum);
      std::vector<float> o(static_cast<std::size_t>(g.value_dim), 0.0F);
      for (std::int32_t t = 0; t < tokens; ++t) {
        const std::int64_t v = workloads::v_row(w, tensors, r, t, head / g.group());
        const float weight = rounded(p[static_cast<std::size_t>(t)] / total);
        for (std::int32_t e = 0; e < g.value_dim; ++e) {
          o[static_cast<std::size_t>(e)] += weight * workloads::load_element(g.dtype, values, v + e);
        }
      }
      for (std::int32_t e = 0; e < g.value_dim; ++e) {
        output[static_cast<std::size_t>(q / g.head_dim * g.value_dim + e)] = rounded(o[static_cast<std::size_t>(e)]);
      }
    }
  }
  return output;
}

}  // namespace splitwave::testing
