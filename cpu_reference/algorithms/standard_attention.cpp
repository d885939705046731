// SPDX-License-Identifier: Apache-2.0
// Standard attention, Algorithm 0 of FlashAttention (Dao, Fu, Ermon, Rudra, Ré: arXiv 2205.14135, section 2.2).
// Comments give the algorithm's lines.
#include "cpu_reference/algorithms/dense.h"
#include "cpu_reference/algorithms/functions.h"

namespace splitwave::cpu_reference::algorithms {

HeadResult standard_attention(const Head& head) {
  HeadResult result(head);
  Traffic& traffic = result.traffic;
  Matrix scores(head.q.rows, head.k.rows);
  Matrix weights(head.q.rows, head.k.rows);
  {  // 1: load Q and K, compute S = Q K^T, write S.
    const Dense q = load(head.q.as<Input>(), traffic.q);
    const Dense k = load(head.k.as<Input>(), traffic.k);
    store(head.scale * q * k.transpose(), scores.as<Output>(), traffic.scores);
  }
  {  // 2: read S, compute P = softmax(S), write P.
    const Dense s = load(scores.as<Output>(), traffic.scores);
    const Column m = s.rowwise().maxCoeff();
    const Dense p = (s.array().colwise() - m).exp();
    const Column l = p.rowwise().sum();
    store(diag(l.inverse()) * p, weights.as<Output>(), traffic.scores);
    OutputColumn(result.lse.data(), head.q.rows) = m + l.log();  // not a part of the algorithm, not counted
  }
  {  // 3: load P and V, compute O = P V, write O.
    const Dense p = load(weights.as<Output>(), traffic.scores);
    const Dense v = load(head.v.as<Input>(), traffic.v);
    store(p * v, result.output.as<Output>(), traffic.output);
  }
  return result;
}

Traffic standard_attention_io(const HeadShape& shape) {
  const auto [rows, tokens, head_dim, value_dim, v_in_k] = shape;
  Traffic traffic;
  traffic.q = {rows * head_dim, 0};
  traffic.k = {tokens * head_dim, 0};
  traffic.v = {tokens * value_dim, 0};  // in a step of its own: nothing is saved where V is a part of K
  traffic.scores = {2 * rows * tokens, 2 * rows * tokens};
  traffic.output = {0, rows * value_dim};
  return traffic;
}

}  // namespace splitwave::cpu_reference::algorithms
