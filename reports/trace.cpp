// SPDX-License-Identifier: Apache-2.0
#include "reports/trace.h"

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

namespace splitwave::reports {
namespace {

using Json = nlohmann::ordered_json;

Json metadata(int process, const char* name, Json args) {
  return {{"ph", "M"}, {"pid", process}, {"name", name}, {"args", std::move(args)}};
}

Json metadata(int process, std::int32_t track, const char* name, Json args) {
  return {{"ph", "M"}, {"pid", process}, {"tid", track}, {"name", name}, {"args", std::move(args)}};
}

std::int32_t slot_index(const TracedRun& run, const schedules::Span& span) {
  return span.sm * run.slots_per_sm + span.slot;
}

/// Ends each item where the next one on its SM slot begins.
void end_at_next(const TracedRun& run, std::vector<schedules::Span>& items) {
  std::stable_sort(items.begin(), items.end(), [&](const schedules::Span& a, const schedules::Span& b) {
    return std::pair(slot_index(run, a), a.begin_seconds) < std::pair(slot_index(run, b), b.begin_seconds);
  });
  for (std::size_t i = 0; i + 1 < items.size(); ++i) {
    if (slot_index(run, items[i]) != slot_index(run, items[i + 1])) continue;
    items[i].end_seconds = std::min(items[i].end_seconds, items[i + 1].begin_seconds);
  }
}

std::vector<schedules::Span> merge_kernel(const TracedRun& run) {
  const auto merges = static_cast<std::int32_t>(run.plan->merges.size());
  const std::int32_t slots = run.sms * run.slots_per_sm;
  const std::int32_t rounds = (merges + slots - 1) / slots;
  const double begin = run.timeline->seconds - run.timeline->breakdown.merge;
  std::vector<schedules::Span> spans;
  for (std::int32_t merge = 0; merge < merges; ++merge) {
    const std::int32_t round = merge / slots;
    const std::int32_t sm = merge % slots % run.sms;  // breadth first, as CTAs are placed
    const double step = run.timeline->breakdown.merge / rounds;
    spans.push_back(
        {run.plan->ctas() + merge, sm, merge % slots / run.sms, -1, begin + round * step, begin + (round + 1) * step});
  }
  return spans;
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
  events.push_back(metadata(process, "process_name", {{"name", run.title}}));
  events.push_back(metadata(process, "process_sort_index", {{"sort_index", process}}));
  std::set<std::int32_t> named;
  for (const schedules::Span& span : drawn_spans(run)) {
    const bool merge = span.item < 0;
    const std::int32_t track = 2 * slot_index(run, span) + (merge ? 2 : 1);
    if (named.insert(track).second) {
      std::string name = "SM " + std::to_string(span.sm);
      if (run.slots_per_sm > 1) name += " slot " + std::to_string(span.slot);
      if (merge) name += " merges";
      events.push_back(metadata(process, track, "thread_name", {{"name", name}}));
      events.push_back(metadata(process, track, "thread_sort_index", {{"sort_index", track}}));
    }
    events.push_back(event(run, process, track, span));
  }
}

}  // namespace

std::vector<schedules::Span> drawn_spans(const TracedRun& run) {
  std::vector<schedules::Span> items;
  std::vector<schedules::Span> merges;
  for (const schedules::Span& span : run.timeline->spans) (span.item < 0 ? merges : items).push_back(span);
  end_at_next(run, items);
  if (merges.empty() && !run.plan->merges.empty()) merges = merge_kernel(run);
  items.insert(items.end(), merges.begin(), merges.end());
  return items;
}

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

}  // namespace splitwave::reports
