// SPDX-License-Identifier: Apache-2.0
// Axes of a sweep: "context=1k..128k x2", "sms=100:200:4", "dtype=f16,bf16".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace splitwave::studies {

enum class AxisType { integer, real, text };

/// What an axis may hold. Text axes leave the values' check to the field itself.
struct AxisDomain {
  std::string_view name;
  AxisType type = AxisType::integer;
  double least = 0;
  double most = 0;
  /// k, M and G mean powers of 1024 (tokens, bytes); else of 1000.
  bool binary = false;
  std::string_view option = "--axis ";  ///< what stands before the name in error messages
};

struct AxisValue {
  double number = 0;  ///< 0 on a text axis
  std::string text;   ///< as it is written in names and records
  std::int64_t integer() const { return static_cast<std::int64_t>(number); }
};

struct Axis {
  std::string key;
  AxisType type = AxisType::integer;
  std::vector<AxisValue> values;
};

/// Most values of one axis.
inline constexpr std::size_t kMaxAxisValues = 1'000'000;

/// KEY=VALUES cut at the first '='. Throws InputError if there is none or either side is empty.
struct AxisText {
  std::string key;
  std::string values;
};
AxisText split_axis(const std::string& argument);

/// Values of one axis: a list of numbers, ranges FIRST:LAST[:STEP] (LAST included if a step meets it) and log ranges
/// FIRST..LASTxFACTOR (spaces before x are allowed); on a text axis a list of words. Integer log ranges are rounded to
/// nearest, repeats left out. Throws InputError naming the axis, the part that is wrong and what is allowed.
Axis parse_axis(const AxisDomain& domain, std::string_view values);

}  // namespace splitwave::studies
