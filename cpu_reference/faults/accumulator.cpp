// SPDX-License-Identifier: Apache-2.0
// Half-precision sums have no pattern to be told by, but a size.
#include <algorithm>
#include <cmath>

#include "cpu_reference/faults/probe.h"
#include "cpu_reference/rounding.h"

namespace splitwave::cpu_reference::faults {
namespace {

/// Error of a sum of weights relative to a running maximum times V, to which `step` tokens are added at a time.
double squared_error_with(const AttentionCase& attention, const Probe& probe, base::ElementType type,
                          std::int32_t step) {
  const workloads::KvRange range = probe.weights.range;
  const std::size_t d = probe.exact.size();
  std::vector<double> sum(d);
  double running = -1e300;
  double total = 0;
  for (std::int32_t begin = range.begin; begin < range.end; begin += step) {
    const std::int32_t end = std::min(begin + step, range.end);
    const auto scores = probe.weights.scores.begin() + (begin - range.begin);
    const double largest = std::max(running, *std::max_element(scores, scores + (end - begin)));
    const double rescale = std::exp(running - largest);
    std::vector<double> weights;
    for (auto score = scores; score != scores + (end - begin); ++score) {
      weights.push_back(std::exp(*score - largest));
    }
    total *= rescale;
    for (const double weight : weights) total += weight;
    const std::vector<double> part =
        weighted_values(attention, probe.id, probe.id.head / attention.geometry.group(), {begin, end}, weights);
    for (std::size_t e = 0; e < d; ++e) sum[e] = rounded(type, rounded(type, sum[e] * rescale) + part[e]);
    running = largest;
  }
  double squared_error = 0;
  for (std::size_t e = 0; e < d; ++e) {
    const double error = sum[e] / total - probe.exact[e];
    squared_error += error * error;
  }
  return squared_error;
}

}  // namespace

AccumulatorErrors half_accumulator_errors(const JudgedCall& call, const Probe& probe) {
  AccumulatorErrors errors;
  if (probe.weights.total == 0 || probe.weights.range.size() > (1 << 18)) return errors;
  for (const base::ElementType type : {base::ElementType::f16, base::ElementType::bf16}) {
    for (const std::int32_t step : {1, 8, 16, 32, 64, 128}) {
      const double squared_error = squared_error_with(call.attention, probe, type, step);
      if (!std::isfinite(squared_error)) continue;
      errors.least = errors.least < 0 ? squared_error : std::min(errors.least, squared_error);
      errors.most = std::max(errors.most, squared_error);
    }
  }
  return errors;
}

}  // namespace splitwave::cpu_reference::faults
