// SPDX-License-Identifier: Apache-2.0
#include "cpu_reference/oracle.h"

#include <atomic>
#include <cmath>
#include <limits>

#include "base/parallel.h"
#include "base/stop.h"
#include "cpu_reference/oracle_task.h"

namespace splitwave::cpu_reference {
namespace oracle {
namespace {

using workloads::KvRange;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// x · y of padded rows. The products of two elements of any dtype of workloads are exact in double; those of f64
/// arrays, which verify takes, are rounded, once each.
DoublePair dot(const double* x, const double* y, std::int64_t elements) {
  std::array<double, kLanes> sum{};
  std::array<double, kLanes> error{};
  for (std::int64_t i = 0; i < elements; i += kLanes) {
    for (std::int32_t lane = 0; lane < kLanes; ++lane) {
      add_compensated(sum[lane], error[lane], x[i + lane] * y[i + lane]);
    }
  }
  double total = 0;
  double total_error = 0;
  for (std::int32_t lane = 0; lane < kLanes; ++lane) add_compensated(total, total_error, sum[lane]);
  for (std::int32_t lane = 0; lane < kLanes; ++lane) total_error += error[lane];
  return to_pair(total, total_error);
}

void start_rows(const TaskRun& run) {
  const workloads::Geometry& geometry = run.attention.geometry;
  const double sign = geometry.scale() < 0 ? -1 : 1;
  for (std::size_t r = 0; r < run.rows.size(); ++r) {
    Row& row = run.rows[r];
    row.visible = visible_to_query(geometry, run.attention.requests[run.task.request], run.query(r));
    const std::int64_t first = run.attention.q_rows.at(run.task.request, run.query(r), run.head(r));
    load_elements(run.attention.q, first, geometry.head_dim, row.q.data());
    for (double& element : row.q) element *= sign;
    std::fill(row.sum.begin(), row.sum.end(), 0.0);
    std::fill(row.error.begin(), row.error.end(), 0.0);
  }
}

/// Adds the mask to a row's scores, which are not scaled yet: what is added is divided by the scale.
void add_mask(const TaskRun& run, std::size_t r) {
  const Mask& mask = *run.attention.mask;
  const double scale = std::abs(run.attention.geometry.scale());
  Row& row = run.rows[r];
  for (std::int32_t i = 0; i < row.visible.size(); ++i) {
    const double value = mask_value(mask, run.task.request, run.head(r), run.query(r), row.visible.begin + i);
    if (value == 0) continue;
    DoublePair& score = row.scores[static_cast<std::size_t>(i)];
    if (value == -kInfinity) {
      score = {-kInfinity, 0};
      continue;
    }
    double sum = score.high;
    double error = score.low;
    add_compensated(sum, error, value / scale);
    score = to_pair(sum, error);
  }
}

void score_keys(const TaskRun& run) {
  const std::int32_t elements = run.attention.geometry.head_dim;
  const std::int64_t stride = padded(elements);
  for_blocks(run, run.attention.k, run.attention.k_rows, elements,
             [stride](Row& row, std::size_t, KvRange tokens, const double* keys) {
               DoublePair* scores = row.scores.data() + (tokens.begin - row.visible.begin);
               for (std::int32_t i = 0; i < tokens.size(); ++i)
                 scores[i] = dot(row.q.data(), keys + i * stride, stride);
             });
  if (!run.attention.mask) return;
  for (std::size_t r = 0; r < run.rows.size(); ++r) add_mask(run, r);
}

void add_values(const TaskRun& run) {
  const std::int32_t elements = run.attention.geometry.value_dim;
  const std::int64_t stride = padded(elements);
  const auto add = [stride](Row& row, std::size_t, KvRange tokens, const double* values) {
    const double* weights = row.weights.data() + (tokens.begin - row.visible.begin);
    for (std::int64_t e = 0; e < stride; e += kLanes) {
      std::array<double, kLanes> sum{};
      std::array<double, kLanes> error{};
      std::copy_n(row.sum.begin() + e, kLanes, sum.begin());
      std::copy_n(row.error.begin() + e, kLanes, error.begin());
      for (std::int32_t i = 0; i < tokens.size(); ++i) {
        const double* const value = values + i * stride + e;
        for (std::int32_t lane = 0; lane < kLanes; ++lane) {
          add_compensated(sum[lane], error[lane], weights[i] * value[lane]);
        }
      }
      std::copy_n(sum.begin(), kLanes, row.sum.begin() + e);
      std::copy_n(error.begin(), kLanes, row.error.begin() + e);
    }
  };
  for_blocks(run, run.attention.v, run.attention.v_rows, elements, add);
}

/// The largest score; {NaN, 0} if there is a NaN, {-inf, 0} if there are no scores.
DoublePair largest(std::span<const DoublePair> scores) {
  DoublePair max{-kInfinity, 0};
  for (const DoublePair& score : scores) {
    if (std::isnan(score.high)) return {kNan, 0};
    if (score.high > max.high || (score.high == max.high && score.low > max.low)) max = score;
  }
  return max;
}

/// Turns scores into weights. Scores are subtracted before they are scaled, so that a weight is exact to a few units
/// in the last place however large the scores are.
void weigh(Row& row, double scale) {
  const std::span<const DoublePair> scores = std::span(row.scores).first(row.visible.size());
  const DoublePair max = largest(scores);
  if (!std::isfinite(max.high)) {
    // Every score is -inf: all weights are 0. NaN or +inf among the scores: the softmax is not defined.
    const bool nothing = max.high < 0;
    std::fill_n(row.weights.begin(), scores.size(), nothing ? 0 : kNan);
    row.largest = nothing ? -kInfinity : kNan;
    row.lse = row.largest;
    row.total = nothing ? 0 : kNan;
    return;
  }
  double sum = 0;
  double error = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    row.weights[i] = std::exp(scale * ((scores[i].high - max.high) + (scores[i].low - max.low)));
    add_compensated(sum, error, row.weights[i]);
  }
  row.total = to_pair(sum, error).high;
  row.largest = scale * max.high;
  row.lse = row.largest + std::log(row.total);
}

}  // namespace

std::vector<Task> all_tasks(const AttentionCase& attention) {
  std::vector<Task> tasks;
  for (std::size_t request = 0; request < attention.requests.size(); ++request) {
    const std::int32_t rows = attention.requests[request].query_len * attention.geometry.group();
    for (std::int32_t kv_head = 0; kv_head < attention.geometry.kv_heads; ++kv_head) {
      for (std::int32_t row = 0; row < rows; row += kTaskRows) {
        tasks.push_back({static_cast<std::int32_t>(request), kv_head, row, std::min(row + kTaskRows, rows)});
      }
    }
  }
  return tasks;
}

Scratch::Scratch(const AttentionCase& attention) {
  const std::int32_t head_dim = padded(attention.geometry.head_dim);
  const std::int32_t value_dim = padded(attention.geometry.value_dim);
  std::int32_t longest = 0;
  for (const workloads::Request& request : attention.requests) longest = std::max(longest, request.context_len);
  for (Row& row : rows) {
    row.q.resize(head_dim);
    row.scores.resize(longest);
    row.weights.resize(longest);
    row.sum.resize(value_dim);
    row.error.resize(value_dim);
  }
  block.resize(static_cast<std::size_t>(kBlockTokens) * std::max(head_dim, value_dim));
}

void run_task(const TaskRun& run, Result<double>& result) {
  const workloads::Geometry& geometry = run.attention.geometry;
  start_rows(run);
  score_keys(run);
  for (Row& row : run.rows) weigh(row, std::abs(geometry.scale()));
  add_values(run);
  for (std::size_t r = 0; r < run.rows.size(); ++r) {
    const Row& row = run.rows[r];
    const std::int64_t index = run.attention.row(run.task.request, run.query(r), run.head(r));
    result.lse[index] = row.lse;
    for (std::int32_t e = 0; e < geometry.value_dim; ++e) {
      const double sum = to_pair(row.sum[e], row.error[e]).high;
      result.output[index * geometry.value_dim + e] = row.total == 0 ? 0 : sum / row.total;
    }
  }
}

int task_threads(const AttentionCase& attention) {
  const auto count = static_cast<std::int64_t>(all_tasks(attention).size());
  return static_cast<int>(std::min<std::int64_t>(std::max<std::int64_t>(count, 1), base::default_threads()));
}

void for_tasks(const AttentionCase& attention, const std::function<void(const TaskRun&, int)>& work) {
  const std::vector<Task> tasks = all_tasks(attention);
  const std::int64_t count = static_cast<std::int64_t>(tasks.size());
  const int threads = task_threads(attention);
  std::vector<Scratch> scratch(threads, Scratch(attention));
  std::atomic<std::int64_t> next = 0;
  // Each row is computed by one thread in a fixed order, so that the number of threads does not change a bit of it.
  base::parallel(threads, [&](int thread, int) {
    Scratch& own = scratch[thread];
    for (std::int64_t i = next++; i < count && !base::stop_asked(); i = next++) {
      const std::span<Row> task_rows = std::span(own.rows).first(tasks[i].row_end - tasks[i].row_begin);
      work({attention, tasks[i], task_rows, own.block}, thread);
    }
  });
  base::stop_if_asked();
}

}  // namespace oracle

Result<double> attend(const AttentionCase& attention) {
  Result<double> result;
  result.output.resize(attention.rows() * attention.geometry.value_dim);
  result.lse.resize(attention.rows());
  oracle::for_tasks(attention, [&](const oracle::TaskRun& run, int) { oracle::run_task(run, result); });
  return result;
}

Result<double> attend(const workloads::Workload& workload, const workloads::Tensors& tensors) {
  return attend(make_case(workload, tensors));
}

}  // namespace splitwave::cpu_reference
