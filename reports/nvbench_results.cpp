// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/document.h"
#include "base/error.h"
#include "base/fields.h"
#include "base/text.h"
#include "reports/foreign_records.h"

namespace splitwave::reports {
namespace {

using base::Fields;
using base::JsonValue;
using Json = nlohmann::ordered_json;

/// Tag of a summary of our own: nvbench lets programs add any.
constexpr std::string_view kWhole = "splitwave/record";

std::string dumped(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// The value of the summary with the tag, as nvbench writes all values: as text (json_printer.cu:80).
std::optional<std::string> summary_value(const Fields& state, std::string_view tag) {
  const JsonValue* summaries = state.find("summaries");
  if (summaries == nullptr) return std::nullopt;
  for (const JsonValue& summary : summaries->items) {
    const JsonValue* name = summary.find("tag");
    const JsonValue* data = summary.find("data");
    if (name == nullptr || name->text != tag || data == nullptr) continue;
    for (const JsonValue& one : data->items) {
      const JsonValue* key = one.find("name");
      const JsonValue* value = one.find("value");
      if (key != nullptr && key->text == "value" && value != nullptr) return value->text;
    }
  }
  return std::nullopt;
}

std::optional<double> summary_number(const Fields& state, std::string_view tag) {
  const std::optional<std::string> text = summary_value(state, tag);
  if (!text) return std::nullopt;
  const std::optional<double> number = base::parse_document(*text, state.where()).as_double();
  if (!number || !(*number >= 0))
    base::refuse_value(state.where(), std::string(tag), base::printable(*text), "a number from 0");
  return number;
}

std::string axis_words(const Fields& state) {
  std::string words;
  const JsonValue* values = state.find("axis_values");
  if (values != nullptr) {
    for (const JsonValue& one : values->items) {
      const Fields axis(one, state.where(), "axis_values");
      words += (words.empty() ? "" : " ") + axis.label("name") + '=' + axis.label("value");
    }
  }
  return words;
}

/// The names of the devices by id.
std::map<std::int64_t, std::string> device_names(const Fields& document) {
  std::map<std::int64_t, std::string> names;
  for (const JsonValue& one : document.array("devices").items) {
    const Fields device(one, document.where(), "devices");
    names[device.integer("id", 0, 1 << 20)] = device.label("name");
  }
  return names;
}

Record read_state(const Fields& state, const std::string& benchmark,
                  const std::map<std::int64_t, std::string>& devices) {
  if (const std::optional<std::string> whole = summary_value(state, kWhole)) return parse_record(*whole, state.where());
  Record record;
  record.workload = axis_words(state);
  record.schedule = benchmark;
  record.executor = "peer:nvbench";
  const auto device = devices.find(state.integer("device", 0, 1 << 20));
  if (device == devices.end()) state.refuse("device", "the id of one of the devices");
  record.machine = device->second;
  if (state.optional_boolean("is_skipped").value_or(false)) {
    record.failure = base::printable(state.optional_text("skip_reason").value_or("skipped"), 200);
    return record;
  }
  record.seconds = summary_number(state, "nv/cold/time/gpu/median");
  if (!record.seconds) record.seconds = summary_number(state, "nv/cold/time/gpu/mean");
  if (!record.seconds) throw base::InputError(state.where() + ": has no cold GPU time");
  if (const std::optional<double> samples = summary_number(state, "nv/cold/sample_size")) {
    record.samples = static_cast<std::int64_t>(std::min(*samples, 1e15));
  }
  record.bytes_per_second = summary_number(state, "nv/cold/bw/global/bytes_per_second");
  return record;
}

Json summary(std::string_view tag, std::string_view name, std::string_view hint, std::string_view type,
             const std::string& value) {
  Json json = {{"tag", tag}, {"name", name}};
  if (!hint.empty()) json["hint"] = hint;
  json["data"] = Json::array({{{"name", "value"}, {"type", type}, {"value", value}}});
  return json;
}

}  // namespace

void parse_nvbench(std::string_view text, const std::string& where, const RecordTaker& taker) {
  const JsonValue json = base::parse_document(text, where);
  const Fields document(json, where, "");
  const std::map<std::int64_t, std::string> devices = device_names(document);
  std::int64_t number = 0;
  for (const JsonValue& one : document.array("benchmarks").items) {
    const Fields benchmark(one, where, "benchmarks");
    const std::string name = benchmark.label("name");
    if (!benchmark.has("states")) continue;
    for (const JsonValue& state : benchmark.array("states").items) {
      const std::string place = fmt::format("{}: state {}", where, ++number);
      try {
        taker.take(read_state(Fields(state, place, ""), name, devices), place);
      } catch (const base::InputError& error) {
        taker.skip(error.what());
      }
    }
  }
}

std::string NvbenchPrinter::begin() const {
  const Json meta = {{"argv", Json::array({"splitwave", "records"})},
                     {"version", {{"json", {{"major", 1}, {"minor", 0}, {"patch", 0}, {"string", "1.0.0"}}}}}};
  return R"({"meta":)" + dumped(meta) + R"(,"benchmarks":[{"name":"splitwave","index":0,"states":[)" + '\n';
}

std::string NvbenchPrinter::state(const Record& record) {
  const auto id = devices_.try_emplace(record.machine, static_cast<std::int64_t>(devices_.size())).first->second;
  Json axes = Json::array();
  std::string name = fmt::format("Device={}", id);
  for (const auto& [axis, value] : {std::pair<const char*, const std::string&>{"Workload", record.workload},
                                    {"Schedule", record.schedule},
                                    {"Executor", record.executor}}) {
    axes.push_back({{"name", axis}, {"type", "string"}, {"value", value}});
    name += fmt::format(" {}={}", axis, value);
    values_[axis].insert(value);
  }
  Json json = {{"name", name}, {"device", id}, {"type_config_index", 0}, {"axis_values", axes}};
  Json summaries = Json::array();
  const auto number = [](double value) { return fmt::format("{}", value); };
  if (record.samples) {
    summaries.push_back(
        summary("nv/cold/sample_size", "Samples", "sample_size", "int64", fmt::format("{}", *record.samples)));
  }
  if (record.seconds && std::isfinite(*record.seconds)) {
    summaries.push_back(
        summary("nv/cold/time/gpu/median", "Median GPU Time", "duration", "float64", number(*record.seconds)));
  }
  if (record.bytes_per_second && std::isfinite(*record.bytes_per_second)) {
    summaries.push_back(summary("nv/cold/bw/global/bytes_per_second", "GlobalMem BW", "byte_rate", "float64",
                                number(*record.bytes_per_second)));
  }
  summaries.push_back(summary(kWhole, "Record", "", "string", to_json(record)));
  json["summaries"] = summaries;
  json["is_skipped"] = record.failure.has_value();
  if (record.failure) json["skip_reason"] = *record.failure;
  const std::string comma = first_ ? "" : ",\n";
  first_ = false;
  return comma + dumped(json);
}

std::string NvbenchPrinter::end() const {
  Json ids = Json::array();
  Json devices = Json::array();
  for (const auto& [machine, id] : devices_) {
    ids.push_back(id);
    devices.push_back({{"id", id}, {"name", machine}});
  }
  Json axes = Json::array();
  for (const char* axis : {"Workload", "Schedule", "Executor"}) {
    Json values = Json::array();
    const auto found = values_.find(axis);
    if (found != values_.end()) {
      for (const std::string& value : found->second) {
        values.push_back({{"input_string", value}, {"description", ""}, {"value", value}});
      }
    }
    axes.push_back({{"name", axis}, {"type", "string"}, {"flags", ""}, {"values", values}});
  }
  return fmt::format("\n],\"devices\":{},\"axes\":{}}}],\"devices\":{}}}\n", dumped(ids), dumped(axes),
                     dumped(devices));
}

}  // namespace splitwave::reports
