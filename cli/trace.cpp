// SPDX-License-Identifier: Apache-2.0
#include "cli/trace.h"

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <set>

namespace splitwave::cli {
namespace {

using Json = nlohmann::ordered_json;

Json metadata(int process, const char* name, Json args) {
  return {{"ph", "M"}, {"pid", process}, {"name", name}, {"args", std::move(args)}};
}

Json metadata(int process, std::int32_t track, const char* name, Json args) {
  return {{"ph", "M"}, {"pid", process}, {"tid", track}, {"name", name}, {"args", std::move(args)}};
}

std::int32_t slots_per_sm(const schedules::Timeline& timeline) {
  std::int32_t slots = 1;
  for (const schedules::Span& span : timeline.spans) slots = std::max(slots, span.slot + 1);
  return slots;
}

Json event(const TracedRun& run, int process, std::int32_t track, const schedules::Span& span) {
  constexpr double kMicro = 1e6;
  Json json = {{"ph", "X"},
               {"pid", process},
               {"tid", track},
               {"ts", span.begin_seconds * kMicro},
               {"dur", (span.end_seconds - span.begin_seconds) * kMicro}};
  if (span.item < 0) {
    json["name"] = "merge";
    json["cat"] = "merge";
    json["args"] = {{"cta", span.cta}};
    return json;
  }
  const schedules::Item& item = run.plan->items[static_cast<std::size_t>(span.item)];
  const schedules::OutputTile& output = run.plan->outputs[static_cast<std::size_t>(item.output)];
  json["name"] = "output " + std::to_string(item.output);
  json["cat"] = "item";
  json["args"] = {{"cta", span.cta},
                  {"item", span.item},
                  {"request", output.request},
                  {"kv_head", schedules::kv_head(*run.workload, output)},
                  {"kv_begin", item.kv_begin},
                  {"kv_end", item.kv_end},
                  {"tiles", schedules::tiles(*run.plan, item)},
                  {"partial_slot", item.slot}};
  return json;
}

void add_run(Json& events, const TracedRun& run, int process) {
  const std::int32_t slots = slots_per_sm(*run.timeline);
  events.push_back(metadata(process, "process_name", {{"name", run.title}}));
  events.push_back(metadata(process, "process_sort_index", {{"sort_index", process}}));
  std::set<std::int32_t> named;
  for (const schedules::Span& span : run.timeline->spans) {
    const std::int32_t track = span.sm * slots + span.slot + 1;
    if (named.insert(track).second) {
      const std::string slot = slots > 1 ? " slot " + std::to_string(span.slot) : "";
      events.push_back(metadata(process, track, "thread_name", {{"name", "SM " + std::to_string(span.sm) + slot}}));
      events.push_back(metadata(process, track, "thread_sort_index", {{"sort_index", track}}));
    }
    events.push_back(event(run, process, track, span));
  }
}

}  // namespace

std::string chrome_trace(std::span<const TracedRun> runs) {
  Json events = Json::array();
  int process = 0;
  for (const TracedRun& run : runs) add_run(events, run, ++process);
  // An event per line: a trace stays readable and two of them can be compared.
  std::string text = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
  const char* separator = "\n";
  for (const Json& one : events) {
    text += separator;
    text += one.dump(-1, ' ', false, Json::error_handler_t::replace);
    separator = ",\n";
  }
  return text + "\n]}\n";
}

}  // namespace splitwave::cli
