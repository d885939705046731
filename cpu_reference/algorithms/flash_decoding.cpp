// SPDX-License-Identifier: Apache-2.0
// Flash-Decoding (Dao, Haziza, Massa, Sizov, 2023): FlashAttention-2 on parts of the context, in parallel on a GPU, and
// a second kernel that reduces the parts' outputs.
#include <algorithm>

#include "cpu_reference/algorithms/algorithms.h"
#include "cpu_reference/merge.h"

namespace splitwave::cpu_reference::algorithms {
namespace {

Matrix rows_of(const Matrix& matrix, std::int64_t begin, std::int64_t end) {
  Matrix part(end - begin, matrix.cols);
  std::copy(matrix.values.begin() + begin * matrix.cols, matrix.values.begin() + end * matrix.cols,
            part.values.begin());
  return part;
}

/// The output row of a part as a partial: normalised, its denominator is 1 and its LSE stands for the maximum.
Partial<double> partial_of(const HeadResult& part, std::int64_t row) {
  const auto begin = part.output.values.begin() + row * part.output.cols;
  return {part.lse[row], 1, std::vector<double>(begin, begin + part.output.cols)};
}

/// The second kernel: per output row, the parts weighted by e^(LSE - largest LSE).
HeadResult reduce(const Head& head, const std::vector<HeadResult>& parts) {
  HeadResult result(head);
  for (std::int64_t row = 0; row < head.q.rows; ++row) {
    Partial<double> all = partial_of(parts.front(), row);
    for (std::size_t i = 1; i < parts.size(); ++i) all = merge(all, partial_of(parts[i], row));
    const std::vector<double> output = normalised(all);
    std::copy(output.begin(), output.end(), result.output.values.begin() + row * head.v.cols);
    result.lse[row] = lse(all);
  }
  return result;
}

}  // namespace

HeadResult flash_decoding(const Head& head, std::int64_t block_tokens, std::int64_t splits) {
  const std::int64_t tokens = head.k.rows;
  const std::int64_t blocks = (tokens + block_tokens - 1) / block_tokens;
  const std::int64_t tokens_per_split = (blocks + splits - 1) / splits * block_tokens;
  std::vector<HeadResult> parts;
  for (std::int64_t begin = 0; begin < tokens; begin += tokens_per_split) {
    const std::int64_t end = std::min(begin + tokens_per_split, tokens);
    const Head part{head.q, rows_of(head.k, begin, end), rows_of(head.v, begin, end), head.scale};
    parts.push_back(flash_attention_2(part, head.q.rows, block_tokens));
  }
  return reduce(head, parts);
}

}  // namespace splitwave::cpu_reference::algorithms
