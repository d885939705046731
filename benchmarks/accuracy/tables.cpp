// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/accuracy/tables.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <set>
#include <utility>

#include "benchmarks/accuracy/statistics.h"
#include "reports/table.h"
#include "simulator/kernel.h"

namespace splitwave::accuracy {
namespace {

using reports::Align;

bool all(const JudgedPoint&) {
  return true;
}

auto of_peer(const Peer& peer) {
  return [&peer](const JudgedPoint& one) { return one.peer == &peer; };
}

reports::Table error_table(const std::string& first_column) {
  return {{{first_column, Align::left},
           {"n", Align::right},
           {"MAPE %", Align::right},
           {"p50", Align::right},
           {"p90", Align::right},
           {"max", Align::right},
           {"bias", Align::right},
           {"data-sheet roofline", Align::right}},
          {}};
}

void add_row(reports::Table& table, std::string_view title, const Summary& errors) {
  if (errors.points == 0) return;
  table.rows.push_back({std::string(title), std::to_string(errors.points), percent(errors.mean), percent(errors.p50),
                        percent(errors.p90), percent(errors.most), fmt::format("{:+.1f}", errors.bias * 100),
                        percent(errors.roofline_mean)});
}

std::vector<std::string> order_row(const std::string& title, const Order& one) {
  return {title,
          std::to_string(one.pairs),
          percent(static_cast<double>(one.right) / static_cast<double>(one.pairs)),
          std::to_string(one.shapes),
          fmt::format("{:.2f}", one.tau_mean),
          fmt::format("{:.2f}", one.tau_median),
          fmt::format("{:.2f}", one.tau_p10),
          percent(one.regret_mean)};
}

std::string band(const Summary& errors) {
  return fmt::format(R"("points": {}, "median_error": {:.3f}, "p90_error": {:.3f})", errors.points, errors.p50,
                     errors.p90);
}

std::string schedule_band(std::string_view schedule, const Summary& errors) {
  return fmt::format(R"(       {{"schedule": "{}", {}}})", schedule, band(errors));
}

bool is_latent(const JudgedPoint& one) {
  return one.point->workload.geometry.kind == workloads::AttentionKind::mla;
}

/// A schedule as error_bands.json names it, and which points are its.
using OfSchedule = std::function<bool(const JudgedPoint&)>;
using Schedules = std::vector<std::pair<std::string, OfSchedule>>;

/// The entries of a machine in error_bands.json: all kinds of attention but the latent one, then that; `kernel` is its
/// key and value, or nothing.
std::vector<std::string> machine_bands(std::string_view machine, const std::string& kernel,
                                       std::span<const JudgedPoint> points, const Schedules& schedules) {
  std::vector<std::string> entries;
  for (const bool latent : {false, true}) {
    const auto summary = [&](const OfSchedule& is_it) {
      return summarize(points, [&](const JudgedPoint& one) { return is_latent(one) == latent && is_it(one); });
    };
    std::vector<std::string> bands;
    for (const auto& [name, is_it] : schedules) {
      const Summary errors = summary(is_it);
      if (errors.points > 0) bands.push_back(schedule_band(name, errors));
    }
    if (bands.empty()) continue;
    entries.push_back(fmt::format(
        "\n    {{\"machine\": \"{}\", {}{}{}, \"source\": \"docs/accuracy.md, scripts/accuracy\",\n     "
        "\"schedules\": [\n{}\n     ]}}",
        machine, kernel, latent ? "\"attention\": \"mla\", " : "", band(summary(all)), fmt::join(bands, ",\n")));
  }
  return entries;
}

}  // namespace

std::string percent(double ratio) {
  return fmt::format("{:.1f}", ratio * 100);
}

std::string kernel_table(std::span<const JudgedPoint> predictions) {
  reports::Table table = error_table("kernel");
  for (const Peer& peer : peers()) add_row(table, peer.title, summarize(predictions, of_peer(peer)));
  if (table.rows.size() != 1) add_row(table, "all", summarize(predictions, all));
  return reports::to_markdown(table);
}

std::string size_table(std::span<const JudgedPoint> predictions) {
  reports::Table table = error_table("K and V");
  for (const SizeClass& size : size_classes()) {
    add_row(table, size.title, summarize(predictions, [&](const JudgedPoint& one) {
              return one.bytes >= size.least_bytes && one.bytes < size.most_bytes;
            }));
  }
  return reports::to_markdown(table);
}

std::string order_table(const Judged& judged) {
  reports::Table table{{{"constants", Align::left},
                        {"pairs", Align::right},
                        {"same sign %", Align::right},
                        {"shapes", Align::right},
                        {"tau mean", Align::right},
                        {"median", Align::right},
                        {"p10", Align::right},
                        {"regret %", Align::right}},
                       {}};
  table.rows.push_back(order_row("each kernel's own", order(judged.own)));
  table.rows.push_back(order_row("none", order(judged.without)));
  return reports::to_markdown(table);
}

std::string all_predictions(std::span<const Judged> judged, std::span<const OwnJudged> own) {
  std::string text =
      "machine,sms,kernel,config,shape,measured_us,predicted_us,error_percent,without_constants_us,roofline_us,launch_"
      "us,"
      "ramp_us,stream_us,compute_us,merge_us,wait_us,idle_us\n";
  const auto row = [&](std::string_view machine, std::string_view kernel, std::string_view config,
                       const JudgedPoint& one, const std::string& without) {
    const std::string sms = one.point->sms > 0 ? std::to_string(one.point->sms) : "";
    text += fmt::format("{},{},{},{},{},{:.3f},{:.3f},{:.1f},{},{:.3f}", machine, sms, kernel, config,
                        one.point->workload.name, one.point->seconds * 1e6, one.seconds * 1e6, one.error() * 100,
                        without, one.roofline_seconds * 1e6);
    const schedules::Breakdown& p = one.parts;
    for (const double part : {p.launch, p.ramp, p.stream, p.compute, p.merge, p.wait, p.idle}) {
      text += fmt::format(",{:.2f}", part * 1e6);
    }
    text += '\n';
  };
  for (const OwnJudged& machine : own) {
    for (const JudgedPoint& one : machine.points) {
      row(machine.machine, fmt::format("{} {}", simulator::kOwnKernel, one.point->kernel), one.point->note, one, "");
    }
  }
  for (const Judged& machine : judged) {
    for (std::size_t i = 0; i < machine.own.size(); ++i) {
      const JudgedPoint& one = machine.own[i];
      row(machine.machine, one.point->kernel, "", one, fmt::format("{:.3f}", machine.without[i].seconds * 1e6));
    }
  }
  return text;
}

std::string error_bands(std::span<const Judged> judged, std::span<const OwnJudged> own) {
  std::vector<std::string> entries;
  const auto add = [&](std::vector<std::string> more) {
    std::move(more.begin(), more.end(), std::back_inserter(entries));
  };
  for (const Judged& machine : judged) {
    Schedules schedules;
    std::set<std::string_view> seen;  // several kernels may run one
    for (const Peer& peer : peers()) {
      if (peer.schedule.empty() || !seen.insert(peer.schedule).second) continue;
      schedules.emplace_back(peer.schedule,
                             [&](const JudgedPoint& one) { return one.peer->schedule == peer.schedule; });
    }
    add(machine_bands(machine.machine, "", machine.own, schedules));
  }
  const std::string kernel = fmt::format(R"("kernel": "{}", )", simulator::kOwnKernel);
  for (const OwnJudged& machine : own) {
    Schedules schedules;
    for (const std::string& schedule : schedules_of(machine.points)) {
      schedules.emplace_back(schedule, [schedule](const JudgedPoint& one) { return one.point->kernel == schedule; });
    }
    add(machine_bands(machine.machine, kernel, machine.points, schedules));
  }
  return fmt::format(
      "{{\n  \"format\": 3,\n  \"note\": \"How well the simulator's predictions agree with measured kernels, "
      "written by scripts/accuracy: per machine (its name in simulator/machines), kernel (that runs all schedules; "
      "none: each in "
      "its own library's), attention (mla; none: all other kinds) and schedule: points, median_error and p90_error "
      "(ratios), and where the figures come from.\",\n  \"judged\": [{}\n  ]\n}}\n",
      fmt::join(entries, ","));
}

}  // namespace splitwave::accuracy
