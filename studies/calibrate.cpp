// SPDX-License-Identifier: Apache-2.0
#include "studies/calibrate.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "base/lines.h"
#include "base/parallel.h"
#include "base/text.h"
#include "cpu_reference/measure.h"
#include "reports/csv.h"
#include "reports/table.h"

namespace splitwave::studies {
namespace {

/// "4567", or "16, 16, 18": lists in short.
std::string shown(const std::vector<double>& values) {
  constexpr std::size_t kMostShown = 12;
  if (values.size() > kMostShown) {
    return fmt::format("{:.5g}, ... ({})", fmt::join(values.begin(), values.begin() + 4, ", "), values.size());
  }
  return fmt::format("{:.5g}", fmt::join(values, ", "));
}

constexpr std::string_view kPointsHeader = "benchmark,ctas,bytes_in_flight,footprint_bytes,value,unit,p20,p80,samples";

/// where: begins the error message.
CalibrationPoint point_in(std::string_view line, const std::string& where) {
  const std::vector<std::string> cells = reports::csv_cells(line, where);
  constexpr std::size_t kCells = 9;
  const auto number = [&](std::size_t cell) {
    const std::optional<double> value = cell < cells.size() ? base::number_in(cells[cell]) : std::nullopt;
    if (cells.size() != kCells || !value || !(std::abs(*value) < 1e18)) {
      throw base::InputError(fmt::format("{}: {} is no point; allowed: {} values, numbers but for benchmark and unit",
                                         where, base::printable(line), kCells));
    }
    return *value;
  };
  CalibrationPoint point;
  point.ctas = static_cast<std::int32_t>(std::clamp(number(1), -1e9, 1e9));
  point.bytes_in_flight = static_cast<std::int64_t>(number(2));
  point.footprint_bytes = static_cast<std::int64_t>(number(3));
  point.value = number(4);
  point.p20 = number(6);
  point.p80 = number(7);
  point.samples = static_cast<std::int64_t>(number(8));
  point.benchmark = cells[0];
  point.unit = cells[5];
  return point;
}

std::vector<double> scaled(const std::vector<double>& values, double factor) {
  std::vector<double> result;
  for (const double value : values) result.push_back(value * factor);
  return result;
}

}  // namespace

std::string points_csv(const std::vector<CalibrationPoint>& points) {
  std::string text = std::string(kPointsHeader) + "\n";
  for (const CalibrationPoint& point : points) {
    text += fmt::format("{},{},{},{},{:.6g},{},{:.6g},{:.6g},{}\n", point.benchmark, point.ctas, point.bytes_in_flight,
                        point.footprint_bytes, point.value, point.unit, point.p20, point.p80, point.samples);
  }
  return text;
}

std::vector<CalibrationPoint> read_points(const std::string& path) {
  const std::string text = base::read_text_file(path);
  base::Lines lines(text);
  if (reports::csv_cells(lines.next(), path) != reports::csv_cells(kPointsHeader, path)) {
    throw base::InputError(
        fmt::format("{}: no points of a calibration; allowed: a first line {}", path, kPointsHeader));
  }
  std::vector<CalibrationPoint> points;
  for (std::string_view line = lines.next(); !line.empty(); line = lines.next()) {
    points.push_back(point_in(line, fmt::format("{}:{}", path, lines.number())));
  }
  return points;
}

std::string calibration_table(const Calibration& calibration, const std::string& known) {
  using reports::Align;
  reports::Table table{{{"constant"}, {"measured", Align::right}, {"unit"}, {"known", Align::right}}, {}};
  const nlohmann::json document = nlohmann::json::parse(known, nullptr, false);
  for (const FileConstant& constant : calibration.constants) {
    std::string before = "-";
    if (document.is_object() && document["constants"].contains(constant.key)) {
      const nlohmann::json& value = document["constants"][constant.key]["value"];
      before = shown(value.is_array() ? value.get<std::vector<double>>() : std::vector<double>{value.get<double>()});
    }
    table.rows.push_back({constant.key, shown(constant.values), constant.unit, before});
  }
  if (known.empty()) {
    for (auto& row : table.rows) row.pop_back();
    table.columns.pop_back();
  }
  return reports::to_text(table);
}

std::string today() {
  return fmt::format("{:%Y-%m-%d}",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now())));
}

Calibration calibrate_cpu(std::int32_t threads) {
  base::require_threads(threads);
  const cpu_reference::CpuConstants cpu = cpu_reference::measure_cpu(threads).constants;
  const std::string source =
      fmt::format("splitwave calibrate on {}, {} thread{}, {}", cpu.model, threads, threads == 1 ? "" : "s", today());
  Calibration result;
  result.machine_name = "cpu";
  const auto add = [&](const char* key, std::vector<double> values, bool list, const char* unit, const char* what) {
    result.constants.push_back({key, std::move(values), list, unit, fmt::format("{}: {}", source, what), "measured"});
  };
  add("threads", {static_cast<double>(threads)}, false, "thread", "hardware threads used");
  add("read_bandwidth", scaled(cpu.read_bytes_per_second, 1e-9), true, "GB/s", "plain read by 1, 2, ... threads");
  add("row_read_bandwidth", scaled(cpu.row_read_bytes_per_second, 1e-9), true, "GB/s",
      "the same for rows of 256 bytes, one in every 2 KiB");
  add("tile_time", {cpu.token_seconds_per_kv_byte * 1e9}, false, "ns/byte",
      "one thread's time per byte of K and V in cache; 4 rows, head_dim 128, f16");
  add("overlap", {cpu.overlap}, false, "1",
      "p: memory time m and tile time c per byte of a thread come to (m^p + c^p)^(1/p)");
  add("fork", {cpu.fork_seconds * 1e9}, false, "ns", "an empty parallel region");
  add("list", {cpu.list_seconds * 1e9}, false, "ns", "one more list");
  add("item", {cpu.item_seconds * 1e9}, false, "ns", "one more item of a list");
  add("merge_per_row_split", {cpu.merge_seconds_per_row_split * 1e9}, false, "ns",
      "merging one partial row of value_dim 128 by one thread");
  const auto curve = [&](const char* name, const std::vector<double>& rates) {
    for (std::size_t i = 0; i < rates.size(); ++i) {
      const double rate = rates[i] / 1e9;
      result.points.push_back({name, static_cast<std::int32_t>(i + 1), 0, 0, rate, "GB/s", rate, rate, 1});
    }
  };
  curve("read", cpu.read_bytes_per_second);
  curve("row_read", cpu.row_read_bytes_per_second);
  result.file = machine_file(result.machine_name, cpu.model, result.constants);
  return result;
}

}  // namespace splitwave::studies
