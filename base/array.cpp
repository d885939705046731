// SPDX-License-Identifier: Apache-2.0
#include "base/array.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace splitwave::base {
namespace {

struct TypeName {
  ElementType type;
  std::string_view name;
  std::int64_t bytes;
};
constexpr std::array<TypeName, 7> kTypes = {{{ElementType::f64, "f64", 8},
                                             {ElementType::f32, "f32", 4},
                                             {ElementType::f16, "f16", 2},
                                             {ElementType::bf16, "bf16", 2},
                                             {ElementType::i64, "i64", 8},
                                             {ElementType::i32, "i32", 4},
                                             {ElementType::boolean, "bool", 1}}};

const TypeName& row_of(ElementType type) {
  for (const TypeName& row : kTypes) {
    if (row.type == type) return row;
  }
  throw std::logic_error("an element type without a name");
}

}  // namespace

std::int64_t bytes_per_element(ElementType type) {
  return row_of(type).bytes;
}

std::string to_string(ElementType type) {
  return std::string(row_of(type).name);
}

std::optional<ElementType> element_type(std::string_view name) {
  for (const TypeName& row : kTypes) {
    if (row.name == name) return row.type;
  }
  return std::nullopt;
}

std::string element_type_names() {
  std::string names;
  for (const TypeName& row : kTypes) names += (names.empty() ? "" : ", ") + std::string(row.name);
  return names;
}

std::optional<std::int64_t> element_count(const std::vector<std::int64_t>& shape, ElementType type) {
  // An extent of 0 must not hide that the others overflow: strides are products of them.
  std::int64_t bytes = bytes_per_element(type);
  bool empty = false;
  for (const std::int64_t extent : shape) {
    if (extent < 0) return std::nullopt;
    empty = empty || extent == 0;
    if (__builtin_mul_overflow(bytes, std::max<std::int64_t>(extent, 1), &bytes)) return std::nullopt;
  }
  return empty ? 0 : bytes / bytes_per_element(type);
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  return fmt::format("({})", fmt::join(shape, ", "));
}

std::int64_t ArrayView::size() const {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  return count;
}

std::vector<std::int64_t> c_order_strides(const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> strides(shape.size());
  std::int64_t stride = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= shape[i];
  }
  return strides;
}

ArrayView c_order_view(const void* data, ElementType type, std::vector<std::int64_t> shape) {
  std::vector<std::int64_t> strides = c_order_strides(shape);
  return {static_cast<const std::byte*>(data), type, std::move(shape), std::move(strides)};
}

bool is_c_order(const ArrayView& view) {
  if (view.size() == 0) return true;
  const std::vector<std::int64_t> dense = c_order_strides(view.shape);
  for (std::size_t i = 0; i < view.rank(); ++i) {
    if (view.shape[i] != 1 && view.strides[i] != dense[i]) return false;
  }
  return true;
}

std::int64_t integer_at(const ArrayView& view, std::int64_t index) {
  std::int64_t offset = 0;
  for (std::size_t i = view.rank(); i-- > 0;) {
    offset += index % view.shape[i] * view.strides[i];
    index /= view.shape[i];
  }
  const std::byte* const at = view.data + offset * bytes_per_element(view.type);
  if (view.type == ElementType::boolean) return *at == std::byte{0} ? 0 : 1;
  if (view.type == ElementType::i32) {
    std::int32_t value = 0;
    std::memcpy(&value, at, sizeof(value));
    return value;
  }
  std::int64_t value = 0;
  if (view.type != ElementType::i64) throw std::logic_error("integer_at: not an array of integers");
  std::memcpy(&value, at, sizeof(value));
  return value;
}

}  // namespace splitwave::base
