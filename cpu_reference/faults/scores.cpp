// SPDX-License-Identifier: Apache-2.0
// Scores of another scale, another KV head, or another row's output.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "cpu_reference/faults/probe.h"

namespace splitwave::cpu_reference::faults {
namespace {

/// Most tokens whose V is kept to try many scales.
constexpr std::int32_t kMostScaledTokens = 1 << 16;
/// Most KV heads that a query head is tried with.
constexpr std::int32_t kMostHeads = 128;

class Scales {
 public:
  Scales(const AttentionCase& attention, const Probe& probe, BestGuesses& best)
      : probe_(probe), best_(best), scale_(attention.geometry.scale()), g_(attention.geometry) {
    const std::size_t d = probe.exact.size();
    const workloads::KvRange range = probe.weights.range;
    values_.resize(static_cast<std::size_t>(range.size()) * d);
    for (std::int32_t i = 0; i < range.size(); ++i) {
      const std::int64_t first =
          kv_offset(attention, attention.v_rows, probe.id.request, range.begin + i, probe.id.head / g_.group());
      load_elements(attention.v, first, g_.value_dim, values_.data() + static_cast<std::size_t>(i) * d);
    }
  }

  void run() {
    named();
    double best = 0;
    double least = probe_.error_squared;
    for (int step = -24; step <= 24; ++step) {
      const double left = error_with(std::exp(step * 0.15));
      if (left < least) {
        least = left;
        best = step * 0.15;
      }
    }
    double width = 0.15;
    for (int halvings = 0; halvings < 28; ++halvings, width *= 0.6) {
      for (const double step : {best - width, best + width}) {
        const double left = error_with(std::exp(step));
        if (left < least) {
          least = left;
          best = step;
        }
      }
    }
    const double factor = std::exp(best);
    // Factors this near to 1 are roundings of the scale itself.
    if (std::abs(factor - 1) < 0.02) return;
    offer(factor, least, 10,
          fmt::format("scores are scaled by {:.5g}, {:.4g} times what was asked for", factor * scale_, factor));
  }

 private:
  void named() {
    struct Named {
      double factor;
      std::string text;
    };
    const double root = std::sqrt(static_cast<double>(g_.head_dim));
    const Named all[] = {
        {1 / scale_, "scores are not scaled"},
        {1 / (scale_ * g_.head_dim), "scores are scaled by 1 / head_dim, not its root"},
        {1 / (scale_ * root), "scores are scaled by 1 / sqrt(head_dim), not as asked for"},
        {1 / (scale_ * std::sqrt(static_cast<double>(g_.value_dim))), "scores are scaled by 1 / sqrt(value_dim)"},
        {std::numbers::log2e, "log2(e) is multiplied to the scores twice, or exp is used where exp2 was meant"},
        {std::numbers::ln2, "exp2 is used without multiplying the scores by log2(e)"},
        {scale_, "the scale is applied twice"},
        {-1, "scores have the wrong sign"}};
    for (const Named& each : all) {
      if (each.factor != 0 && std::isfinite(each.factor) && std::abs(each.factor - 1) > 1e-6) {
        offer(each.factor, error_with(each.factor), 3, each.text);
      }
    }
  }

  void offer(double factor, double left, double cost, const std::string& text) {
    Guess guess{Fault::softmax_scale, "", -1, -1, cost, lse_with(factor)};
    best_.offer(left, guess, [&] { return text; });
  }

  double largest(double factor) const {
    double most = -std::numeric_limits<double>::infinity();
    for (const double score : probe_.weights.scores) most = std::max(most, factor * score);
    return most;
  }

  double lse_with(double factor) const {
    const double top = largest(factor);
    double total = 0;
    for (const double score : probe_.weights.scores) total += std::exp(factor * score - top);
    return top + std::log(total);
  }

  double error_with(double factor) const {
    const std::size_t d = probe_.exact.size();
    const double top = largest(factor);
    std::vector<double> sum(d);
    double total = 0;
    for (std::size_t i = 0; i < probe_.weights.scores.size(); ++i) {
      const double weight = std::exp(factor * probe_.weights.scores[i] - top);
      if (weight < 1e-18) continue;
      total += weight;
      const double* const value = values_.data() + i * d;
      for (std::size_t e = 0; e < d; ++e) sum[e] += weight * value[e];
    }
    double left = 0;
    for (std::size_t e = 0; e < d; ++e) {
      const double error = probe_.observed[e] - sum[e] / total;
      left += error * error;
    }
    return left;
  }

  const Probe& probe_;
  BestGuesses& best_;
  double scale_;
  const workloads::Geometry& g_;
  std::vector<double> values_;
};

void guess_heads(const JudgedCall& call, const Probe& probe, BestGuesses& best) {
  const AttentionCase& attention = call.attention;
  const std::int32_t own = probe.id.head / attention.geometry.group();
  const std::int32_t heads = std::min(attention.geometry.kv_heads, kMostHeads);
  for (std::int32_t other = 0; other < heads; ++other) {
    if (other == own) continue;
    ScoreSource source;
    source.kv_head = other;
    const RowWeights weights = row_weights(attention, probe.id, source);
    if (weights.total == 0) continue;
    const auto offer = [&](std::int32_t v_head, const RowWeights& from, const std::string& what) {
      std::vector<double> output = weighted_values(attention, probe.id, v_head, from.range, from.weights);
      for (double& element : output) element /= from.total;
      Guess guess{Fault::head_mapping, "", -1, -1, std::log(3.0 * heads), from.largest + std::log(from.total)};
      best.offer(output, guess, [&] {
        return fmt::format("query head {} reads {} of KV head {} in place of {}", probe.id.head, what, other, own);
      });
    };
    offer(other, weights, "K and V");
    offer(own, weights, "K");
    offer(other, probe.weights, "V");
  }
}

/// The output of another row of the batch, exactly.
void guess_places(const JudgedCall& call, const BoundedResult& bounded, const Probe& probe, BestGuesses& best) {
  const AttentionCase& attention = call.attention;
  const std::size_t d = probe.exact.size();
  const auto rows = static_cast<std::int64_t>(bounded.exact.lse.size());
  constexpr std::int64_t kMostRows = 1 << 14;
  const std::int64_t first = std::max<std::int64_t>(0, std::min(probe.index - kMostRows / 2, rows - kMostRows));
  const std::int64_t end = std::min(rows, first + kMostRows);
  for (std::int64_t row = first; row < end; ++row) {
    if (row == probe.index) continue;
    double left = 0;
    for (std::size_t e = 0; e < d; ++e) {
      const double error = probe.observed[e] - bounded.exact.output[static_cast<std::size_t>(row) * d + e];
      left += error * error;
    }
    Guess guess{Fault::head_mapping, "", -1, -1, std::log(static_cast<double>(end - first)), bounded.exact.lse[row]};
    best.offer(left, guess, [&] {
      const std::int32_t heads = attention.geometry.query_heads;
      return fmt::format("query head {} holds the output of head {} of query token {} of the batch", probe.id.head,
                         row % heads, row / heads);
    });
  }
}

}  // namespace

void guess_scores(const JudgedCall& call, const BoundedResult& bounded, const Probe& probe, BestGuesses& best) {
  if (probe.weights.total == 0) return;
  guess_places(call, bounded, probe, best);
  if (probe.weights.range.size() > kMostScaledTokens) return;
  guess_heads(call, probe, best);
  if (!call.attention.mask) Scales(call.attention, probe, best).run();
}

}  // namespace splitwave::cpu_reference::faults
