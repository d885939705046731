// SPDX-License-Identifier: Apache-2.0
#include "schedules/plan_json.h"

#include <fmt/core.h>

#include <array>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/document.h"
#include "base/error.h"
#include "base/fields.h"
#include "schedules/metrics.h"
#include "schedules/validate.h"

namespace splitwave::schedules {
namespace {

using base::Fields;
using base::JsonValue;

constexpr std::int64_t kFormat = 1;
constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();

constexpr std::string_view kKeys[] = {"format",       "schedule",
                                      "num_splits",   "splits_per_request",
                                      "ctas",         "items",
                                      "merges",       "waves",
                                      "tile_q",       "tile_kv",
                                      "output_tiles", "empty_items",
                                      "slots",        "quantization_efficiency",
                                      "dispatch",     "workers",
                                      "merge",        "reason",
                                      "tiles",        "outputs",
                                      "item_list",    "cta_begin",
                                      "merge_list",   "longest_list_tiles"};

/// Row `index` of a list of fixed-length integer arrays.
template <std::size_t kLength>
std::array<std::int32_t, kLength> int_row(const JsonValue& rows, std::size_t index, const std::string& list,
                                          const std::string& where) {
  const JsonValue& row = rows.items[index];
  std::array<std::int32_t, kLength> values{};
  const auto refuse = [&](const JsonValue& found) {
    base::refuse_value(where, fmt::format("{}[{}]", list, index), found.shown(),
                       fmt::format("an array of {} integers of 32 bits", kLength));
  };
  if (!row.is(JsonValue::Kind::array) || row.items.size() != kLength) refuse(row);
  for (std::size_t i = 0; i < kLength; ++i) {
    const std::optional<std::int64_t> value = row.items[i].as_int64();
    if (!value || *value < -1 || *value > kMost) refuse(row.items[i]);
    values[i] = static_cast<std::int32_t>(*value);
  }
  return values;
}

template <std::size_t kLength, typename Append>
void read_rows(const Fields& fields, const std::string& key, Append append) {
  const JsonValue& rows = fields.array(key);
  for (std::size_t i = 0; i < rows.items.size(); ++i) append(int_row<kLength>(rows, i, key, fields.where()));
}

std::vector<std::int32_t> read_cta_begin(const Fields& fields) {
  const JsonValue& values = fields.array("cta_begin");
  std::vector<std::int32_t> result;
  for (std::size_t i = 0; i < values.items.size(); ++i) {
    const std::optional<std::int64_t> value = values.items[i].as_int64();
    if (!value || *value < 0 || *value > kMost) {
      base::refuse_value(fields.where(), fmt::format("cta_begin[{}]", i), values.items[i].shown(),
                         "an integer from 0 to 2147483647");
    }
    result.push_back(static_cast<std::int32_t>(*value));
  }
  return result;
}

template <typename Enum, std::size_t kCount>
Enum read_choice(const Fields& fields, std::string_view key, const Enum (&values)[kCount]) {
  std::vector<std::string> names;
  for (const Enum value : values) names.push_back(to_string(value));
  const std::vector<std::string_view> views(names.begin(), names.end());
  fields.at(key);
  return values[*fields.optional_choice(key, views)];
}

}  // namespace

std::string plan_to_json(const workloads::Workload& workload, const Plan& plan, const Grid& grid, bool full) {
  const Metrics m = metrics(plan, grid);
  nlohmann::ordered_json json;
  json["format"] = kFormat;
  json["schedule"] = plan.schedule;
  json["num_splits"] = plan.num_splits;
  json["splits_per_request"] = splits_per_request(workload, plan);
  json["ctas"] = m.ctas;
  json["items"] = m.items;
  json["empty_items"] = m.empty_items;
  json["merges"] = m.merges;
  json["slots"] = plan.slots();
  json["output_tiles"] = plan.outputs.size();
  json["tiles"] = m.tiles;
  json["longest_list_tiles"] = m.longest_list_tiles;
  json["waves"] = m.waves;
  json["quantization_efficiency"] = m.quantization_efficiency;
  json["tile_q"] = plan.tile_q;
  json["tile_kv"] = plan.tile_kv;
  json["dispatch"] = to_string(plan.dispatch);
  json["workers"] = plan.workers;
  json["merge"] = to_string(plan.merge);
  json["reason"] = plan.reason;
  if (full) {
    auto& outputs = json["outputs"] = nlohmann::ordered_json::array();
    for (const OutputTile& o : plan.outputs) {
      outputs.push_back({o.request, o.head_begin, o.head_count, o.row_begin, o.row_end});
    }
    auto& items = json["item_list"] = nlohmann::ordered_json::array();
    for (const Item& item : plan.items) items.push_back({item.output, item.kv_begin, item.kv_end, item.slot});
    json["cta_begin"] = plan.cta_begin;
    auto& merges = json["merge_list"] = nlohmann::ordered_json::array();
    for (const Merge& merge : plan.merges) merges.push_back({merge.output, merge.slot_begin, merge.slot_end});
  }
  return json.dump();
}

Plan plan_from_json(const workloads::Workload& workload, const std::string& text, const std::string& where) {
  const JsonValue document = base::parse_document(text, where);
  const Fields fields(document, where, "", kKeys);
  fields.integer("format", kFormat, kFormat);
  Plan plan;
  plan.schedule = fields.line("schedule");
  plan.tile_q = fields.int32("tile_q", 1, kMost);
  plan.tile_kv = fields.int32("tile_kv", 1, kMost);
  plan.num_splits = fields.int32("num_splits", 1, kMost);
  static constexpr Dispatch kDispatches[] = {Dispatch::hardware, Dispatch::fixed, Dispatch::queue};
  plan.dispatch = read_choice(fields, "dispatch", kDispatches);
  plan.workers = fields.int32("workers", 0, kMost);
  static constexpr MergeKind kMerges[] = {MergeKind::none, MergeKind::kernel, MergeKind::host_cta,
                                          MergeKind::last_arriver};
  plan.merge = read_choice(fields, "merge", kMerges);
  plan.reason = fields.optional_line("reason").value_or("");
  read_rows<5>(fields, "outputs", [&](const auto& v) { plan.outputs.push_back({v[0], v[1], v[2], v[3], v[4]}); });
  read_rows<4>(fields, "item_list", [&](const auto& v) { plan.items.push_back({v[0], v[1], v[2], v[3]}); });
  plan.cta_begin = read_cta_begin(fields);
  read_rows<3>(fields, "merge_list", [&](const auto& v) { plan.merges.push_back({v[0], v[1], v[2]}); });
  const std::vector<std::string> problems = violations(workload, plan);
  if (!problems.empty()) throw base::InputError(fmt::format("{}: {}", where, problems.front()));
  return plan;
}

}  // namespace splitwave::schedules
