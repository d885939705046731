// SPDX-License-Identifier: Apache-2.0
#include "cpu_reference/numerics/emulate.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "cpu_reference/attention_case.h"
#include "cpu_reference/numerics/operands.h"
#include "cpu_reference/numerics/walk.h"

namespace splitwave::cpu_reference::numerics {
namespace {

using workloads::KvRange;

constexpr std::size_t kLanes = 8;  ///< independent sums of a dot product or a tile's weights

template <typename Real>
constexpr Real kNothing = -std::numeric_limits<Real>::infinity();

/// One row of one item while it is computed.
template <typename Real>
struct Part {
  Real max = kNothing<Real>;  ///< largest score
  Real sum = 0;               ///< of the weights, times 2^weight_exponent
  Real divisor = 0;           ///< that normalises the output
  std::vector<Real> output;
};

/// Runs one output tile of the plan.
template <typename Real>
class OutputRun {
 public:
  OutputRun(const workloads::Workload& workload, const Operands& operands, const Rounding& rounding,
            const schedules::OutputTile& output)
      : workload_(workload), operands_(operands), r_(rounding), tile_(output) {
    const double scale = std::abs(workload.geometry.scale());
    scores_rounded_ = r_.scores != r_.arithmetic;
    natural_ = static_cast<Real>(scores_rounded_ ? 1 : scale);
    scale_ = static_cast<Real>(scale);
    base_two_ = static_cast<Real>((scores_rounded_ ? 1 : scale) * std::numbers::log2e);
    Rows queries =
        operands.queries(output.request, output.head_begin, output.head_count, output.row_begin, output.row_end);
    operands.round(Operand::q, queries);
    queries_ = narrowed(queries);
  }

  void run(const std::vector<schedules::Item>& items, std::int32_t tile_kv, std::int64_t first_query,
           Result<double>& result) {
    std::vector<std::vector<Part<Real>>> parts;
    parts.reserve(items.size());
    for (const schedules::Item& item : items) parts.push_back(run_item(item, tile_kv));
    for (std::int32_t row = 0; row < tile_.rows(); ++row) {
      std::vector<Part<Real>*> of_row;
      of_row.reserve(parts.size());
      for (auto& part : parts) of_row.push_back(&part[static_cast<std::size_t>(row)]);
      const std::int64_t tile_row = tile_.row_begin + row;
      const std::int64_t index = (first_query + tile_row / tile_.head_count) * workload_.geometry.query_heads +
                                 tile_.head_begin + tile_row % tile_.head_count;
      std::vector<Real> output;
      const Real lse = of_row.size() == 1                           ? finish_alone(*of_row.front(), output)
                       : r_.partial_form == PartialForm::normalised ? merge_normalised(of_row, output)
                                                                    : merge_raw(of_row, output);
      result.lse[static_cast<std::size_t>(index)] = lse;
      double* const to = result.output.data() + index * workload_.geometry.value_dim;
      for (std::size_t e = 0; e < output.size(); ++e) to[e] = round_to(r_.output, output[e]);
    }
  }

 private:
  static std::vector<Real> narrowed(const Rows& rows) { return {rows.values.begin(), rows.values.end()}; }

  Real exponential(Real score, Real max) const {
    if (r_.exponential == Exponential::exp2) return std::exp2(std::fma(score, base_two_, -max * base_two_));
    return std::exp(score * natural_ - max * natural_);
  }

  /// What sums relative to one maximum are multiplied with to be relative to another: exactly 1 where it stays.
  Real ratio(Real from, Real to) const {
    return r_.exponential == Exponential::exp2 ? std::exp2((from - to) * base_two_) : std::exp((from - to) * natural_);
  }

  std::vector<Part<Real>> run_item(const schedules::Item& item, std::int32_t tile_kv) {
    std::vector<Part<Real>> parts(static_cast<std::size_t>(tile_.rows()));
    for (Part<Real>& part : parts) part.output.resize(static_cast<std::size_t>(workload_.geometry.value_dim));
    for (const KvRange tile : tiles_of(item, tile_kv, r_)) run_tile(tile, parts);
    return parts;
  }

  void run_tile(KvRange tile, std::vector<Part<Real>>& parts) {
    weights_.resize(parts.size() * static_cast<std::size_t>(tile.size()));
    for_chunks(tile, [&](KvRange chunk) { score_chunk(tile, chunk); });
    for (std::size_t row = 0; row < parts.size(); ++row) {
      const KvRange seen = intersection(visible_to_row(workload_, tile_, static_cast<std::int32_t>(row)), tile);
      if (seen.size() == 0) continue;
      Real* const begin = weights_of(row, tile, seen.begin);
      weigh({begin, static_cast<std::size_t>(seen.size())}, parts[row]);
    }
    for_chunks(tile, [&](KvRange chunk) { add_chunk(tile, chunk, parts); });
  }

  Real* weights_of(std::size_t row, KvRange tile, std::int32_t token) {
    return weights_.data() + row * static_cast<std::size_t>(tile.size()) + (token - tile.begin);
  }

  Rows tokens(Operand operand, KvRange range) const {
    const std::int32_t kv_head = tile_.head_begin / workload_.geometry.group();
    Rows rows = operands_.tokens(operand, tile_.request, kv_head, range);
    operands_.round(operand, rows);
    return rows;
  }

  static Real dot(const Real* a, const Real* b, std::size_t count) {
    std::array<Real, kLanes> sums{};
    std::size_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
      for (std::size_t lane = 0; lane < kLanes; ++lane) sums[lane] += a[i + lane] * b[i + lane];
    }
    for (; i < count; ++i) sums[i % kLanes] += a[i] * b[i];
    return total(sums);
  }

  static Real total(const std::array<Real, kLanes>& sums) {
    return ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7]));
  }

  void score_chunk(KvRange tile, KvRange chunk) {
    const std::vector<Real> keys = narrowed(tokens(Operand::k, chunk));
    const auto dim = static_cast<std::size_t>(workload_.geometry.head_dim);
    for (std::int32_t row = 0; row < tile_.rows(); ++row) {
      const KvRange seen = intersection(visible_to_row(workload_, tile_, row), chunk);
      const Real* const query = queries_.data() + static_cast<std::size_t>(row) * dim;
      for (std::int32_t token = seen.begin; token < seen.end; ++token) {
        Real score = dot(query, keys.data() + static_cast<std::size_t>(token - chunk.begin) * dim, dim);
        if (scores_rounded_) score = round_to(r_.scores, score * scale_);
        *weights_of(static_cast<std::size_t>(row), tile, token) = score;
      }
    }
  }

  /// Turns scores of a tile into the weights that V is multiplied with; the part's state goes along.
  void weigh(std::span<Real> scores, Part<Real>& part) const {
    Real max = part.max;
    for (const Real score : scores) max = std::max(max, score);
    const Real reference = max == kNothing<Real> ? Real(0) : max;  // -inf - -inf would be NaN
    const Real rescale = part.max == kNothing<Real> ? Real(0) : ratio(part.max, reference);
    if (rescale != 1) {
      part.sum *= rescale;
      for (Real& element : part.output) element = round_to(r_.accumulator, element * rescale);
    }
    part.max = max;
    const Real power = std::ldexp(Real(1), r_.weight_exponent);
    std::array<Real, kLanes> sums{};
    for (std::size_t i = 0; i < scores.size(); ++i) {
      const Real weight = power * exponential(scores[i], reference);
      scores[i] = r_.whole_rows ? weight : round_to(r_.weights, weight);
      sums[i % kLanes] += r_.sum_rounded_weights ? scores[i] : weight;
    }
    part.sum += total(sums);
    part.divisor = part.sum;
    if (!r_.whole_rows) return;
    part.divisor = part.sum == 0 ? Real(0) : power;
    for (Real& weight : scores) weight = part.sum == 0 ? Real(0) : round_to(r_.weights, weight * power / part.sum);
  }

  void add_chunk(KvRange tile, KvRange chunk, std::vector<Part<Real>>& parts) {
    const std::vector<Real> values = narrowed(tokens(Operand::v, chunk));
    const auto dim = static_cast<std::size_t>(workload_.geometry.value_dim);
    const bool rounds = r_.accumulator != r_.arithmetic;
    for (std::size_t row = 0; row < parts.size(); ++row) {
      const KvRange seen = intersection(visible_to_row(workload_, tile_, static_cast<std::int32_t>(row)), chunk);
      std::vector<Real>& output = parts[row].output;
      for (std::int32_t token = seen.begin; token < seen.end; ++token) {
        const Real weight = *weights_of(row, tile, token);
        const Real* const value = values.data() + static_cast<std::size_t>(token - chunk.begin) * dim;
        for (std::size_t e = 0; e < dim; ++e) output[e] += weight * value[e];
        const bool instruction_ends = (token + 1 - tile.begin) % r_.instruction_tokens == 0 || token + 1 == seen.end;
        if (!rounds || !instruction_ends) continue;
        for (Real& element : output) element = round_to(r_.accumulator, element);
      }
    }
  }

  Real lse_of(const Part<Real>& part) const {
    if (part.sum == 0) return kNothing<Real>;
    return part.max * natural_ + std::log(std::ldexp(part.sum, -r_.weight_exponent));
  }

  void normalise(const Part<Real>& part, std::vector<Real>& output) const {
    const Real inverse = part.divisor == 0 ? Real(0) : 1 / part.divisor;
    output = part.output;
    for (Real& element : output) element = part.divisor == 0 ? Real(0) : element * inverse;
  }

  Real finish_alone(const Part<Real>& part, std::vector<Real>& output) const {
    normalise(part, output);
    return lse_of(part);
  }

  /// Flash-Decoding's: outputs weighted by e^(LSE of the part - LSE of all).
  Real merge_normalised(const std::vector<Part<Real>*>& parts, std::vector<Real>& output) const {
    output.assign(parts.front()->output.size(), Real(0));
    std::vector<Real> lses;
    lses.reserve(parts.size());
    for (const Part<Real>* part : parts) lses.push_back(round_to(r_.merge, lse_of(*part)));
    Real max = kNothing<Real>;
    for (const Real lse : lses) max = std::max(max, lse);
    const Real reference = max == kNothing<Real> ? Real(0) : max;
    Real sum = 0;
    for (const Real lse : lses) sum += std::exp(lse - reference);
    if (sum == 0) return kNothing<Real>;
    const Real all = std::log(sum) + reference;
    std::vector<Real> normal;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const Real weight = round_to(r_.merge, std::exp(lses[i] - all));
      normalise(*parts[i], normal);
      for (std::size_t e = 0; e < output.size(); ++e) output[e] += weight * round_to(r_.partials, normal[e]);
    }
    return all;
  }

  /// LeanAttention's: sums, rescaled to the largest score of all.
  Real merge_raw(const std::vector<Part<Real>*>& parts, std::vector<Real>& output) const {
    Part<Real> all;
    all.output.assign(parts.front()->output.size(), Real(0));
    for (const Part<Real>* part : parts) all.max = std::max(all.max, part->max);
    for (const Part<Real>* part : parts) {
      if (part->max == kNothing<Real> && part->sum == 0) continue;
      const Real weight = ratio(part->max, all.max);
      all.sum += weight * part->sum;
      all.divisor += weight * part->divisor;
      for (std::size_t e = 0; e < all.output.size(); ++e) {
        all.output[e] += weight * round_to(r_.partials, part->output[e]);
      }
    }
    return finish_alone(all, output);
  }

  const workloads::Workload& workload_;
  const Operands& operands_;
  const Rounding& r_;
  const schedules::OutputTile& tile_;
  bool scores_rounded_ = false;  ///< then the softmax scale is in the scores, else in the exponent
  Real scale_ = 1;
  Real natural_ = 1;   ///< factor of a score in an exponent of e
  Real base_two_ = 1;  ///< and of 2
  std::vector<Real> queries_;
  std::vector<Real> weights_;  ///< [row of the output tile][token of the tile in work]: scores, then weights
};

template <typename Real>
void run_all(const workloads::Workload& workload, const Operands& operands, const schedules::Plan& plan,
             const Rounding& rounding, const AttentionCase& attention, Result<double>& result) {
  const auto items = items_of_outputs(plan);
  for_outputs(plan, [&](std::int32_t index) {
    const schedules::OutputTile& output = plan.outputs[static_cast<std::size_t>(index)];
    OutputRun<Real>(workload, operands, rounding, output)
        .run(items[static_cast<std::size_t>(index)], plan.tile_kv,
             attention.first_query[static_cast<std::size_t>(output.request)], result);
  });
}

}  // namespace

Result<double> emulate(const workloads::Workload& workload, const workloads::Tensors& tensors,
                       const schedules::Plan& plan, const Rounding& rounding) {
  const AttentionCase attention = make_case(workload, tensors);
  const Rounding exact = resolved(rounding, workload.geometry.dtype);
  const Operands operands(attention, exact);
  Result<double> result;
  result.output.resize(static_cast<std::size_t>(attention.rows()) * workload.geometry.value_dim);
  result.lse.resize(static_cast<std::size_t>(attention.rows()));
  if (exact.arithmetic == Precision::f64) {
    run_all<double>(workload, operands, plan, exact, attention, result);
  } else {
    run_all<float>(workload, operands, plan, exact, attention, result);
  }
  return result;
}

}  // namespace splitwave::cpu_reference::numerics
