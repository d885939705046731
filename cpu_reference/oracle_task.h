// SPDX-License-Identifier: Apache-2.0
// The pieces of the oracle that its bounds (oracle_bounds.cpp) are computed with, too. Files that include this are
// compiled with -ffp-contract=off and without -ffast-math.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/stop.h"
#include "cpu_reference/attention_case.h"
#include "cpu_reference/compensated.h"
#include "cpu_reference/oracle.h"

namespace splitwave::cpu_reference::oracle {

inline constexpr std::int32_t kLanes = 8;         // independent sums that the compiler turns into vectors
inline constexpr std::int32_t kBlockTokens = 64;  // K or V rows converted to double at a time
inline constexpr std::int32_t kRowsAhead = 16;    // that the memory is asked for before they are converted
inline constexpr std::int32_t kTaskRows = 4;      // output rows that share a converted block

inline std::int32_t padded(std::int32_t elements) {
  return (elements + kLanes - 1) / kLanes * kLanes;
}

/// Output rows [row_begin, row_end) of one KV head of one request; row r is query r / group of head r % group.
struct Task {
  std::int32_t request = 0;
  std::int32_t kv_head = 0;
  std::int32_t row_begin = 0;
  std::int32_t row_end = 0;
};

std::vector<Task> all_tasks(const AttentionCase& attention);

/// State of one output row while it is computed.
struct Row {
  workloads::KvRange visible;
  std::vector<double> q;           ///< with the sign of the softmax scale, so that the scale itself is positive
  std::vector<DoublePair> scores;  ///< q · k of the visible tokens, before the scale; the mask is added
  std::vector<double> weights;     ///< e^(scale * (score - largest score))
  std::vector<double> sum;         ///< of weight * v, per output element
  std::vector<double> error;
  double largest = 0;  ///< the largest score, scaled
  double total = 0;    ///< sum of the weights
  double lse = 0;
};

/// What one thread works in, large enough for any task of the case.
struct Scratch {
  std::array<Row, kTaskRows> rows;
  std::vector<double> block;
  explicit Scratch(const AttentionCase& attention);
};

/// Everything that the steps of one task share.
struct TaskRun {
  const AttentionCase& attention;
  const Task& task;
  std::span<Row> rows;
  std::vector<double>& block;

  std::int32_t query(std::size_t row) const {
    return (task.row_begin + static_cast<std::int32_t>(row)) / attention.geometry.group();
  }
  std::int32_t head(std::size_t row) const {
    const std::int32_t group = attention.geometry.group();
    return task.kv_head * group + (task.row_begin + static_cast<std::int32_t>(row)) % group;
  }
};

/// Converts K (or V) block by block and hands each block to `step(row, index of the row, tokens, block row of the first
/// token)` for every row that sees some of it.
template <typename Step>
void for_blocks(const TaskRun& run, const Elements& tensor, const KvPlaces& places, std::int32_t elements, Step step) {
  workloads::KvRange all = run.rows.front().visible;
  for (const Row& row : run.rows) {
    if (row.visible.size() == 0) continue;
    all = all.size() == 0
              ? row.visible
              : workloads::KvRange{std::min(all.begin, row.visible.begin), std::max(all.end, row.visible.end)};
  }
  const std::int64_t stride = padded(elements);
  std::fill(run.block.begin(), run.block.end(), 0.0);  // the padding
  for (std::int32_t begin = all.begin; begin < all.end && !base::stop_asked(); begin += kBlockTokens) {
    const std::int32_t end = std::min(begin + kBlockTokens, all.end);
    for (std::int32_t token = begin; token < end; ++token) {
      const auto first_of = [&](std::int32_t row) {
        return kv_offset(run.attention, places, run.task.request, row, run.task.kv_head);
      };
      // Rows of one head lie apart, so that no hardware sees which comes next, and half the time would be waiting.
      if (token + kRowsAhead < all.end) ask_for_elements(tensor, first_of(token + kRowsAhead), elements);
      const std::int64_t first = first_of(token);
      load_elements(tensor, first, elements, run.block.data() + (token - begin) * stride);
    }
    for (std::size_t r = 0; r < run.rows.size(); ++r) {
      Row& row = run.rows[r];
      const workloads::KvRange seen{std::max(begin, row.visible.begin), std::min(end, row.visible.end)};
      if (seen.size() > 0) step(row, r, seen, run.block.data() + (seen.begin - begin) * stride);
    }
  }
}

/// Computes a task's rows and writes them into the result.
void run_task(const TaskRun& run, Result<double>& result);

/// Threads that for_tasks() uses.
int task_threads(const AttentionCase& attention);

/// Runs `work(task run, thread)` for every task: a task by one thread, in any order.
void for_tasks(const AttentionCase& attention, const std::function<void(const TaskRun&, int)>& work);

}  // namespace splitwave::cpu_reference::oracle
