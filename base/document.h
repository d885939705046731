// SPDX-License-Identifier: Apache-2.0
// A strictly read JSON document: duplicate keys, deep nesting and too many values are errors, numbers keep their own
// text, and object keys keep their order.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace splitwave::base {

/// Limits of one document (one file, or one line of JSON Lines), so that memory and time stay bounded.
inline constexpr int kMaxDepth = 32;
inline constexpr std::int64_t kMaxValues = 1'000'000;

struct JsonValue {
  enum class Kind { null, boolean, integer, real, text, array, object };
  Kind kind = Kind::null;
  bool boolean = false;
  bool negative = false;          ///< integer: its sign
  std::uint64_t magnitude = 0;    ///< integer: its absolute value
  double real = 0;                ///< real: anything written with a fraction or an exponent, or beyond 64 bits
  std::string text;               ///< text: its characters; real: as it was written
  std::vector<std::string> keys;  ///< object: in the order of the file, one per item
  std::vector<JsonValue> items;   ///< array and object

  bool is(Kind other) const { return kind == other; }
  /// The member called `key`, or null.
  const JsonValue* find(std::string_view key) const;
  JsonValue* find(std::string_view key);
  /// The number as int64, if it is an integer that fits.
  std::optional<std::int64_t> as_int64() const;
  /// The number as double, if it is a number.
  std::optional<double> as_double() const;
  /// How an error message shows the value: numbers and names as written, the rest by kind; short and printable.
  std::string shown() const;
};

/// Reads one document. A UTF-8 byte order mark, CRLF line ends and spaces around it are accepted. Throws InputError
/// with one line that begins with `where`.
JsonValue parse_document(std::string_view text, const std::string& where);

}  // namespace splitwave::base
