// SPDX-License-Identifier: Apache-2.0
// Flash-Decoding (Dao, Haziza, Massa, Sizov: PyTorch blog, October 2023): FlashAttention-2 on parts of the context, in
// parallel on a GPU, and a second kernel that reduces the parts' outputs. Comments give the blog's three steps.
#include <algorithm>
#include <limits>

#include "cpu_reference/algorithms/dense.h"
#include "cpu_reference/algorithms/functions.h"

namespace splitwave::cpu_reference::algorithms {
namespace {

/// Blocks of the context in each part; the last parts may have fewer, or be left out.
std::int64_t tokens_per_split(std::int64_t tokens, std::int64_t block_tokens, std::int64_t splits) {
  const std::int64_t blocks = (tokens + block_tokens - 1) / block_tokens;
  return (blocks + splits - 1) / splits * block_tokens;
}

Matrix rows_of(const Matrix& matrix, std::int64_t begin, std::int64_t end) {
  Matrix part(end - begin, matrix.cols);
  std::copy(matrix.values.begin() + begin * matrix.cols, matrix.values.begin() + end * matrix.cols,
            part.values.begin());
  return part;
}

/// 3: the second kernel. O = sum of diag(e^(LSE_s - m)) O_s over the parts s, normalised by the sum of the weights.
void reduce(const std::vector<HeadResult>& parts, HeadResult& result) {
  Traffic& traffic = result.traffic;
  const Eigen::Index rows = result.output.rows;
  std::vector<Column> lse;
  Column m = Column::Constant(rows, -std::numeric_limits<double>::infinity());
  for (const HeadResult& part : parts) {
    lse.push_back(load(Eigen::Map<const Column>(part.lse.data(), rows), traffic.partials));
    m = m.max(lse.back());
  }
  Dense o = Dense::Zero(rows, result.output.cols);
  Column l = Column::Zero(rows);
  for (std::size_t s = 0; s < parts.size(); ++s) {
    const Column weight = (lse[s] - m).exp();
    o += diag(weight) * load(parts[s].output.as<Input>(), traffic.partials);
    l += weight;
  }
  store(diag(l.inverse()) * o, result.output.as<Output>(), traffic.output);
  store(m + l.log(), OutputColumn(result.lse.data(), rows), traffic.statistics);
}

}  // namespace

HeadResult flash_decoding(const Head& head, std::int64_t block_tokens, std::int64_t splits) {
  HeadResult result(head);
  // 1: the context in parts. They are views of K and V; the copies here are no traffic.
  const std::int64_t step = tokens_per_split(head.k.rows, block_tokens, splits);
  std::vector<HeadResult> parts;
  for (std::int64_t begin = 0; begin < head.k.rows; begin += step) {
    const std::int64_t end = std::min(begin + step, head.k.rows);
    const Head part{head.q, rows_of(head.k, begin, end), rows_of(head.v, begin, end), head.scale, head.v_in_k};
    // 2: FlashAttention-2 on each, which writes an output and an LSE per row: here they are partial results.
    parts.push_back(flash_attention_2(part, head.q.rows, block_tokens));
    Traffic traffic = parts.back().traffic;
    traffic.partials.stored = traffic.output.stored + traffic.statistics.stored;
    traffic.output = traffic.statistics = {};
    result.traffic += traffic;
  }
  reduce(parts, result);
  return result;
}

Traffic flash_decoding_io(const HeadShape& shape, std::int64_t block_tokens, std::int64_t splits) {
  const auto [rows, tokens, head_dim, value_dim, v_in_k] = shape;
  const std::int64_t step = tokens_per_split(tokens, block_tokens, splits);
  const std::int64_t parts = (tokens + step - 1) / step;
  const std::int64_t partials = parts * rows * (value_dim + 1);
  Traffic traffic;
  traffic.q = {parts * rows * head_dim, 0};
  traffic.k = {tokens * head_dim, 0};
  traffic.v = {v_in_k ? 0 : tokens * value_dim, 0};
  traffic.partials = {partials, partials};  // 2 writes them, 3 reads them
  traffic.output = {0, rows * value_dim};
  traffic.statistics = {0, rows};
  return traffic;
}

}  // namespace splitwave::cpu_reference::algorithms
