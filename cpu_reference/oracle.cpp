// SPDX-License-Identifier: Apache-2.0
#include "cpu_reference/oracle.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>

#include "base/parallel.h"
#include "base/stop.h"
#include "cpu_reference/compensated.h"

namespace splitwave::cpu_reference {
namespace {

using workloads::Dtype;
using workloads::KvRange;

constexpr std::int32_t kLanes = 8;         // independent sums that the compiler turns into vectors
constexpr std::int32_t kBlockTokens = 64;  // K or V rows converted to double at a time
constexpr std::int32_t kTaskRows = 4;      // output rows that share a converted block
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::int32_t padded(std::int32_t elements) {
  return (elements + kLanes - 1) / kLanes * kLanes;
}

/// The value of every bit pattern of a 16-bit dtype.
std::vector<float> all_values(Dtype dtype) {
  std::vector<float> values(65536);
  for (std::uint32_t bits = 0; bits < 65536; ++bits) values[bits] = workloads::from_bits(dtype, bits);
  return values;
}

/// Converts stored elements to double, which is exact for every dtype.
void load(Dtype dtype, const workloads::Bytes& tensor, std::int64_t first, std::int32_t count, double* to) {
  const std::byte* const from = tensor.data() + first * workloads::bytes_per_element(dtype);
  if (dtype == Dtype::f32) {
    for (std::int32_t i = 0; i < count; ++i) {
      float value = 0;
      std::memcpy(&value, from + i * sizeof(value), sizeof(value));
      to[i] = value;
    }
    return;
  }
  static const std::vector<float> f16_values = all_values(Dtype::f16);
  static const std::vector<float> bf16_values = all_values(Dtype::bf16);
  const std::vector<float>& values = dtype == Dtype::f16 ? f16_values : bf16_values;
  for (std::int32_t i = 0; i < count; ++i) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, from + i * sizeof(bits), sizeof(bits));
    to[i] = values[bits];
  }
}

/// x · y of padded rows. The products of two elements are exact in double for every dtype.
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

/// Output rows [row_begin, row_end) of one KV head of one request; row r is query r / group of head r % group.
struct Task {
  std::int32_t request = 0;
  std::int32_t kv_head = 0;
  std::int32_t row_begin = 0;
  std::int32_t row_end = 0;
};

std::vector<Task> all_tasks(const workloads::Workload& workload) {
  std::vector<Task> tasks;
  for (std::size_t request = 0; request < workload.requests.size(); ++request) {
    const std::int32_t rows = workload.requests[request].query_len * workload.geometry.group();
    for (std::int32_t kv_head = 0; kv_head < workload.geometry.kv_heads; ++kv_head) {
      for (std::int32_t row = 0; row < rows; row += kTaskRows) {
        tasks.push_back({static_cast<std::int32_t>(request), kv_head, row, std::min(row + kTaskRows, rows)});
      }
    }
  }
  return tasks;
}

/// State of one output row while it is computed.
struct Row {
  KvRange visible;
  std::vector<double> q;           ///< with the sign of the softmax scale, so that the scale itself is positive
  std::vector<DoublePair> scores;  ///< q · k of the visible tokens, before the scale
  std::vector<double> weights;     ///< e^(scale * (score - largest score))
  std::vector<double> sum;         ///< of weight * v, per output element
  std::vector<double> error;
};

/// What one thread works in, large enough for any task of the workload.
struct Scratch {
  std::array<Row, kTaskRows> rows;
  std::vector<double> block;

  explicit Scratch(const workloads::Workload& workload) {
    const std::int32_t head_dim = padded(workload.geometry.head_dim);
    const std::int32_t value_dim = padded(workload.geometry.value_dim);
    std::int32_t longest = 0;
    for (const workloads::Request& request : workload.requests) longest = std::max(longest, request.context_len);
    for (Row& row : rows) {
      row.q.resize(head_dim);
      row.scores.resize(longest);
      row.weights.resize(longest);
      row.sum.resize(value_dim);
      row.error.resize(value_dim);
    }
    block.resize(static_cast<std::size_t>(kBlockTokens) * std::max(head_dim, value_dim));
  }
};

/// Everything that the steps of one task share.
struct TaskRun {
  const workloads::Workload& workload;
  const workloads::Tensors& tensors;
  const Task& task;
  std::span<Row> rows;
  std::vector<double>& block;

  std::int32_t query(std::size_t row) const {
    return (task.row_begin + static_cast<std::int32_t>(row)) / workload.geometry.group();
  }
  std::int32_t head(std::size_t row) const {
    const std::int32_t group = workload.geometry.group();
    return task.kv_head * group + (task.row_begin + static_cast<std::int32_t>(row)) % group;
  }
};

void start_rows(const TaskRun& run) {
  const workloads::Geometry& geometry = run.workload.geometry;
  const double sign = geometry.scale() < 0 ? -1 : 1;
  for (std::size_t r = 0; r < run.rows.size(); ++r) {
    Row& row = run.rows[r];
    row.visible = visible_to_query(geometry, run.workload.requests[run.task.request], run.query(r));
    const std::int64_t first = q_row(run.workload, run.tensors, run.task.request, run.query(r), run.head(r));
    load(geometry.dtype, run.tensors.q, first, geometry.head_dim, row.q.data());
    for (double& element : row.q) element *= sign;
    std::fill(row.sum.begin(), row.sum.end(), 0.0);
    std::fill(row.error.begin(), row.error.end(), 0.0);
  }
}

/// Converts K (or V) block by block and hands each block to `step(row, tokens, first, block row of first)` for every
/// row that sees some of it.
template <typename RowOffset, typename Step>
void for_blocks(const TaskRun& run, const workloads::Bytes& tensor, std::int32_t elements, RowOffset row_offset,
                Step step) {
  KvRange all = run.rows.front().visible;
  for (const Row& row : run.rows) {
    if (row.visible.size() == 0) continue;
    all = all.size() == 0 ? row.visible
                          : KvRange{std::min(all.begin, row.visible.begin), std::max(all.end, row.visible.end)};
  }
  const std::int64_t stride = padded(elements);
  std::fill(run.block.begin(), run.block.end(), 0.0);  // the padding
  for (std::int32_t begin = all.begin; begin < all.end && !base::stop_asked(); begin += kBlockTokens) {
    const std::int32_t end = std::min(begin + kBlockTokens, all.end);
    for (std::int32_t token = begin; token < end; ++token) {
      const std::int64_t first = row_offset(run.workload, run.tensors, run.task.request, token, run.task.kv_head);
      load(run.workload.geometry.dtype, tensor, first, elements, run.block.data() + (token - begin) * stride);
    }
    for (Row& row : run.rows) {
      const KvRange seen{std::max(begin, row.visible.begin), std::min(end, row.visible.end)};
      if (seen.size() > 0) step(row, seen, run.block.data() + (seen.begin - begin) * stride);
    }
  }
}

void score_keys(const TaskRun& run) {
  const std::int32_t elements = run.workload.geometry.head_dim;
  const std::int64_t stride = padded(elements);
  for_blocks(run, run.tensors.k, elements, workloads::k_row, [stride](Row& row, KvRange tokens, const double* keys) {
    DoublePair* scores = row.scores.data() + (tokens.begin - row.visible.begin);
    for (std::int32_t i = 0; i < tokens.size(); ++i) scores[i] = dot(row.q.data(), keys + i * stride, stride);
  });
}

void add_values(const TaskRun& run) {
  const bool mla = run.workload.geometry.kind == workloads::AttentionKind::mla;
  const std::int32_t elements = run.workload.geometry.value_dim;
  const std::int64_t stride = padded(elements);
  const workloads::Bytes& tensor = mla ? run.tensors.k : run.tensors.v;
  for_blocks(run, tensor, elements, workloads::v_row, [stride](Row& row, KvRange tokens, const double* values) {
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
  });
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

struct RowWeights {
  double lse = -kInfinity;
  double sum = 0;
};

/// Turns scores into weights. Scores are subtracted before they are scaled, so that a weight is exact to a few units
/// in the last place however large the scores are.
RowWeights weigh(Row& row, double scale) {
  const std::span<const DoublePair> scores = std::span(row.scores).first(row.visible.size());
  const DoublePair max = largest(scores);
  if (!std::isfinite(max.high)) {
    // Every score is -inf: all weights are 0. NaN or +inf among the scores: the softmax is not defined.
    const bool nothing = max.high < 0;
    std::fill_n(row.weights.begin(), scores.size(), nothing ? 0 : kNan);
    return {nothing ? -kInfinity : kNan, nothing ? 0 : kNan};
  }
  double sum = 0;
  double error = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    row.weights[i] = std::exp(scale * ((scores[i].high - max.high) + (scores[i].low - max.low)));
    add_compensated(sum, error, row.weights[i]);
  }
  const double total = to_pair(sum, error).high;
  return {scale * max.high + std::log(total), total};
}

void run_task(const TaskRun& run, Result<double>& result) {
  const workloads::Geometry& geometry = run.workload.geometry;
  start_rows(run);
  score_keys(run);
  std::array<RowWeights, kTaskRows> weights;
  for (std::size_t r = 0; r < run.rows.size(); ++r) {
    weights[r] = weigh(run.rows[r], std::abs(geometry.scale()));
  }
  add_values(run);
  for (std::size_t r = 0; r < run.rows.size(); ++r) {
    const Row& row = run.rows[r];
    const std::int64_t token = run.tensors.first_query[run.task.request] + run.query(r);
    const std::int64_t index = token * geometry.query_heads + run.head(r);
    result.lse[index] = weights[r].lse;
    const double total = weights[r].sum;
    for (std::int32_t e = 0; e < geometry.value_dim; ++e) {
      const double sum = to_pair(row.sum[e], row.error[e]).high;
      result.output[index * geometry.value_dim + e] = total == 0 ? 0 : sum / total;
    }
  }
}

}  // namespace

Result<double> attend(const workloads::Workload& workload, const workloads::Tensors& tensors) {
  const workloads::Geometry& geometry = workload.geometry;
  Result<double> result;
  const std::int64_t rows = tensors.first_query.back() * geometry.query_heads;
  result.output.resize(rows * geometry.value_dim);
  result.lse.resize(rows);
  const std::vector<Task> tasks = all_tasks(workload);
  const std::int64_t count = static_cast<std::int64_t>(tasks.size());
  const int threads =
      static_cast<int>(std::min<std::int64_t>(std::max<std::int64_t>(count, 1), base::default_threads()));
  std::vector<Scratch> scratch(threads, Scratch(workload));
  std::atomic<std::int64_t> next = 0;
  // Each row is computed by one thread in a fixed order, so that the number of threads does not change a bit of it.
  base::parallel(threads, [&](int thread, int) {
    Scratch& own = scratch[thread];
    for (std::int64_t i = next++; i < count && !base::stop_asked(); i = next++) {
      const std::span<Row> task_rows = std::span(own.rows).first(tasks[i].row_end - tasks[i].row_begin);
      run_task({workload, tensors, tasks[i], task_rows, own.block}, result);
    }
  });
  base::stop_if_asked();
  return result;
}

}  // namespace splitwave::cpu_reference
