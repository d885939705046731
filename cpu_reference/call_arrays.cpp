// SPDX-License-Identifier: Apache-2.0
#include "cpu_reference/call_arrays.h"

#include <fmt/format.h>

#include "base/error.h"

namespace splitwave::cpu_reference {

using base::ArrayView;
using base::ElementType;
using base::shape_text;

void refuse_array(const std::string& name, const std::string& found, const std::string& allowed) {
  throw base::InputError(fmt::format("{}: {}; allowed: {}", name, found, allowed));
}

void require_floats(const std::string& name, const ArrayView& view) {
  const bool floats = view.type == ElementType::f16 || view.type == ElementType::bf16 ||
                      view.type == ElementType::f32 || view.type == ElementType::f64;
  if (!floats) refuse_array(name, "dtype is " + base::to_string(view.type), "f16, bf16, f32, f64");
}

void require_rows(const std::string& name, const ArrayView& view, bool four_only) {
  require_floats(name, view);
  if (view.rank() != 4 && (four_only || view.rank() != 3)) {
    refuse_array(name, "shape is " + shape_text(view.shape), four_only ? "4 axes" : "3 or 4 axes");
  }
  for (const std::int64_t extent : view.shape) {
    if (extent > kLargestExtent) refuse_array(name, "shape is " + shape_text(view.shape), "extents below 2^31");
  }
  if (view.shape.back() > 1 && view.strides.back() != 1) {
    refuse_array(name, "elements of a row do not lie side by side",
                 "a last axis of stride 1 (numpy.ascontiguousarray)");
  }
}

Axes axes_of(const ArrayView& view, AxisOrder order) {
  Axes axes;
  const std::size_t first = view.rank() - 3;
  const std::size_t token = order == AxisOrder::token_major ? first : first + 1;
  const std::size_t head = order == AxisOrder::token_major ? first + 1 : first;
  axes.has_outer = first == 1;
  if (axes.has_outer) {
    axes.outer = view.shape[0];
    axes.outer_stride = view.strides[0];
  }
  axes.tokens = view.shape[token];
  axes.token_stride = view.strides[token];
  axes.heads = view.shape[head];
  axes.head_stride = view.strides[head];
  axes.elements = view.shape.back();
  return axes;
}

std::vector<std::int64_t> integers_of(const std::string& name, const ArrayView& view, std::size_t rank) {
  if (view.type != ElementType::i32 && view.type != ElementType::i64) {
    refuse_array(name, "dtype is " + base::to_string(view.type), "i32, i64");
  }
  if (view.rank() != rank) {
    refuse_array(name, "shape is " + shape_text(view.shape), fmt::format("{} ax{}s", rank, rank == 1 ? "i" : "e"));
  }
  std::vector<std::int64_t> values(static_cast<std::size_t>(view.size()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = base::integer_at(view, static_cast<std::int64_t>(i));
  return values;
}

std::vector<std::int64_t> cumulative_lengths(const std::string& name, const ArrayView& view, std::int64_t tokens) {
  std::vector<std::int64_t> sums = integers_of(name, view, 1);
  if (sums.empty() || sums.front() != 0) refuse_array(name, "does not begin with 0", "0 and the sums of the lengths");
  for (std::size_t i = 1; i < sums.size(); ++i) {
    if (sums[i] < sums[i - 1] || sums[i] - sums[i - 1] > kLargestExtent) {
      refuse_array(fmt::format("{}[{}]", name, i), fmt::format("is {} after {}", sums[i], sums[i - 1]),
                   "sums that never fall, lengths below 2^31");
    }
  }
  if (tokens >= 0 && sums.back() != tokens) {
    refuse_array(name, fmt::format("ends with {}", sums.back()), fmt::format("{}, the tokens there are", tokens));
  }
  return sums;
}

}  // namespace splitwave::cpu_reference
