// SPDX-License-Identifier: Apache-2.0
#include "base/fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/text.h"

namespace splitwave::base {

void refuse_value(const std::string& where, const std::string& key, const std::string& found,
                  const std::string& allowed) {
  throw InputError(fmt::format("{}: {} is {}; allowed: {}", where, printable(key, 120), found, allowed));
}

Fields::Fields(const JsonValue& value, const std::string& where, std::string path)
    : value_(value), where_(where), path_(std::move(path)) {
  if (!value.is(JsonValue::Kind::object)) {
    refuse_value(where_, path_.empty() ? "the document" : path_, value.shown(), "an object");
  }
}

Fields::Fields(const JsonValue& value, const std::string& where, std::string path,
               std::span<const std::string_view> allowed)
    : Fields(value, where, std::move(path)) {
  for (const std::string& key : value.keys) {
    if (std::find(allowed.begin(), allowed.end(), key) != allowed.end()) continue;
    const std::vector<std::string> names(allowed.begin(), allowed.end());
    std::string hint = did_you_mean(key, names);
    if (hint.empty()) hint = "; allowed: " + join(names);
    throw InputError(fmt::format("{}: unknown key {}{}", where_, printable(path_of(key), 120), hint));
  }
}

std::string Fields::path_of(std::string_view key) const {
  return path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
}

const JsonValue* Fields::find(std::string_view key) const {
  const JsonValue* member = value_.find(key);
  return member != nullptr && !member->is(JsonValue::Kind::null) ? member : nullptr;
}

const JsonValue& Fields::at(std::string_view key) const {
  const JsonValue* member = find(key);
  if (member == nullptr) throw InputError(fmt::format("{}: {} is missing", where_, path_of(key)));
  return *member;
}

void Fields::refuse(std::string_view key, const std::string& allowed) const {
  refuse_value(where_, path_of(key), at(key).shown(), allowed);
}

std::optional<std::int64_t> Fields::optional_integer(std::string_view key, std::int64_t least,
                                                     std::int64_t most) const {
  const JsonValue* member = find(key);
  if (member == nullptr) return std::nullopt;
  const std::optional<std::int64_t> number = member->as_int64();
  if (!number || *number < least || *number > most) refuse(key, fmt::format("an integer from {} to {}", least, most));
  return number;
}

std::int64_t Fields::integer(std::string_view key, std::int64_t least, std::int64_t most) const {
  at(key);
  return *optional_integer(key, least, most);
}

std::int32_t Fields::int32(std::string_view key, std::int64_t least, std::int64_t most) const {
  return static_cast<std::int32_t>(integer(key, least, most));
}

std::optional<std::int32_t> Fields::optional_int32(std::string_view key, std::int64_t least, std::int64_t most) const {
  const std::optional<std::int64_t> number = optional_integer(key, least, most);
  if (!number) return std::nullopt;
  return static_cast<std::int32_t>(*number);
}

std::optional<std::uint64_t> Fields::optional_uint64(std::string_view key) const {
  const JsonValue* member = find(key);
  if (member == nullptr) return std::nullopt;
  if (!member->is(JsonValue::Kind::integer) || (member->negative && member->magnitude != 0)) {
    refuse(key, "an integer from 0 to 2^64 - 1");
  }
  return member->magnitude;
}

std::optional<double> Fields::optional_number(std::string_view key, double least, double most) const {
  const JsonValue* member = find(key);
  if (member == nullptr) return std::nullopt;
  const std::optional<double> number = member->as_double();
  if (!number || !(*number >= least && *number <= most))
    refuse(key, fmt::format("a number from {} to {}", least, most));
  return number;
}

double Fields::number(std::string_view key, double least, double most) const {
  at(key);
  return *optional_number(key, least, most);
}

std::optional<bool> Fields::optional_boolean(std::string_view key) const {
  const JsonValue* member = find(key);
  if (member == nullptr) return std::nullopt;
  if (!member->is(JsonValue::Kind::boolean)) refuse(key, "true or false");
  return member->boolean;
}

std::optional<std::string> Fields::optional_text(std::string_view key) const {
  const JsonValue* member = find(key);
  if (member == nullptr) return std::nullopt;
  if (!member->is(JsonValue::Kind::text)) refuse(key, "a text in double quotes");
  return member->text;
}

std::string Fields::text(std::string_view key) const {
  at(key);
  return *optional_text(key);
}

std::string Fields::line(std::string_view key) const {
  at(key);
  return *optional_line(key);
}

std::optional<std::string> Fields::optional_line(std::string_view key) const {
  std::optional<std::string> found = optional_text(key);
  if (found && !is_plain_line(*found)) refuse(key, "UTF-8 text without control characters");
  return found;
}

std::string Fields::label(std::string_view key) const {
  at(key);
  return *optional_label(key);
}

std::optional<std::string> Fields::optional_label(std::string_view key) const {
  std::optional<std::string> found = optional_text(key);
  constexpr std::size_t kMostBytes = 200;
  if (found && (found->empty() || found->size() > kMostBytes || !is_plain_line(*found))) {
    refuse(key, fmt::format("UTF-8 text of 1 to {} bytes without control characters", kMostBytes));
  }
  return found;
}

std::optional<std::size_t> Fields::optional_choice(std::string_view key,
                                                   std::span<const std::string_view> names) const {
  const JsonValue* member = find(key);
  if (member == nullptr) return std::nullopt;
  const auto found =
      member->is(JsonValue::Kind::text) ? std::find(names.begin(), names.end(), member->text) : names.end();
  if (found == names.end()) refuse(key, join({names.begin(), names.end()}));
  return static_cast<std::size_t>(found - names.begin());
}

const JsonValue& Fields::array(std::string_view key) const {
  const JsonValue& member = at(key);
  if (!member.is(JsonValue::Kind::array)) refuse(key, "an array");
  return member;
}

}  // namespace splitwave::base
