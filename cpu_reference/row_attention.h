// SPDX-License-Identifier: Apache-2.0
// One output row in plain double: the weights of its tokens, for whoever asks why a row is wrong.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cpu_reference/attention_case.h"

namespace splitwave::cpu_reference {

/// One query head of one query token.
struct RowId {
  std::int32_t request = 0;
  std::int32_t query = 0;
  std::int32_t head = 0;
};

/// Weights e^(score - largest) of the tokens [range.begin, range.end).
struct RowWeights {
  workloads::KvRange range;
  std::vector<double> scores;   ///< scaled, the mask added
  std::vector<double> weights;  ///< all 0 where all scores are -inf
  double largest = 0;
  double total = 0;
};

/// Where a row's scores come from, if not from where they should.
struct ScoreSource {
  std::optional<workloads::KvRange> range;  ///< none: the visible tokens
  std::optional<double> scale;
  std::optional<std::int32_t> kv_head;
  std::optional<RowId> q;  ///< another row's query
  bool masked = true;      ///< apply the case's mask
};

RowWeights row_weights(const AttentionCase& attention, const RowId& row, const ScoreSource& source = {});

/// Weights of given scores.
void weigh_scores(RowWeights& row);

}  // namespace splitwave::cpu_reference
