// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <span>

#include "reports/record.h"
#include "workloads/error.h"
#include "workloads/load.h"

namespace splitwave::reports {
namespace {

using workloads::InputError;
using Json = nlohmann::json;

constexpr std::array kRecordKeys = {"workload",    "schedule",    "executor", "machine",   "seconds",
                                    "seconds_p20", "seconds_p80", "samples",  "bytes",     "bytes_per_second",
                                    "num_splits",  "ctas",        "waves",    "occupancy", "merge",
                                    "breakdown",   "error",       "failure",  "commit",    "version"};
constexpr std::array kBreakdownKeys = {"launch", "ramp", "stream", "compute", "merge", "wait", "idle"};
constexpr std::array kErrorKeys = {"relative_l2", "rmse", "max_abs"};

std::string shown(const Json& value) {
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  constexpr std::size_t kLimit = 40;
  return text.size() <= kLimit ? text : text.substr(0, kLimit) + "...";
}

/// Reads the keys of one JSON object; `where` is "FILE: line N".
class ObjectReader {
 public:
  ObjectReader(const Json& object, std::string where, std::string prefix, std::span<const char* const> keys)
      : object_(object), where_(std::move(where)), prefix_(std::move(prefix)) {
    if (!object.is_object()) {
      throw InputError(fmt::format("{}: {} is {}; allowed: an object", where_,
                                   prefix_.empty() ? "the line" : prefix_.substr(0, prefix_.size() - 1),
                                   shown(object)));
    }
    const std::vector<std::string> known(keys.begin(), keys.end());
    for (const auto& [key, value] : object.items()) {
      if (std::find(known.begin(), known.end(), key) == known.end()) {
        const std::vector<std::string> near = workloads::nearest_names(key, known);
        throw InputError(fmt::format("{}: unknown key {}{}; allowed: {}", where_, prefix_, shown(key),
                                     fmt::join(near.empty() ? known : near, ", ")));
      }
    }
  }

  std::optional<std::string> text(const char* key) const {
    const Json* value = find(key);
    if (value == nullptr) {
      return std::nullopt;
    }
    if (!value->is_string()) {
      refuse(key, *value, "a text");
    }
    return value->get<std::string>();
  }

  std::string required_text(const char* key) const {
    if (std::optional<std::string> value = text(key)) {
      return *value;
    }
    throw InputError(fmt::format("{}: key {}{} is missing; allowed: a text", where_, prefix_, key));
  }

  std::optional<double> number(const char* key) const {
    const Json* value = find(key);
    if (value == nullptr) {
      return std::nullopt;
    }
    if (!value->is_number() || !(value->get<double>() >= 0)) {
      refuse(key, *value, "a number of at least 0");
    }
    return value->get<double>();
  }

  double required_number(const char* key) const {
    if (std::optional<double> value = number(key)) {
      return *value;
    }
    throw InputError(fmt::format("{}: key {}{} is missing; allowed: a number of at least 0", where_, prefix_, key));
  }

  /// to_json leaves out what is not finite; it must not read back as a perfect 0.
  double number_or_nan(const char* key) const { return number(key).value_or(std::numeric_limits<double>::quiet_NaN()); }

  std::optional<std::int64_t> integer(const char* key) const {
    const Json* value = find(key);
    if (value == nullptr) {
      return std::nullopt;
    }
    if (!value->is_number_unsigned() ||
        value->get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      refuse(key, *value, "an integer from 0 to 2^63 - 1");
    }
    return value->get<std::int64_t>();
  }

  std::optional<ObjectReader> object(const char* key, std::span<const char* const> keys) const {
    const Json* value = find(key);
    if (value == nullptr) {
      return std::nullopt;
    }
    return ObjectReader(*value, where_, prefix_ + key + ".", keys);
  }

 private:
  const Json* find(const char* key) const {
    const auto found = object_.find(key);
    return found == object_.end() ? nullptr : &*found;
  }

  [[noreturn]] void refuse(const char* key, const Json& value, const char* allowed) const {
    throw InputError(fmt::format("{}: {}{} is {}; allowed: {}", where_, prefix_, key, shown(value), allowed));
  }

  const Json& object_;
  std::string where_;
  std::string prefix_;
};

/// Parses one line, refusing duplicate keys (the library would silently keep the last) and nesting deeper than a
/// record has.
Json parse_line(std::string_view line, const std::string& where) {
  constexpr int kDeepest = 2;
  std::vector<std::set<std::string>> seen(1);
  const Json::parser_callback_t check = [&](int depth, Json::parse_event_t event, Json& value) {
    if (event == Json::parse_event_t::object_start || event == Json::parse_event_t::array_start) {
      if (depth >= kDeepest) {
        throw InputError(fmt::format("{}: nested deeper than {} levels; allowed: a record", where, kDeepest));
      }
      seen.resize(static_cast<std::size_t>(depth) + 2);
      seen.back().clear();
    } else if (event == Json::parse_event_t::key &&
               !seen[static_cast<std::size_t>(depth)].insert(value.get<std::string>()).second) {
      throw InputError(fmt::format("{}: key {} is given twice; allowed: once", where, shown(value)));
    }
    return true;
  };
  try {
    return Json::parse(line, check);
  } catch (const Json::parse_error& error) {
    throw InputError(
        fmt::format("{}: not valid JSON at column {}; allowed: one record as a JSON object", where, error.byte));
  } catch (const Json::out_of_range&) {
    throw InputError(fmt::format("{}: a number is too large; allowed: numbers that fit a double", where));
  }
}

Record read_record(const Json& json, const std::string& where) {
  const ObjectReader reader(json, where, "", kRecordKeys);
  Record record;
  record.workload = reader.required_text("workload");
  record.schedule = reader.required_text("schedule");
  record.executor = reader.required_text("executor");
  record.machine = reader.required_text("machine");
  record.seconds = reader.number("seconds");
  record.seconds_p20 = reader.number("seconds_p20");
  record.seconds_p80 = reader.number("seconds_p80");
  record.samples = reader.integer("samples");
  record.bytes = reader.integer("bytes");
  record.bytes_per_second = reader.number("bytes_per_second");
  record.num_splits = reader.integer("num_splits");
  record.ctas = reader.integer("ctas");
  record.waves = reader.number("waves");
  record.occupancy = reader.number("occupancy");
  record.merge = reader.text("merge");
  if (const auto parts = reader.object("breakdown", kBreakdownKeys)) {
    record.breakdown = schedules::Breakdown{parts->required_number("launch"), parts->required_number("ramp"),
                                            parts->required_number("stream"), parts->required_number("compute"),
                                            parts->required_number("merge"),  parts->required_number("wait"),
                                            parts->required_number("idle")};
  }
  if (const auto error = reader.object("error", kErrorKeys)) {
    record.error =
        RecordError{error->number_or_nan("relative_l2"), error->number_or_nan("rmse"), error->number_or_nan("max_abs")};
  }
  record.failure = reader.text("failure");
  record.commit = reader.required_text("commit");
  record.version = reader.required_text("version");
  return record;
}

}  // namespace

std::vector<Record> parse_records(std::string_view text, const std::string& where) {
  std::vector<Record> records;
  std::int64_t number = 0;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    ++number;
    if (line.find_first_not_of(" \t\r") != std::string_view::npos) {
      const std::string at = fmt::format("{}: line {}", where, number);
      records.push_back(read_record(parse_line(line, at), at));
    }
  }
  return records;
}

}  // namespace splitwave::reports
