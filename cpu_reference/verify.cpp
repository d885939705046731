// SPDX-License-Identifier: Apache-2.0
#include "cpu_reference/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "cpu_reference/diagnose.h"
#include "cpu_reference/kernel_call.h"
#include "cpu_reference/rounding.h"
#include "cpu_reference/row_attention.h"
#include "cpu_reference/verify_rows.h"

namespace splitwave::cpu_reference {
namespace {

using base::ElementType;

constexpr double kUnlimited = std::numeric_limits<double>::infinity();
/// Evidence against rounding that makes a pattern a fault though every element is within its bound (docs/verify.md).
/// Units: nats.
constexpr double kOverwhelmingNats = 60;
/// And the least share of the error that it must explain.
constexpr double kOverwhelmingShare = 0.8;

WeightPrecision precision_of(ElementType type) {
  switch (type) {
    case ElementType::f16:
      return WeightPrecision::f16;
    case ElementType::bf16:
      return WeightPrecision::bf16;
    case ElementType::f64:
      return WeightPrecision::f64;
    default:
      return WeightPrecision::f32;
  }
}

RoundingModel rounding_model(WeightPrecision weights, ElementType plain) {
  RoundingModel model;
  model.plain = plain;
  model.arithmetic = unit_roundoff(ElementType::f32);
  switch (weights) {
    case WeightPrecision::f16:
      model.weights = unit_roundoff(ElementType::f16);
      model.weights_floor = half_smallest_step(ElementType::f16);
      break;
    case WeightPrecision::bf16:
      model.weights = unit_roundoff(ElementType::bf16);
      break;
    case WeightPrecision::tf32:
      model.weights = unit_roundoff(ElementType::f16);  // as many bits of fraction
      model.inputs = model.weights;
      break;
    case WeightPrecision::f32:
      model.weights = model.arithmetic;
      break;
    case WeightPrecision::f64:
      // The oracle's products of doubles are rounded as the kernel's are.
      model.arithmetic = 2 * unit_roundoff(ElementType::f64);
      model.weights = model.arithmetic;
      break;
  }
  return model;
}

Tolerance tolerance_of(ElementType type) {
  switch (type) {
    case ElementType::f16:
      return tolerance(workloads::Dtype::f16);
    case ElementType::bf16:
      return tolerance(workloads::Dtype::bf16);
    case ElementType::f32:
      return tolerance(workloads::Dtype::f32);
    default:
      return double_tolerance();
  }
}

RuleResult bound_rule(const Verification& result, const std::vector<RowFigures>& rows) {
  std::int64_t lse_over = 0;
  for (const RowFigures& row : rows) lse_over += row.lse_bound_ratio > 1 ? 1 : 0;
  const ErrorFigures& output = result.output;
  RuleResult rule{Rule::bound, true, std::max(output.worst_bound_ratio, result.lse_worst_bound_ratio), 1, ""};
  rule.passed = output.over_bound == 0 && output.mismatched_non_finite == 0 && lse_over == 0;
  rule.text =
      fmt::format("largest error is {:.3g} of its bound; {} elements and {} LSEs beyond, {} NaN or inf out of place",
                  rule.value, output.over_bound, lse_over, output.mismatched_non_finite);
  return rule;
}

RuleResult tolerance_rule(const std::vector<RowFigures>& rows, ElementType type) {
  const Tolerance limit = tolerance_of(type);
  RuleResult rule{Rule::tolerance, true, 0, limit.relative_l2, ""};
  double lse = 0;
  for (const RowFigures& row : rows) {
    const double relative = row.squared_error == 0   ? 0
                            : row.squared_exact == 0 ? kUnlimited
                                                     : std::sqrt(row.squared_error / row.squared_exact);
    rule.value = std::max(rule.value, relative);
    lse = std::max(lse, row.lse_relative);
    if (row.mismatched > 0 || row.lse_bound_ratio == kUnlimited) rule.passed = false;
  }
  rule.passed = rule.passed && rule.value <= limit.relative_l2 && lse <= limit.lse_relative;
  rule.text = fmt::format("worst row is off by {:.3g} of its norm (limit {:.3g}), worst LSE by {:.3g} (limit {:.3g})",
                          rule.value, limit.relative_l2, lse, limit.lse_relative);
  return rule;
}

/// FlashAttention's tests (hopper/test_flash_attn.py): twice the error of a plain implementation in the inputs' type,
/// and twice what adding and subtracting 0.3 in the output's type leaves.
RuleResult twice_plain_rule(const Verification& result, const std::vector<RowFigures>& rows) {
  double plain = 0;
  double shift = 0;
  for (const RowFigures& row : rows) {
    plain = std::max(plain, row.max_plain_error);
    shift = std::max(shift, row.max_shift_error);
  }
  RuleResult rule{Rule::twice_plain, true, result.output.max_abs, 2 * plain + 2 * shift, ""};
  rule.passed = result.output.mismatched_non_finite == 0 && rule.value <= rule.limit;
  rule.text =
      fmt::format("largest error {:.3g}; twice a plain implementation's {:.3g} and twice the floor {:.3g} are {:.3g}",
                  rule.value, plain, shift, rule.limit);
  return rule;
}

RuleResult pattern_rule(const Verification& result) {
  RuleResult rule{Rule::pattern, true, 0, kOverwhelmingNats, "nothing but rounding"};
  if (result.findings.empty()) return rule;
  const Finding& best = result.findings.front();
  rule.value = best.against_rounding_nats;
  rule.passed = rule.value < kOverwhelmingNats || best.explained < kOverwhelmingShare;
  rule.text = fmt::format(
      "{} explains {:.1f} % of the error in {} row{}, with {:.0f} nats against rounding (limit {:.0f})",
      to_string(best.fault), 100 * best.explained, best.rows, best.rows == 1 ? "" : "s", rule.value, rule.limit);
  return rule;
}

std::optional<WorstElement> worst_element(const JudgedCall& call, const BoundedResult& bounded,
                                          const std::vector<RowFigures>& rows) {
  const auto worst = std::max_element(rows.begin(), rows.end(), [](const RowFigures& a, const RowFigures& b) {
    return a.worst_bound_ratio < b.worst_bound_ratio;
  });
  if (worst == rows.end() || worst->at.element < 0) return std::nullopt;
  const Coordinates& at = worst->at;
  const std::int64_t index =
      call.attention.row(at.request, at.query, at.head) * call.attention.geometry.value_dim + at.element;
  WorstElement element;
  element.at = at;
  element.value = call.output_at(at.request, at.query, at.head, at.element);
  element.exact = bounded.exact.output[index];
  element.bound = element_bound(call, bounded, index);
  const RowWeights weights = row_weights(call.attention, {at.request, at.query, at.head});
  double most = -1;
  for (std::int32_t i = 0; i < weights.range.size(); ++i) {
    const std::int32_t token = weights.range.begin + i;
    const std::int32_t kv_head = at.head / call.attention.geometry.group();
    const double v = element_at(
        call.attention.v, kv_offset(call.attention, call.attention.v_rows, at.request, token, kv_head) + at.element);
    const double weight = weights.weights[static_cast<std::size_t>(i)] / weights.total;
    if (std::abs(weight * v) > most) {
      most = std::abs(weight * v);
      element.heaviest_token = token;
      element.heaviest_weight = weight;
    }
  }
  return element;
}

Verification judge(const JudgedCall& call, const VerifyOptions& options) {
  const ElementType v_type = call.attention.v.type;
  const WeightPrecision weights = options.weights.value_or(precision_of(v_type));
  const BoundedResult bounded = attend_with_bounds(call.attention, rounding_model(weights, v_type));
  const RowsOfCall compared = compare_rows(call, bounded);
  const std::vector<RowFigures>& rows = compared.rows;
  Verification result;
  result.rows = static_cast<std::int64_t>(rows.size());
  result.output = total(rows);
  result.has_lse = call.lse.has_value();
  for (const RowFigures& row : rows) {
    result.lse_max_abs = std::max(result.lse_max_abs, row.lse_abs);
    result.lse_worst_bound_ratio = std::max(result.lse_worst_bound_ratio, row.lse_bound_ratio);
  }
  result.heads = by_group(rows, call.attention.geometry.query_heads, &Coordinates::head);
  result.requests = by_group(rows, static_cast<std::int32_t>(call.attention.requests.size()), &Coordinates::request);
  result.ulps = compared.ulps;
  result.worst = worst_element(call, bounded, rows);
  result.rules = {bound_rule(result, rows)};
  if (options.diagnose) {
    result.findings = diagnose(call, bounded, rows);
    result.rules.push_back(pattern_rule(result));
  }
  const bool bound_passed = result.rules.front().passed;
  result.decided_by = bound_passed && options.diagnose && !result.rules.back().passed ? Rule::pattern : Rule::bound;
  result.passed = bound_passed && result.decided_by == Rule::bound;
  // Rounding has no fault to name: what explains a passing output's error by chance is not shown.
  if (result.passed) result.findings.clear();
  result.rules.push_back(tolerance_rule(rows, call.output.type));
  result.rules.push_back(twice_plain_rule(result, rows));
  return result;
}

}  // namespace

std::string to_string(Rule rule) {
  switch (rule) {
    case Rule::bound:
      return "bound";
    case Rule::pattern:
      return "pattern";
    case Rule::tolerance:
      return "tolerance";
    case Rule::twice_plain:
      return "twice_plain";
  }
  throw std::logic_error("a rule without a name");
}

Verification verify(const KernelCall& call, const VerifyOptions& options) {
  return judge(check_call(call), options);
}

Verification verify(const workloads::Workload& workload, const workloads::Tensors& tensors,
                    const base::ArrayView& output, const std::optional<base::ArrayView>& lse, bool lse_base_two,
                    const VerifyOptions& options) {
  return judge(check_call(workload, tensors, output, lse, lse_base_two), options);
}

}  // namespace splitwave::cpu_reference
