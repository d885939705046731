// SPDX-License-Identifier: Apache-2.0
// Reads the members of a JSON object by name, with the one form of error message that the formats have.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/document.h"

namespace splitwave::base {

/// Throws InputError "WHERE: KEY is FOUND; allowed: ALLOWED".
[[noreturn]] void refuse_value(const std::string& where, const std::string& key, const std::string& found,
                               const std::string& allowed);

/// One object of a document and its place in it ("requests[2]"), which begins every message. A member that is null
/// counts as absent.
class Fields {
 public:
  /// Throws InputError if `value` is no object or holds a key that is not among `allowed`.
  Fields(const JsonValue& value, const std::string& where, std::string path, std::span<const std::string_view> allowed);

  /// An object of a foreign format, which may hold any keys.
  Fields(const JsonValue& value, const std::string& where, std::string path);

  const JsonValue* find(std::string_view key) const;
  bool has(std::string_view key) const { return find(key) != nullptr; }
  /// The member, which must be there.
  const JsonValue& at(std::string_view key) const;

  std::int64_t integer(std::string_view key, std::int64_t least, std::int64_t most) const;
  std::optional<std::int64_t> optional_integer(std::string_view key, std::int64_t least, std::int64_t most) const;
  std::int32_t int32(std::string_view key, std::int64_t least, std::int64_t most) const;
  std::optional<std::int32_t> optional_int32(std::string_view key, std::int64_t least, std::int64_t most) const;
  std::optional<std::uint64_t> optional_uint64(std::string_view key) const;
  double number(std::string_view key, double least, double most) const;
  std::optional<double> optional_number(std::string_view key, double least, double most) const;
  std::optional<bool> optional_boolean(std::string_view key) const;
  std::string text(std::string_view key) const;
  std::optional<std::string> optional_text(std::string_view key) const;
  /// A text that is_plain_line() allows, or an empty one.
  std::string line(std::string_view key) const;
  std::optional<std::string> optional_line(std::string_view key) const;
  /// A text for people, 1 to 200 bytes that is_plain_line() allows: it comes into tables, pictures and terminals.
  std::string label(std::string_view key) const;
  std::optional<std::string> optional_label(std::string_view key) const;
  /// The index in `names` of the member's text.
  std::optional<std::size_t> optional_choice(std::string_view key, std::span<const std::string_view> names) const;
  const JsonValue& array(std::string_view key) const;

  /// "requests[2].context_len"
  std::string path_of(std::string_view key) const;
  const std::string& path() const { return path_; }
  const std::string& where() const { return where_; }
  [[noreturn]] void refuse(std::string_view key, const std::string& allowed) const;

 private:
  const JsonValue& value_;
  const std::string& where_;
  std::string path_;
};

}  // namespace splitwave::base
