// SPDX-License-Identifier: Apache-2.0
// Predicted against measured times of other people's kernels.
//   accuracy SHAPES.csv TIMES.csv [--machine NAME] [--rows] [--calibration a,b,c]
// SHAPES: id, batch, query heads, KV heads, head dim, value dim, context (one, or one per request joined by ';').
// TIMES: kernel, shape, status, microseconds, ... with a header line. Kernels that no schedule stands for are left out.
// --rows prints every prediction instead of the summary. Shapes named by --calibration are left out of the summary.
// The times were taken with K and V in at most 64 rotating copies, so that small ones stay in L2.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "schedules/schedules.h"
#include "simulator/simulate.h"
#include "workloads/error.h"
#include "workloads/load.h"

namespace {

using namespace splitwave;

/// Which schedule stands for a measured kernel; none: it has a profile of its own name and a plan made here.
struct Peer {
  std::string_view kernel;
  std::string_view schedule;
};
constexpr Peer kPeers[] = {{"fa2-flashdecoding", "fixed-split:fa2"},
                           {"fa3-novarlen", "fixed-split:fa3"},
                           {"fa3", "fa3"},
                           {"fa3-seqaware", "seq-aware"},
                           {"flashinfer-tc-nopdl", "flashinfer"},
                           {"flashinfer-decode", ""},
                           {"flashinfer-persistent", "flashinfer-holistic"},
                           {"ort-lean", "lean:ort"},
                           {"flashmla", "flashmla"}};

struct Row {
  std::string shape;
  double measured = 0;
  double predicted = 0;
  double roofline = 0;
  schedules::Breakdown parts;
};

std::vector<std::string> fields_of(const std::string& line, char separator) {
  std::vector<std::string> fields;
  std::stringstream stream(line);
  for (std::string field; std::getline(stream, field, separator);) fields.push_back(field);
  return fields;
}

std::vector<std::vector<std::string>> read_csv(const std::string& path) {
  std::vector<std::vector<std::string>> rows;
  std::stringstream stream(workloads::read_text_file(path));
  for (std::string line; std::getline(stream, line);) rows.push_back(fields_of(line, ','));
  return rows;
}

workloads::Workload shape_workload(const std::vector<std::string>& fields) {
  if (fields.size() < 7) throw workloads::InputError("shapes: a line has fewer than 7 columns");
  workloads::Workload workload;
  workload.name = fields[0];
  workloads::Geometry& geometry = workload.geometry;
  geometry.query_heads = std::stoi(fields[2]);
  geometry.kv_heads = std::stoi(fields[3]);
  geometry.head_dim = std::stoi(fields[4]);
  geometry.value_dim = std::stoi(fields[5]);
  geometry.kind = geometry.head_dim != geometry.value_dim     ? workloads::AttentionKind::mla
                  : geometry.query_heads == geometry.kv_heads ? workloads::AttentionKind::mha
                  : geometry.kv_heads == 1                    ? workloads::AttentionKind::mqa
                                                              : workloads::AttentionKind::gqa;
  const std::vector<std::string> contexts = fields_of(fields[6], ';');
  for (int i = 0; i < std::stoi(fields[1]); ++i) {
    const std::size_t index = contexts.size() == 1 ? 0 : static_cast<std::size_t>(i);
    workload.requests.push_back({1, std::stoi(contexts.at(index))});
  }
  workloads::validate(workload);
  return workload;
}

/// The number behind "KEY=" in a note of the measurements.
std::int32_t noted(const std::string& note, const std::string& key) {
  const std::size_t at = note.find(key + "=");
  if (at == std::string::npos) throw workloads::InputError("times: no " + key + " in the note " + note);
  return std::stoi(note.substr(at + key.size() + 1));
}

/// FlashInfer's CUDA-core decode, for which no schedule stands: chunks of the noted length, KV head by KV head, each
/// head's CTAs padded to the noted number with ones that have nothing to do (attention/scheduler.cuh:442-443).
schedules::Plan cuda_core_plan(const workloads::Workload& workload, const std::string& note,
                               const schedules::Grid& grid) {
  const schedules::Plan chunks =
      schedules::make_plan("fixed-size:" + std::to_string(noted(note, "chunk")), workload, grid);
  schedules::Plan plan = chunks;
  plan.items.clear();
  plan.cta_begin = {0};
  const std::int32_t padded = noted(note, "padded_batch");
  for (std::int32_t head = 0; head < workload.geometry.kv_heads; ++head) {
    std::int32_t ctas = 0;
    for (const schedules::Item& item : chunks.items) {
      if (schedules::kv_head(workload, chunks.outputs[static_cast<std::size_t>(item.output)]) != head) continue;
      plan.items.push_back(item);
      plan.cta_begin.push_back(static_cast<std::int32_t>(plan.items.size()));
      ++ctas;
    }
    for (; ctas < padded; ++ctas) plan.cta_begin.push_back(static_cast<std::int32_t>(plan.items.size()));
  }
  return plan;
}

Row predict(const workloads::Workload& workload, const Peer& peer, const std::string& note,
            const simulator::Machine& machine) {
  simulator::Kernel kernel = peer.schedule.empty() ? simulator::load_kernel(peer.kernel, workload, machine)
                                                   : simulator::native_kernel(peer.schedule, workload, machine);
  const schedules::Grid grid = simulator::grid_of(machine, kernel);
  const schedules::Plan plan = peer.schedule.empty() ? cuda_core_plan(workload, note, grid)
                                                     : schedules::make_plan(peer.schedule, workload, grid);
  if (!peer.schedule.empty()) kernel = simulator::native_kernel(plan, workload, machine);
  simulator::SimulateOptions options;
  const double bytes = static_cast<double>(workloads::kv_bytes(workload));
  // Read cyclically, 64 copies stay in L2 as long as they take little more than half of it.
  if (64 * bytes <= 0.6 * static_cast<double>(machine.l2_bytes)) options.l2 = simulator::L2State::warm;
  const schedules::Timeline timeline = simulate(workload, plan, machine, kernel, options);
  Row row;
  row.shape = workload.name;
  row.predicted = timeline.seconds * 1e6;
  row.roofline = bytes / machine.dram_peak_bytes_per_second * 1e6;
  row.parts = timeline.breakdown;
  return row;
}

void print_rows(std::string_view kernel, const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    const schedules::Breakdown& p = row.parts;
    fmt::print("{},{},{:.3f},{:.3f},{:+.1f},{:.2f},{:.2f},{:.2f},{:.2f},{:.2f},{:.2f},{:.2f}\n", kernel, row.shape,
               row.measured, row.predicted, (row.predicted / row.measured - 1) * 100, p.launch * 1e6, p.ramp * 1e6,
               p.stream * 1e6, p.compute * 1e6, p.merge * 1e6, p.wait * 1e6, p.idle * 1e6);
  }
}

double quantile(const std::vector<double>& sorted, double q) {
  return sorted[static_cast<std::size_t>(std::llround(q * static_cast<double>(sorted.size() - 1)))];
}

void print_summary(std::string_view kernel, const std::vector<Row>& rows) {
  std::vector<double> errors;
  double bias = 0;
  double mean = 0;
  double roofline = 0;
  const auto n = static_cast<double>(rows.size());
  for (const Row& row : rows) {
    const double error = row.predicted / row.measured - 1;
    errors.push_back(std::abs(error) * 100);
    mean += errors.back() / n;
    bias += error * 100 / n;
    roofline += std::abs(row.roofline / row.measured - 1) * 100 / n;
  }
  std::sort(errors.begin(), errors.end());
  fmt::print("{:<24}{:>5}{:>8.1f}{:>8.1f}{:>8.1f}{:>8.1f}{:>8.1f}{:>10.1f}\n", kernel, rows.size(), mean,
             quantile(errors, 0.5), quantile(errors, 0.9), errors.back(), bias, roofline);
}

struct Arguments {
  std::string shapes;
  std::string times;
  std::string machine = "h200";
  bool rows = false;
  std::vector<std::string> calibration;
};

int run(const Arguments& arguments) {
  const simulator::Machine machine = simulator::load_machine(arguments.machine);
  std::map<std::string, workloads::Workload> shapes;
  for (const auto& fields : read_csv(arguments.shapes)) shapes.emplace(fields.at(0), shape_workload(fields));
  const std::vector<std::vector<std::string>> times = read_csv(arguments.times);
  if (!arguments.rows) {
    fmt::print("{:<24}{:>5}{:>8}{:>8}{:>8}{:>8}{:>8}{:>10}\n", "kernel", "n", "MAPE %", "p50", "p90", "max", "bias",
               "roofline");
  }
  std::vector<Row> all;
  for (const Peer& peer : kPeers) {
    std::vector<Row> rows;
    for (const auto& fields : times) {
      if (fields.size() < 4 || fields[0] != peer.kernel || fields[2] != "ok") continue;
      const auto& skipped = arguments.calibration;
      if (std::find(skipped.begin(), skipped.end(), fields[1]) != skipped.end()) continue;
      rows.push_back(predict(shapes.at(fields[1]), peer, fields.back(), machine));
      rows.back().measured = std::stod(fields[3]);
    }
    if (rows.empty()) continue;
    if (arguments.rows) {
      print_rows(peer.kernel, rows);
    } else {
      print_summary(peer.kernel, rows);
    }
    all.insert(all.end(), rows.begin(), rows.end());
  }
  if (!arguments.rows && !all.empty()) print_summary("all", all);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  std::vector<std::string> files;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--rows") {
      arguments.rows = true;
    } else if (argument == "--machine" && i + 1 < argc) {
      arguments.machine = argv[++i];
    } else if (argument == "--calibration" && i + 1 < argc) {
      arguments.calibration = fields_of(argv[++i], ',');
    } else {
      files.push_back(argument);
    }
  }
  if (files.size() != 2) {
    fmt::print(stderr, "usage: accuracy SHAPES.csv TIMES.csv [--machine NAME] [--rows] [--calibration a,b,c]\n");
    return 2;
  }
  arguments.shapes = files[0];
  arguments.times = files[1];
  try {
    return run(arguments);
  } catch (const std::exception& error) {
    fmt::print(stderr, "accuracy: {}\n", error.what());
    return 2;
  }
}
