// SPDX-License-Identifier: Apache-2.0
#include "cpu_reference/oracle_bounds.h"

#include <cmath>
#include <limits>

#include "cpu_reference/oracle_task.h"
#include "cpu_reference/rounding.h"

namespace splitwave::cpu_reference {
namespace {

using oracle::kLanes;
using oracle::padded;
using oracle::Row;
using oracle::TaskRun;
using workloads::KvRange;

/// Additions in fp32 of n weights: FlashAttention's threads add tiles of 8 columns or more; what is left of a random
/// walk is far below 16 of its standard deviations.
double weight_sum_steps(double tokens) {
  return std::min(tokens, tokens / 8 + 16 * std::sqrt(tokens));
}

/// Per token of a row: the most that its weight times |v| can be wrong, its weight in a plain implementation.
struct TokenTerms {
  std::vector<double> key_norm;
  std::vector<double> error;
  std::vector<double> plain;
  double weight_error = 0;     ///< sum of the relative errors of the weights, weighted
  double weights_squared = 0;  ///< sum of the squares of the normalised weights
};

/// Sums per output element.
struct ElementSums {
  std::vector<double> error;      ///< of TokenTerms::error * |v|
  std::vector<double> squares;    ///< of weight^2 * v^2
  std::vector<double> running;    ///< of weight * v
  std::vector<double> magnitude;  ///< the largest |running|
  std::vector<double> plain;
  std::vector<float> plain_f32;
};

/// Norms of the K rows that each row sees, which bound how wrong a score can be.
void measure_keys(const TaskRun& run, std::array<TokenTerms, oracle::kTaskRows>& terms) {
  const std::int32_t elements = run.attention.geometry.head_dim;
  const std::int64_t stride = padded(elements);
  oracle::for_blocks(run, run.attention.k, run.attention.k_rows, elements,
                     [&](Row& row, std::size_t r, KvRange tokens, const double* keys) {
                       double* norm = terms[r].key_norm.data() + (tokens.begin - row.visible.begin);
                       for (std::int32_t i = 0; i < tokens.size(); ++i) {
                         std::array<double, kLanes> sum{};
                         for (std::int64_t e = 0; e < stride; e += kLanes) {
                           for (std::int32_t lane = 0; lane < kLanes; ++lane) {
                             const double x = keys[i * stride + e + lane];
                             sum[lane] += x * x;
                           }
                         }
                         double total = 0;
                         for (const double lane : sum) total += lane;
                         norm[i] = std::sqrt(total);
                       }
                     });
}

double norm(const std::vector<double>& x) {
  double sum = 0;
  for (const double element : x) sum += element * element;
  return std::sqrt(sum);
}

/// Fills error and the weights' own sums of a row.
void bound_weights(const AttentionCase& attention, const RoundingModel& model, const Row& row, TokenTerms& terms) {
  const double scale = std::abs(attention.geometry.scale());
  const double reach = scale * norm(row.q);
  const double per_norm = reach * (model.arithmetic * attention.geometry.head_dim + 2 * model.inputs);
  // exp2 of the hardware is good to 2 ulp; its argument is rounded when scaled and when the maximum is subtracted.
  const double fixed = 8 * model.arithmetic + 4 * model.arithmetic * std::abs(row.largest);
  terms.weight_error = 0;
  terms.weights_squared = 0;
  for (std::int32_t i = 0; i < row.visible.size(); ++i) {
    const double weight = row.weights[i];
    if (weight == 0) {
      terms.error[i] = 0;
      continue;
    }
    const double below = scale * std::abs(row.scores[i].high) - std::abs(row.largest);
    const double relative = per_norm * terms.key_norm[i] + fixed + 2 * model.arithmetic * std::max(below, 0.0);
    terms.error[i] = weight * (model.weights + model.inputs + relative + 4 * model.arithmetic) + model.weights_floor;
    terms.weight_error += weight * relative;
    terms.weights_squared += weight * weight;
  }
  terms.weight_error /= row.total;
  terms.weights_squared /= row.total * row.total;
}

/// The weights of a plain implementation: scores, then normalised weights, rounded to its type.
void plain_weights(const AttentionCase& attention, const RoundingModel& model, const Row& row, TokenTerms& terms) {
  const double scale = std::abs(attention.geometry.scale());
  const std::int32_t count = row.visible.size();
  double largest = -std::numeric_limits<double>::infinity();
  for (std::int32_t i = 0; i < count; ++i) {
    terms.plain[i] = rounded(model.plain, scale * row.scores[i].high);
    largest = std::max(largest, terms.plain[i]);
  }
  double total = 0;
  for (std::int32_t i = 0; i < count; ++i) {
    terms.plain[i] = std::exp(terms.plain[i] - largest);
    total += terms.plain[i];
  }
  for (std::int32_t i = 0; i < count; ++i) terms.plain[i] = rounded(model.plain, terms.plain[i] / total);
}

/// Adds the tokens of a block to the sums of kLanes elements from `first` on.
void add_block(const Row& row, const TokenTerms& terms, KvRange tokens, const double* values, std::int64_t stride,
               std::int64_t first, ElementSums& sums) {
  const std::int32_t at = tokens.begin - row.visible.begin;
  std::array<double, kLanes> error{};
  std::array<double, kLanes> squares{};
  std::array<double, kLanes> running{};
  std::array<double, kLanes> plain{};
  for (std::int32_t i = 0; i < tokens.size(); ++i) {
    const double* const value = values + i * stride + first;
    const double weight = row.weights[at + i];
    const double token_error = terms.error[at + i];
    const double plain_weight = terms.plain[at + i];
    for (std::int32_t lane = 0; lane < kLanes; ++lane) {
      const double product = weight * value[lane];
      error[lane] += token_error * std::abs(value[lane]);
      squares[lane] += product * product;
      running[lane] += product;
      plain[lane] += plain_weight * value[lane];
    }
  }
  for (std::int32_t lane = 0; lane < kLanes; ++lane) {
    sums.error[first + lane] += error[lane];
    sums.squares[first + lane] += squares[lane];
    sums.running[first + lane] += running[lane];
    sums.magnitude[first + lane] = std::max(sums.magnitude[first + lane], std::abs(sums.running[first + lane]));
    // A block's products in one go, then one fp32 addition: the order of a tile kernel.
    sums.plain[first + lane] += plain[lane];
    sums.plain_f32[first + lane] += static_cast<float>(plain[lane]);
  }
}

class Bounder {
 public:
  Bounder(const AttentionCase& attention, const RoundingModel& model) : attention_(attention), model_(model) {
    std::int32_t longest = 0;
    for (const workloads::Request& request : attention.requests) longest = std::max(longest, request.context_len);
    const std::int32_t elements = padded(attention.geometry.value_dim);
    for (std::size_t r = 0; r < terms_.size(); ++r) {
      for (auto* each : {&terms_[r].key_norm, &terms_[r].error, &terms_[r].plain}) each->resize(longest);
      for (auto* each : {&sums_[r].error, &sums_[r].squares, &sums_[r].running, &sums_[r].magnitude, &sums_[r].plain}) {
        each->resize(elements);
      }
      sums_[r].plain_f32.resize(elements);
    }
  }

  /// After oracle::run_task.
  void add(const TaskRun& run, BoundedResult& result) {
    measure_keys(run, terms_);
    for (std::size_t r = 0; r < run.rows.size(); ++r) {
      bound_weights(attention_, model_, run.rows[r], terms_[r]);
      plain_weights(attention_, model_, run.rows[r], terms_[r]);
      for (auto* each : {&sums_[r].error, &sums_[r].squares, &sums_[r].running, &sums_[r].magnitude, &sums_[r].plain}) {
        std::fill(each->begin(), each->end(), 0.0);
      }
      std::fill(sums_[r].plain_f32.begin(), sums_[r].plain_f32.end(), 0.0F);
    }
    const std::int64_t stride = padded(attention_.geometry.value_dim);
    oracle::for_blocks(run, attention_.v, attention_.v_rows, attention_.geometry.value_dim,
                       [&](Row& row, std::size_t r, KvRange tokens, const double* values) {
                         for (std::int64_t e = 0; e < stride; e += kLanes) {
                           add_block(row, terms_[r], tokens, values, stride, e, sums_[r]);
                         }
                       });
    for (std::size_t r = 0; r < run.rows.size(); ++r) finish(run, r, result);
  }

 private:
  void finish(const TaskRun& run, std::size_t r, BoundedResult& result) const {
    const Row& row = run.rows[r];
    const TokenTerms& terms = terms_[r];
    const ElementSums& sums = sums_[r];
    const std::int64_t index = attention_.row(run.task.request, run.query(r), run.head(r));
    const std::int32_t elements = attention_.geometry.value_dim;
    if (row.total == 0) return;  // everything stays 0
    const double tokens = row.visible.size();
    const double sum_error =
        terms.weight_error + model_.arithmetic * weight_sum_steps(tokens) + model_.weights_floor * tokens / row.total;
    const double total_error = sum_error + model_.weights + 2 * model_.arithmetic;
    double squared = 0;
    for (std::int32_t e = 0; e < elements; ++e) {
      const std::int64_t i = index * elements + e;
      // Partial sums lie between two prefixes, whatever the order of contiguous parts.
      const double accumulation = 2 * model_.arithmetic * tokens * sums.magnitude[e];
      result.bound[i] = (sums.error[e] + accumulation) / row.total + std::abs(result.exact.output[i]) * total_error;
      result.plain[i] = model_.plain == base::ElementType::f64 ? sums.plain[e] : static_cast<double>(sums.plain_f32[e]);
      squared += model_.weights * model_.weights / 3 * sums.squares[e] / (row.total * row.total);
    }
    result.expected_squared_error[index] = squared;
    // Sums of rounded weights, which some kernels take: their roundings average out.
    result.lse_bound[index] = sum_error + 4 * model_.weights * std::sqrt(terms.weights_squared) +
                              4 * model_.arithmetic * (1 + std::abs(row.lse) + std::abs(row.largest));
  }

  const AttentionCase& attention_;
  const RoundingModel& model_;
  std::array<TokenTerms, oracle::kTaskRows> terms_;
  std::array<ElementSums, oracle::kTaskRows> sums_;
};

}  // namespace

BoundedResult attend_with_bounds(const AttentionCase& attention, const RoundingModel& model) {
  BoundedResult result;
  const std::int64_t rows = attention.rows();
  const std::int64_t elements = rows * attention.geometry.value_dim;
  result.exact.output.resize(elements);
  result.exact.lse.resize(rows);
  result.bound.resize(elements);
  result.plain.resize(elements);
  result.lse_bound.resize(rows);
  result.expected_squared_error.resize(rows);
  std::vector<Bounder> bounders(oracle::task_threads(attention), Bounder(attention, model));
  oracle::for_tasks(attention, [&](const TaskRun& run, int thread) {
    oracle::run_task(run, result.exact);
    bounders[thread].add(run, result);
  });
  return result;
}

}  // namespace splitwave::cpu_reference
