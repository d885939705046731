// SPDX-License-Identifier: Apache-2.0
// Constants of machine and kernel files: each one an object {"value", "unit", "source", "confidence"}.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/document.h"

namespace splitwave::simulator {

/// The "constants" object of a file. Values are read by key with the unit that the key must have; finish() refuses
/// keys that nobody asked for. All errors are InputErrors with file, key, value and what is allowed.
class Constants {
 public:
  Constants(const base::JsonValue& object, std::string where, std::string path);

  /// A number in `unit`, times `scale` (from the file's unit to SI), within [least, most] of the file's unit.
  double number(std::string_view key, std::string_view unit, double scale, double least, double most);
  /// The same, or nothing if the key is absent.
  std::optional<double> optional_number(std::string_view key, std::string_view unit, double scale, double least,
                                        double most);
  std::int32_t integer(std::string_view key, std::string_view unit, std::int32_t least, std::int32_t most);
  /// An array of integers.
  std::vector<std::int32_t> integers(std::string_view key, std::string_view unit, std::int32_t least,
                                     std::int32_t most);
  /// The same, or an empty vector if the key is absent.
  std::vector<std::int32_t> optional_integers(std::string_view key, std::string_view unit, std::int32_t least,
                                              std::int32_t most);
  /// An array of exactly `count` numbers, times `scale`.
  std::vector<double> numbers(std::string_view key, std::string_view unit, double scale, double least, double most,
                              std::size_t count);
  bool has(std::string_view key) const { return object_.find(key) != nullptr; }
  void finish() const;

  /// "constants.KEY", for messages about contradictions.
  std::string path_of(std::string_view key) const;
  const std::string& where() const { return where_; }

 private:
  /// The member `key` after its unit, source and confidence have been checked; null if it is absent.
  const base::JsonValue* value_of(std::string_view key, std::string_view unit);

  const base::JsonValue& object_;
  std::string where_;
  std::string path_;
  std::set<std::string, std::less<>> asked_;
};

}  // namespace splitwave::simulator
