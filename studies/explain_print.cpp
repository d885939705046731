// SPDX-License-Identifier: Apache-2.0
// Explanations as text and as JSON.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "reports/table.h"
#include "studies/explain.h"

namespace splitwave::studies {
namespace {

using reports::Align;

constexpr std::size_t kShownAlternatives = 5;

std::string cut_line(const Explanation& e) {
  std::string line = fmt::format(
      "{} output tiles of up to {} rows; {} KV tiles of {} tokens in {} items ({} empty); {} "
      "CTAs ({} dispatch)",
      e.plan.outputs.size(), e.plan.tile_q, e.metrics.tiles, e.plan.tile_kv, e.metrics.items, e.metrics.empty_items,
      e.metrics.ctas, to_string(e.plan.dispatch));
  if (e.metrics.merges > 0) line += fmt::format("; {} merges ({})", e.metrics.merges, to_string(e.plan.merge));
  return line;
}

std::string time_table(const Explanation& e) {
  const std::array<Part, 7> all = parts(e.timeline.breakdown);
  std::vector<double> seconds;
  for (const Part& part : all) seconds.push_back(part.seconds);
  const std::vector<std::int64_t> nanoseconds = rounded_to_sum(seconds, 1e-9);
  const std::vector<std::int64_t> permille = e.timeline.seconds > 0 ? rounded_to_sum(seconds, e.timeline.seconds / 1000)
                                                                    : std::vector<std::int64_t>(all.size());
  reports::Table table{{{"  part"}, {"µs", Align::right}, {"%", Align::right}}, {}};
  std::int64_t total = 0;
  std::int64_t total_permille = 0;
  const auto row = [&](std::string_view name, std::int64_t nano, std::int64_t mille) {
    table.rows.push_back({fmt::format("  {}", name), fmt::format("{}.{:03}", nano / 1000, nano % 1000),
                          fmt::format("{}.{}", mille / 10, mille % 10)});
  };
  for (std::size_t i = 0; i < all.size(); ++i) {
    row(all[i].name, nanoseconds[i], permille[i]);
    total += nanoseconds[i];
    total_permille += permille[i];
  }
  row("total", total, total_permille);
  return reports::to_text(table);
}

/// Empty if it is not known.
std::string energy_lines(const Explanation& e) {
  if (!e.energy) return "";
  const schedules::Energy& joules = *e.energy;
  const auto share = [&](double part) { return reports::format_percent(part / joules.total()); };
  return fmt::format(
      "Energy\n  {} predicted, {:.0f} W; idle {}, SMs {}, DRAM {}, L2 {}, shared memory {}, arithmetic {}\n\n",
      reports::format_joules(joules.total()), e.timeline.seconds > 0 ? joules.total() / e.timeline.seconds : 0,
      share(joules.idle), share(joules.sms), share(joules.dram), share(joules.l2), share(joules.shared),
      share(joules.arithmetic));
}

std::string better_lines(const Explanation& e) {
  if (e.alternatives.empty()) return "  nothing else can serve this workload\n";
  const std::size_t faster =
      static_cast<std::size_t>(std::count_if(e.alternatives.begin(), e.alternatives.end(),
                                             [&](const Alternative& one) { return one.seconds < e.timeline.seconds; }));
  std::string text =
      faster == 0
          ? fmt::format("  none of the {} others tried is faster; the next ones are\n", e.alternatives.size())
          : fmt::format("  {} of the {} others tried are faster; the best ones are\n", faster, e.alternatives.size());
  reports::Table table{{{"  schedule"}, {"splits", Align::right}, {"time", Align::right}, {"speed-up", Align::right}},
                       {}};
  for (std::size_t i = 0; i < std::min(kShownAlternatives, e.alternatives.size()); ++i) {
    const Alternative& one = e.alternatives[i];
    table.rows.push_back({"  " + one.schedule, std::to_string(one.num_splits), reports::format_seconds(one.seconds),
                          reports::format_factor(e.timeline.seconds / one.seconds)});
  }
  return text + reports::to_text(table);
}

}  // namespace

std::string to_text(const Explanation& e) {
  const double sm_seconds = e.timeline.seconds * e.grid.sms;
  std::string text = fmt::format("{} on {}: {}\n", e.plan.schedule, e.machine, e.workload);
  text +=
      fmt::format("  {} predicted; {}, {} of what a plain read reaches\n", reports::format_seconds(e.timeline.seconds),
                  reports::format_bandwidth(e.bytes_per_second), reports::format_percent(e.bandwidth_share));
  text += fmt::format("  error of such predictions: {}\n\n", e.error_band);
  text += fmt::format("Rule\n  num_splits {}: {}\n\n", e.plan.num_splits, e.plan.reason);
  text += fmt::format("Cut\n  {}\n\n", cut_line(e));
  text += fmt::format("Machine\n  {} SMs x {} resident CTAs of kernel {}; {:.2f} waves; quantization efficiency {}\n",
                      e.grid.sms, e.grid.ctas_per_sm, e.kernel.name, e.metrics.waves,
                      reports::format_percent(e.metrics.quantization_efficiency));
  text += fmt::format("  idle: {} of SM time ({:.1f} of {:.1f} SM·µs); occupancy {}\n\n",
                      reports::format_percent(sm_seconds > 0 ? e.idle_sm_seconds / sm_seconds : 0),
                      e.idle_sm_seconds * 1e6, sm_seconds * 1e6, reports::format_percent(e.timeline.occupancy));
  text += "Time, averaged over CTA slots\n" + time_table(e) + '\n';
  text += energy_lines(e);
  text += fmt::format("Limit\n  {} ({}): {}\n  what would help: {}\n\n", e.limit.part,
                      reports::format_percent(e.limit.share), e.limit.why, e.limit.help);
  return text + "Better\n" + better_lines(e);
}

std::string to_json(const Explanation& e) {
  nlohmann::ordered_json json = {
      {"workload", e.workload},
      {"machine", e.machine},
      {"schedule", e.plan.schedule},
      {"kernel", e.kernel.name},
      {"reason", e.plan.reason},
      {"seconds", e.timeline.seconds},
      {"error_band", e.error_band},
      {"bytes", e.bytes},
      {"bytes_per_second", e.bytes_per_second},
      {"bandwidth_share", e.bandwidth_share},
      {"num_splits", e.plan.num_splits},
      {"tile_q", e.plan.tile_q},
      {"tile_kv", e.plan.tile_kv},
      {"outputs", e.plan.outputs.size()},
      {"tiles", e.metrics.tiles},
      {"items", e.metrics.items},
      {"empty_items", e.metrics.empty_items},
      {"ctas", e.metrics.ctas},
      {"dispatch", to_string(e.plan.dispatch)},
      {"merges", e.metrics.merges},
      {"merge", to_string(e.plan.merge)},
      {"sms", e.grid.sms},
      {"ctas_per_sm", e.grid.ctas_per_sm},
      {"waves", e.metrics.waves},
      {"quantization_efficiency", e.metrics.quantization_efficiency},
      {"occupancy", e.timeline.occupancy},
      {"idle_sm_seconds", e.idle_sm_seconds},
      {"idle_causes", {{"no_work", e.idle.no_work}, {"uneven", e.idle.uneven}, {"merging", e.idle.merging}}}};
  for (const Part& part : parts(e.timeline.breakdown)) json["breakdown"][std::string(part.name)] = part.seconds;
  if (e.energy) {
    json["joules"] = e.energy->total();
    json["energy"] = {{"idle", e.energy->idle}, {"sms", e.energy->sms},       {"dram", e.energy->dram},
                      {"l2", e.energy->l2},     {"shared", e.energy->shared}, {"arithmetic", e.energy->arithmetic}};
  }
  json["limit"] = {{"part", e.limit.part}, {"share", e.limit.share}, {"why", e.limit.why}, {"help", e.limit.help}};
  json["alternatives"] = nlohmann::json::array();
  for (const Alternative& one : e.alternatives) {
    json["alternatives"].push_back({{"schedule", one.schedule},
                                    {"num_splits", one.num_splits},
                                    {"seconds", one.seconds},
                                    {"speed_up", e.timeline.seconds / one.seconds}});
  }
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace splitwave::studies
