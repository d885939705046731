// SPDX-License-Identifier: Apache-2.0
// Arrays of numbers in memory, as files and other programs hold them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace splitwave::base {

/// What one element is: IEEE binary64, binary32 and binary16, bfloat16, two's complement integers, or a byte that is 0
/// (false) or not (true). Little-endian.
enum class ElementType { f64, f32, f16, bf16, i64, i32, boolean };

/// Units: bytes.
std::int64_t bytes_per_element(ElementType type);

/// "f64", "f32", "f16", "bf16", "i64", "i32", "bool".
std::string to_string(ElementType type);

/// The type of that name, or nothing.
std::optional<ElementType> element_type(std::string_view name);

/// The names of all element types, separated by ", ".
std::string element_type_names();

/// Product of the extents; nothing if it or its bytes pass 2^63 or an extent is negative.
std::optional<std::int64_t> element_count(const std::vector<std::int64_t>& shape, ElementType type);

/// "(2, 3)"
std::string shape_text(const std::vector<std::int64_t>& shape);

/// Somebody's array, looked at in place: element (i, j, ...) lies at data + (i * strides[0] + j * strides[1] + ...)
/// elements. Whoever makes it says that the memory is there.
struct ArrayView {
  const std::byte* data = nullptr;
  ElementType type = ElementType::f32;
  std::vector<std::int64_t> shape;    ///< extents, outermost first
  std::vector<std::int64_t> strides;  ///< in elements, one per extent; may be negative

  std::size_t rank() const { return shape.size(); }
  std::int64_t size() const;
};

/// Strides of an array without gaps whose last index runs fastest. Units: elements.
std::vector<std::int64_t> c_order_strides(const std::vector<std::int64_t>& shape);

/// A view of an array without gaps in C order.
ArrayView c_order_view(const void* data, ElementType type, std::vector<std::int64_t> shape);

/// Whether the view is without gaps in C order (extents of 1 and empty arrays may have any strides).
bool is_c_order(const ArrayView& view);

/// An array that keeps its memory alive.
struct Array {
  std::shared_ptr<const std::byte> memory;
  ArrayView view;
};

/// Element `index` of the flat view of an integer array (i32, i64 or bool) with any strides, in C order.
std::int64_t integer_at(const ArrayView& view, std::int64_t index);

}  // namespace splitwave::base
