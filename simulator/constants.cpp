// SPDX-License-Identifier: Apache-2.0
#include "simulator/constants.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "base/error.h"
#include "base/fields.h"
#include "base/text.h"

namespace splitwave::simulator {
namespace {

using base::JsonValue;
using base::refuse_value;

constexpr std::array<std::string_view, 4> kMembers = {"value", "unit", "source", "confidence"};
constexpr std::array<std::string_view, 5> kConfidences = {"measured", "published", "general knowledge", "derived",
                                                          "inferred"};

}  // namespace

Constants::Constants(const JsonValue& object, std::string where, std::string path)
    : object_(object), where_(std::move(where)), path_(std::move(path)) {
  if (!object.is(JsonValue::Kind::object)) refuse_value(where_, path_, object.shown(), "an object of constants");
}

std::string Constants::path_of(std::string_view key) const {
  return fmt::format("{}.{}", path_, key);
}

const JsonValue* Constants::value_of(std::string_view key, std::string_view unit) {
  asked_.emplace(key);
  const JsonValue* member = object_.find(key);
  if (member == nullptr) return nullptr;
  const std::string path = path_of(key);
  const base::Fields fields(*member, where_, path, kMembers);
  if (fields.text("unit") != unit) fields.refuse("unit", fmt::format("\"{}\"", unit));
  if (fields.text("source").empty()) fields.refuse("source", "where the value comes from");
  fields.at("confidence");
  fields.optional_choice("confidence", kConfidences);
  return &fields.at("value");
}

std::optional<double> Constants::optional_number(std::string_view key, std::string_view unit, double scale,
                                                 double least, double most) {
  const JsonValue* value = value_of(key, unit);
  if (value == nullptr) return std::nullopt;
  const std::optional<double> number = value->as_double();
  if (!number || !(*number >= least && *number <= most)) {
    refuse_value(where_, path_of(key) + ".value", value->shown(), fmt::format("{} to {} {}", least, most, unit));
  }
  return *number * scale;
}

double Constants::number(std::string_view key, std::string_view unit, double scale, double least, double most) {
  const std::optional<double> found = optional_number(key, unit, scale, least, most);
  if (!found) throw base::InputError(fmt::format("{}: {} is missing", where_, path_of(key)));
  return *found;
}

std::int32_t Constants::integer(std::string_view key, std::string_view unit, std::int32_t least, std::int32_t most) {
  const double found = number(key, unit, 1, least, most);
  const auto whole = static_cast<std::int32_t>(found);
  if (static_cast<double>(whole) != found) {
    refuse_value(where_, path_of(key) + ".value", fmt::format("{}", found), "a whole number");
  }
  return whole;
}

std::vector<std::int32_t> Constants::integers(std::string_view key, std::string_view unit, std::int32_t least,
                                              std::int32_t most) {
  std::vector<std::int32_t> found = optional_integers(key, unit, least, most);
  if (found.empty()) throw base::InputError(fmt::format("{}: {} is missing", where_, path_of(key)));
  return found;
}

std::vector<std::int32_t> Constants::optional_integers(std::string_view key, std::string_view unit, std::int32_t least,
                                                       std::int32_t most) {
  const JsonValue* value = value_of(key, unit);
  if (value == nullptr) return {};
  const std::string allowed = fmt::format("an array of integers from {} to {}", least, most);
  if (!value->is(JsonValue::Kind::array) || value->items.empty()) {
    refuse_value(where_, path_of(key) + ".value", value->shown(), allowed);
  }
  std::vector<std::int32_t> result;
  for (const JsonValue& item : value->items) {
    const std::optional<std::int64_t> number = item.as_int64();
    if (!number || *number < least || *number > most) {
      refuse_value(where_, path_of(key) + ".value", item.shown(), allowed);
    }
    result.push_back(static_cast<std::int32_t>(*number));
  }
  return result;
}

std::vector<double> Constants::numbers(std::string_view key, std::string_view unit, double scale, double least,
                                       double most, std::size_t count) {
  const JsonValue* value = value_of(key, unit);
  if (value == nullptr) throw base::InputError(fmt::format("{}: {} is missing", where_, path_of(key)));
  const std::string allowed = fmt::format("an array of {} numbers from {} to {}", count, least, most);
  if (!value->is(JsonValue::Kind::array) || value->items.size() != count) {
    refuse_value(where_, path_of(key) + ".value", value->shown(), allowed);
  }
  std::vector<double> result;
  for (const JsonValue& item : value->items) {
    const std::optional<double> number = item.as_double();
    if (!number || !(*number >= least && *number <= most)) {
      refuse_value(where_, path_of(key) + ".value", item.shown(), allowed);
    }
    result.push_back(*number * scale);
  }
  return result;
}

void Constants::finish() const {
  const std::vector<std::string> names(asked_.begin(), asked_.end());
  for (const std::string& key : object_.keys) {
    if (asked_.count(key) != 0) continue;
    std::string hint = base::did_you_mean(key, names);
    if (hint.empty()) hint = "; allowed: " + base::join(names);
    throw base::InputError(fmt::format("{}: unknown key {}{}", where_, base::printable(path_of(key), 120), hint));
  }
}

}  // namespace splitwave::simulator
