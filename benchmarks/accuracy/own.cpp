// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/accuracy/own.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>

#include "base/document.h"
#include "base/error.h"
#include "base/fields.h"
#include "base/quantile.h"
#include "base/text.h"
#include "benchmarks/accuracy/statistics.h"
#include "benchmarks/accuracy/tables.h"
#include "reports/table.h"
#include "simulator/alternatives.h"
#include "studies/predict.h"

namespace splitwave::accuracy {
namespace {

using reports::Align;
using workloads::Workload;

constexpr int kResamples = 1000;
/// Measured times that differ by no more than this are no clear speed-up.
constexpr double kClearGap = 0.05;

/// On the config that was measured; nothing if it is not predicted to run the plan.
std::optional<studies::Prediction> predict_point(const Point& point, const studies::Target& target) {
  for (const simulator::KernelProfile& kernel :
       simulator::alternatives(*target.kernel, point.workload, target.machine, simulator::kAnyRows)) {
    if (kernel.config != point.note) continue;
    return studies::predict_with(std::numeric_limits<double>::infinity(), point.workload, point.kernel, kernel, target);
  }
  throw base::InputError(fmt::format("{} on {}: no kernel {} is known", point.kernel, point.workload.name, point.note));
}

/// Every wave takes what its longest list would at an equal share of the data sheet's bandwidth, and nothing else does.
double seconds_of_waves(const studies::Prediction& run, const Workload& workload, const simulator::Machine& machine) {
  const schedules::Plan& plan = run.plan;
  std::int64_t longest = 0;
  for (std::size_t list = 0; list + 1 < plan.cta_begin.size(); ++list) {
    std::int64_t tokens = 0;
    for (auto i = plan.cta_begin[list]; i < plan.cta_begin[list + 1]; ++i) {
      tokens += plan.items[static_cast<std::size_t>(i)].tokens();
    }
    longest = std::max(longest, tokens);
  }
  const std::int64_t resident = run.grid.resident();
  const std::int64_t waves = (plan.lists() + resident - 1) / resident;
  return static_cast<double>(waves * longest * resident * workloads::kv_bytes_per_token(workload.geometry)) /
         machine.dram_peak_bytes_per_second;
}

bool ragged(const Workload& w) {
  return std::any_of(w.requests.begin(), w.requests.end(),
                     [&](const workloads::Request& r) { return r != w.requests.front(); });
}

/// The mean with its 95 % interval by resampling points.
std::string with_interval(const std::vector<double>& errors) {
  std::mt19937 random(1);
  std::vector<double> means;
  std::vector<double> drawn(errors.size());
  for (int i = 0; i < kResamples; ++i) {
    for (double& value : drawn) value = errors[random() % errors.size()];
    means.push_back(mean(drawn));
  }
  return fmt::format("{} ({} to {})", percent(mean(errors)), percent(base::quantile(means, 0.025)),
                     percent(base::quantile(means, 0.975)));
}

void add_row(reports::Table& table, const std::string& title, std::span<const JudgedPoint> judged,
             const std::function<bool(const JudgedPoint&)>& chosen) {
  std::vector<double> errors;
  double bias = 0;
  double roofline = 0;
  double waves = 0;
  for (const JudgedPoint& one : judged) {
    if (!chosen(one)) continue;
    errors.push_back(std::abs(one.error()));
    bias += one.error();
    roofline += std::abs(one.roofline_error());
    waves += std::abs(one.waves_error());
  }
  if (errors.empty()) return;
  const auto n = static_cast<double>(errors.size());
  table.rows.push_back({title, std::to_string(errors.size()), with_interval(errors),
                        percent(base::quantile(errors, 0.5)), percent(base::quantile(errors, 0.9)),
                        percent(base::quantile(errors, 0.99)), percent(base::quantile(errors, 1)),
                        fmt::format("{:+.1f}", bias / n * 100), percent(roofline / n), percent(waves / n)});
}

reports::Table error_columns() {
  return {{{"points", Align::left},
           {"n", Align::right},
           {"mean % (95 % interval)", Align::right},
           {"p50", Align::right},
           {"p90", Align::right},
           {"p99", Align::right},
           {"max", Align::right},
           {"bias", Align::right},
           {"data-sheet roofline", Align::right},
           {"waves alone", Align::right}},
          {}};
}

void add_schedules(reports::Table& table, std::span<const JudgedPoint> judged) {
  for (const std::string& schedule : schedules_of(judged)) {
    add_row(table, "`" + schedule + "`", judged, [&](const JudgedPoint& one) { return one.point->kernel == schedule; });
  }
}

std::string error_rows(std::span<const JudgedPoint> judged) {
  reports::Table table = error_columns();
  const auto where = [&](const std::string& title, const std::function<bool(const JudgedPoint&)>& chosen) {
    add_row(table, title, judged, chosen);
  };
  where("all", [](const JudgedPoint&) { return true; });
  where("uniform", [](const JudgedPoint& one) { return !ragged(one.point->workload); });
  where("ragged", [](const JudgedPoint& one) { return ragged(one.point->workload); });
  where("single queries", [](const JudgedPoint& one) { return workloads::max_query_len(one.point->workload) == 1; });
  where("2 to 8 queries", [](const JudgedPoint& one) { return workloads::max_query_len(one.point->workload) > 1; });
  const auto paged = [](const JudgedPoint& one) { return one.point->workload.kv.layout == workloads::KvLayout::paged; };
  where("contiguous", [&](const JudgedPoint& one) { return !paged(one); });
  where("paged", paged);
  for (const std::int32_t d : {64, 128, 256}) {
    where(fmt::format("head dim {}", d),
          [d](const JudgedPoint& one) { return one.point->workload.geometry.head_dim == d; });
  }
  const std::array rows = {0, 8, 32, 1 << 20};
  for (std::size_t i = 0; i + 1 < rows.size(); ++i) {
    const std::string title = i == 0 ? "up to 8 rows a KV head" : i == 1 ? "9 to 32 rows" : "more rows";
    where(title, [&rows, i](const JudgedPoint& one) {
      const Workload& w = one.point->workload;
      const std::int32_t packed = w.geometry.group() * workloads::max_query_len(w);
      return packed > rows[i] && packed <= rows[i + 1];
    });
  }
  add_schedules(table, judged);
  return reports::to_markdown(table);
}

/// Speed-ups between all schedules of a shape, by a model's times.
struct SpeedUps {
  std::vector<double> errors;
  double clear = 0;  ///< measured times differ clearly
  double right = 0;  ///< of those on the right side
};

SpeedUps speed_ups_by(std::span<const JudgedPoint> judged, double JudgedPoint::*seconds) {
  std::map<std::pair<std::string, std::int32_t>, std::vector<const JudgedPoint*>> shapes;
  for (const JudgedPoint& one : judged) shapes[{one.point->workload.name, one.point->sms}].push_back(&one);
  SpeedUps result;
  for (const auto& [shape, points] : shapes) {
    for (std::size_t i = 0; i < points.size(); ++i) {
      for (std::size_t j = i + 1; j < points.size(); ++j) {
        const double measured = points[i]->point->seconds / points[j]->point->seconds;
        const double predicted = points[i]->*seconds / (points[j]->*seconds);
        result.errors.push_back(std::abs(predicted / measured - 1));
        if (std::abs(measured - 1) <= kClearGap) continue;
        ++result.clear;
        if ((predicted - 1) * (measured - 1) > 0) ++result.right;
      }
    }
  }
  return result;
}

std::string speed_ups(std::span<const JudgedPoint> judged) {
  const SpeedUps model = speed_ups_by(judged, &JudgedPoint::seconds);
  const SpeedUps waves = speed_ups_by(judged, &JudgedPoint::waves_seconds);
  if (model.errors.empty() || model.clear == 0) return "";
  return fmt::format(
      "\nOf {} speed-ups between two schedules of a shape, the ratio errs by {} % (median; p90 {} %; waves alone: {} "
      "and {} %). Of the {:.0f} whose measured times differ by more than {:.0f} %, {} % have the right sign (waves "
      "alone: {} %).\n",
      model.errors.size(), percent(base::quantile(model.errors, 0.5)), percent(base::quantile(model.errors, 0.9)),
      percent(base::quantile(waves.errors, 0.5)), percent(base::quantile(waves.errors, 0.9)), model.clear,
      kClearGap * 100, percent(model.right / model.clear), percent(waves.right / waves.clear));
}

/// Of "h200 (sms=64)", or with more in the brackets; 0 for "h200".
std::int64_t sms_of(const std::string& machine) {
  static constexpr std::string_view kWord = "(sms=";
  const std::size_t at = machine.find(kWord);
  if (at == std::string::npos) return 0;
  const std::size_t begin = at + kWord.size();
  const std::size_t end = machine.find_first_of(",) ", begin);
  return integer_in("machine " + machine, machine.substr(begin, end - begin), 1, 1 << 20);
}

}  // namespace

std::string own_times(const std::string& records) {
  reports::Table table;
  table.columns = {{"schedule"}, {"shape"}, {"sms"}, {"microseconds"}, {"config"}};
  std::istringstream lines(base::read_text_file(records));
  for (std::string line; std::getline(lines, line);) {
    const base::JsonValue document = base::parse_document(line, records);
    const base::Fields record(document, records, "");
    if (record.text("executor") != "cuda" || !record.has("seconds")) continue;
    if (record.has("chosen")) continue;  // its plan's tiles are the choice's, not the schedule's
    table.rows.push_back({record.text("schedule"), record.text("workload"),
                          std::to_string(sms_of(record.text("machine"))),
                          fmt::format("{:.4f}", record.number("seconds", 0, 1e6) * 1e6), record.text("kernel")});
  }
  return reports::to_csv(table);
}

std::vector<JudgedPoint> judge_own(std::span<const Point> points, const studies::Target& whole) {
  std::vector<JudgedPoint> all;
  studies::Target target = whole;
  for (const Point& point : points) {
    target.machine = simulator::with_overrides(whole.machine, {point.sms, 0, 0, 0});
    const std::optional<studies::Prediction> run = predict_point(point, target);
    if (!run) continue;
    JudgedPoint one;
    one.point = &point;
    one.seconds = run->timeline.seconds;
    one.parts = run->timeline.breakdown;
    one.waves_seconds = seconds_of_waves(*run, point.workload, target.machine);
    one.bytes = static_cast<double>(workloads::kv_bytes(point.workload));
    one.roofline_seconds = one.bytes / target.machine.dram_peak_bytes_per_second;
    all.push_back(one);
  }
  return all;
}

std::string table_by_sms(std::span<const JudgedPoint> judged) {
  reports::Table table = error_columns();
  std::set<std::int32_t> counts;
  for (const JudgedPoint& one : judged) counts.insert(one.point->sms);
  counts.erase(0);
  const auto on = [](std::int32_t sms) { return [=](const JudgedPoint& one) { return one.point->sms == sms; }; };
  add_row(table, "all", judged, [](const JudgedPoint&) { return true; });
  for (const std::int32_t sms : counts) add_row(table, fmt::format("{} SMs", sms), judged, on(sms));
  if (std::any_of(judged.begin(), judged.end(), on(0))) add_row(table, "all SMs", judged, on(0));
  add_row(table, "uniform", judged, [](const JudgedPoint& one) { return !ragged(one.point->workload); });
  add_row(table, "ragged", judged, [](const JudgedPoint& one) { return ragged(one.point->workload); });
  add_schedules(table, judged);
  return reports::to_markdown(table) + speed_ups(judged);
}

std::string own_tables(std::span<const JudgedPoint> judged) {
  const Order ranks = order(judged);
  return error_rows(judged) + speed_ups(judged) +
         fmt::format(
             "Kendall's tau of the schedules of a shape is {:.2f} in the mean ({:.2f} median, {:.2f} p10); taking the "
             "one that is predicted fastest loses {} % in the mean.\n",
             ranks.tau_mean, ranks.tau_median, ranks.tau_p10, percent(ranks.regret_mean));
}

}  // namespace splitwave::accuracy
