// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/accuracy/own.h"

#include <fmt/format.h>

#include <limits>
#include <map>
#include <sstream>

#include "base/document.h"
#include "base/error.h"
#include "base/fields.h"
#include "base/text.h"
#include "simulator/alternatives.h"
#include "studies/predict.h"

namespace splitwave::accuracy {
namespace {

using workloads::Workload;

constexpr std::int32_t kTileKv = 64;  ///< of the plans that bench_decode makes

double predict_point(OwnPoint& point, const studies::Target& target) {
  const Workload& workload = *point.workload;
  for (const simulator::KernelProfile& kernel :
       simulator::alternatives(*target.kernel, workload, target.machine, simulator::kAnyRows)) {
    if (kernel.config != point.config) continue;
    studies::PredictOptions options;
    options.tile_q = kernel.most_rows;
    options.tile_kv = kTileKv;
    const auto run = studies::predict_with(std::numeric_limits<double>::infinity(), workload, point.schedule, kernel,
                                           target, options);
    if (!run) return 0;
    point.lists = run->plan.lists();
    point.workers = run->grid.resident();
    return run->timeline.seconds;
  }
  return 0;
}

}  // namespace

std::vector<OwnPoint> judge_own(std::span<const Workload> shapes, const std::string& records,
                                const studies::Target& target) {
  std::map<std::string, const Workload*> by_name;
  for (const Workload& shape : shapes) by_name[shape.name] = &shape;
  std::vector<OwnPoint> points;
  std::istringstream lines(base::read_text_file(records));
  for (std::string line; std::getline(lines, line);) {
    const base::JsonValue document = base::parse_document(line, records);
    const base::Fields record(document, records, "");
    const auto shape = by_name.find(record.text("workload"));
    if (shape == by_name.end() || record.text("executor") != "cuda" || !record.has("seconds")) continue;
    if (record.text("schedule") == "auto") continue;
    OwnPoint point{shape->second, record.text("schedule"), record.text("kernel"), record.number("seconds", 0, 1e6),
                   record.number("read_seconds", 0, 1e6), 0, 0, 0};
    point.predicted_seconds = predict_point(point, target);
    if (point.predicted_seconds > 0) points.push_back(std::move(point));
  }
  return points;
}

std::string own_rows(std::span<const OwnPoint> points) {
  std::string text = "shape,kv_bytes,schedule,config,read_us,measured_us,predicted_us,lists,workers\n";
  for (const OwnPoint& point : points) {
    text += fmt::format("{},{},{},{},{:.3f},{:.3f},{:.3f},{},{}\n", point.workload->name, workloads::kv_bytes(*point.workload),
                        point.schedule, point.config, point.read_seconds * 1e6, point.measured_seconds * 1e6,
                        point.predicted_seconds * 1e6, point.lists, point.workers);
  }
  return text;
}

}  // namespace splitwave::accuracy
