// SPDX-License-Identifier: Apache-2.0
#include "cpu_reference/verify_rows.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "base/parallel.h"
#include "cpu_reference/rounding.h"

namespace splitwave::cpu_reference {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr std::size_t kUlpBins = 20;

std::size_t ulp_bin(std::int64_t distance) {
  if (distance <= 1) return static_cast<std::size_t>(distance);
  const std::size_t bin = std::bit_width(static_cast<std::uint64_t>(distance - 1)) + 1;
  return std::min(bin, kUlpBins - 1);
}

bool same_non_finite(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b;
}

class RowComparer {
 public:
  RowComparer(const JudgedCall& call, const BoundedResult& bounded)
      : call_(call), bounded_(bounded), values_(call.attention.geometry.value_dim), ulps_(kUlpBins) {}

  void compare(RowFigures& figures) {
    const Coordinates& at = figures.at;
    const auto elements = static_cast<std::int32_t>(values_.size());
    const std::int64_t row = call_.attention.row(at.request, at.query, at.head);
    load_elements(call_.output, call_.output_rows.at(at.request, at.query, at.head), elements, values_.data());
    for (std::int32_t e = 0; e < elements; ++e) compare_element(figures, row * elements + e, e);
    figures.expected_squared += bounded_.expected_squared_error[row];
    if (call_.lse) compare_lse(figures, row);
  }

  const std::vector<std::int64_t>& ulps() const { return ulps_; }
  std::int64_t largest_ulps() const { return largest_ulps_; }

 private:
  void compare_element(RowFigures& figures, std::int64_t index, std::int32_t element) {
    const double value = values_[static_cast<std::size_t>(element)];
    const double exact = bounded_.exact.output[index];
    const double nearest = rounded(call_.output.type, exact);
    if (!std::isfinite(value) || !std::isfinite(nearest)) {
      // A value just below the largest of the type may stay finite where the exact one rounds to infinity.
      const bool same =
          same_non_finite(value, nearest) || (std::isfinite(value) && std::isfinite(exact) && exact * value > 0);
      figures.mismatched += same ? 0 : 1;
      if (!same && figures.worst_bound_ratio < kInfinite) {
        figures.worst_bound_ratio = kInfinite;
        figures.at.element = element;
      }
      return;
    }
    const double error = value - exact;
    const double bound = element_bound(call_, bounded_, index);
    const double ratio = error == 0 ? 0 : std::abs(error) / bound;
    if (ratio > figures.worst_bound_ratio) {
      figures.worst_bound_ratio = ratio;
      figures.at.element = element;
    }
    figures.over_bound += ratio > 1 ? 1 : 0;
    ++figures.counted;
    figures.squared_error += error * error;
    figures.squared_exact += exact * exact;
    figures.squared_value += value * value;
    figures.product += value * exact;
    figures.max_abs = std::max(figures.max_abs, std::abs(error));
    if (std::abs(exact) >= smallest_normal(call_.output.type)) {
      figures.max_relative = std::max(figures.max_relative, std::abs(error / exact));
    }
    plain_and_ulps(figures, index, value, nearest);
  }

  void plain_and_ulps(RowFigures& figures, std::int64_t index, double value, double nearest) {
    const base::ElementType type = call_.output.type;
    const double exact = bounded_.exact.output[index];
    const double plain = rounded(type, bounded_.plain[index]);
    figures.max_plain_error = std::max(figures.max_plain_error, std::abs(plain - exact));
    const double shifted = rounded(type, rounded(type, exact + 0.3) - 0.3);
    figures.max_shift_error = std::max(figures.max_shift_error, std::abs(shifted - exact));
    const double own = unit_roundoff(type) * exact;
    figures.expected_squared += own * own / 3 + half_smallest_step(type) * half_smallest_step(type) / 3;
    const std::int64_t distance = ulp_distance(type, value, nearest);
    ++ulps_[ulp_bin(distance)];
    largest_ulps_ = std::max(largest_ulps_, distance);
  }

  void compare_lse(RowFigures& figures, std::int64_t row) const {
    const double value = call_.lse_at(figures.at.request, figures.at.query, figures.at.head);
    double exact = bounded_.exact.lse[row];
    if (exact == -kInfinite && call_.empty_lse_positive) exact = kInfinite;
    if (!std::isfinite(value) || !std::isfinite(exact)) {
      figures.lse_bound_ratio = same_non_finite(value, exact) ? 0 : kInfinite;
      return;
    }
    const double error = std::abs(value - exact);
    const double bound = bounded_.lse_bound[row] + unit_roundoff(call_.lse->type) * (2 * std::abs(exact) + 1e-3);
    figures.lse_abs = error;
    figures.lse_relative = error / std::max(1.0, std::abs(exact));
    figures.lse_bound_ratio = error == 0 ? 0 : error / bound;
  }

  const JudgedCall& call_;
  const BoundedResult& bounded_;
  std::vector<double> values_;
  std::vector<std::int64_t> ulps_;
  std::int64_t largest_ulps_ = 0;
};

std::vector<RowFigures> all_rows(const AttentionCase& attention) {
  std::vector<RowFigures> rows(static_cast<std::size_t>(attention.rows()));
  std::size_t next = 0;
  for (std::size_t request = 0; request < attention.requests.size(); ++request) {
    for (std::int32_t query = 0; query < attention.requests[request].query_len; ++query) {
      for (std::int32_t head = 0; head < attention.geometry.query_heads; ++head) {
        rows[next++].at = {static_cast<std::int32_t>(request), query, head, -1};
      }
    }
  }
  return rows;
}

/// Sums that ErrorFigures are quotients of.
struct Sums {
  ErrorFigures figures;
  double error = 0;
  double exact = 0;
  double value = 0;
  double product = 0;

  void add(const RowFigures& row) {
    figures.elements += row.counted;
    figures.max_abs = std::max(figures.max_abs, row.max_abs);
    figures.max_relative = std::max(figures.max_relative, row.max_relative);
    figures.worst_bound_ratio = std::max(figures.worst_bound_ratio, row.worst_bound_ratio);
    figures.over_bound += row.over_bound;
    figures.mismatched_non_finite += row.mismatched;
    error += row.squared_error;
    exact += row.squared_exact;
    value += row.squared_value;
    product += row.product;
  }

  ErrorFigures finish() {
    figures.rmse_over_rms = error == 0 ? 0 : exact == 0 ? kInfinite : std::sqrt(error / exact);
    const double norms = std::sqrt(exact) * std::sqrt(value);
    figures.cosine = norms > 0 ? std::min(1.0, product / norms) : exact == value ? 1 : 0;
    return figures;
  }
};

}  // namespace

double element_bound(const JudgedCall& call, const BoundedResult& bounded, std::int64_t index) {
  // An empty row is 0, and nothing else.
  const double inner = bounded.bound[index];
  const double exact = std::abs(bounded.exact.output[index]);
  if (inner == 0 && exact == 0) return 0;
  return inner + unit_roundoff(call.output.type) * (exact + inner) + half_smallest_step(call.output.type);
}

RowsOfCall compare_rows(const JudgedCall& call, const BoundedResult& bounded) {
  RowsOfCall result;
  result.rows = all_rows(call.attention);
  const auto count = static_cast<std::int64_t>(result.rows.size());
  std::vector<RowComparer> comparers(static_cast<std::size_t>(base::default_threads()), RowComparer(call, bounded));
  base::parallel(base::default_threads(), [&](int thread, int team) {
    for (std::int64_t row = count * thread / team; row < count * (thread + 1) / team; ++row) {
      comparers[static_cast<std::size_t>(thread)].compare(result.rows[static_cast<std::size_t>(row)]);
    }
  });
  result.ulps.counts.assign(kUlpBins, 0);
  for (const RowComparer& comparer : comparers) {
    for (std::size_t bin = 0; bin < kUlpBins; ++bin) result.ulps.counts[bin] += comparer.ulps()[bin];
    result.ulps.largest = std::max(result.ulps.largest, comparer.largest_ulps());
  }
  return result;
}

ErrorFigures total(const std::vector<RowFigures>& rows) {
  Sums sums;
  for (const RowFigures& row : rows) sums.add(row);
  return sums.finish();
}

std::vector<GroupFigures> by_group(const std::vector<RowFigures>& rows, std::int32_t groups,
                                   std::int32_t Coordinates::*member) {
  std::vector<Sums> sums(static_cast<std::size_t>(groups));
  std::vector<GroupFigures> result(static_cast<std::size_t>(groups));
  for (const RowFigures& row : rows) {
    const auto group = static_cast<std::size_t>(row.at.*member);
    sums[group].add(row);
    result[group].lse_max_abs = std::max(result[group].lse_max_abs, row.lse_abs);
  }
  for (std::size_t group = 0; group < result.size(); ++group) {
    result[group].index = static_cast<std::int32_t>(group);
    result[group].output = sums[group].finish();
  }
  return result;
}

}  // namespace splitwave::cpu_reference
