// SPDX-License-Identifier: Apache-2.0
// The shipped constants give back the probes of lists, merges and queues that they come from (docs/measuring.md).
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <fstream>
#include <map>
#include <regex>
#include <string>
#include <utility>

#include "schedules/schedules.h"
#include "simulator/alternatives.h"
#include "simulator/simulate.h"

namespace splitwave::simulator {
namespace {

using workloads::Workload;

/// A point of a kernel without clusters that runs any plan.
struct Probe {
  std::string config;
  std::int32_t head_dim = 0;
  bool paged = false;
  std::string kind;
  std::int32_t count = 0;
  double nanoseconds = 0;

  std::int32_t number(std::size_t at) const { return config[at] - '0'; }
  std::int32_t rows() const { return 8 * number(1); }
  std::int32_t round() const { return number(3) * std::stoi(config.substr(7)); }
};

/// As gpu/kernel_probes.cpp has them.
Workload workload_of(const Probe& probe, std::int32_t items, std::int32_t tokens) {
  Workload w;
  w.name = probe.config;
  w.geometry.kind = workloads::AttentionKind::mqa;
  w.geometry.query_heads = probe.rows();
  w.geometry.kv_heads = 1;
  w.geometry.head_dim = w.geometry.value_dim = probe.head_dim;
  if (probe.paged) {
    w.kv.layout = workloads::KvLayout::paged;
    w.kv.page_size = 16;
  }
  w.requests.assign(static_cast<std::size_t>(items), {1, tokens});
  return w;
}

std::pair<Workload, schedules::Plan> plan_of(const Probe& probe) {
  const bool split = probe.kind == "splits";
  const bool one = probe.kind == "item" || split;
  const Workload w = workload_of(probe, one ? 1 : probe.count,
                                 split ? probe.count * probe.round() : (one ? probe.count : probe.round()));
  schedules::Grid grid;
  grid.tile_q = probe.rows();
  grid.tile_kv = 16;
  grid.sms = probe.kind == "unmerged" || split ? probe.count : 1;
  const std::map<std::string, std::string> schedule = {
      {"item", "fixed-split:1"},
      {"items", "lean+last_arriver"},
      {"unmerged", "fixed-split:1"},
      {"queue", "fa3"},
      {"splits", "fixed-split:" + std::to_string(probe.count) + "+last_arriver"}};
  return {w, schedules::make_plan(schedule.at(probe.kind), w, grid)};
}

/// Predicted over measured, or 0 if the machine does not run the config.
double ratio(const Probe& probe, const KernelFamily& family, const Machine& machine) {
  const auto [w, plan] = plan_of(probe);
  for (const KernelProfile& kernel : alternatives(family, w, machine, kAnyRows)) {
    if (kernel.config != probe.config + "c1") continue;
    return simulate(w, plan, machine, with_costs_of(kernel, w, Lists::any), {.l2 = L2State::warm}).seconds * 1e9 /
           probe.nanoseconds;
  }
  return 0;
}

TEST(Probes, ListsMergesAndQueuesAreGivenBack) {
  const KernelFamily family = load_kernel(std::string(kOwnKernel));
  Machine machine = load_machine("h200-calibrated");
  std::ifstream file(SPLITWAVE_SOURCE_DIR "/docs/gpu/h200_microbenchmarks.csv");
  const std::regex first(R"(node_first,[^,]*,[^,]*,[^,]*,([^,]*),.*)");
  const std::regex row(
      R"((r\d[wag]\ds\dt\d+)c1_d(64|128|256)_(paged_)?(item|items|unmerged|queue|splits)_any,(\d+),[^,]*,[^,]*,([^,]*),ns,.*)");
  struct Errors {
    double sum = 0;
    double magnitudes = 0;
    double count = 0;
  };
  std::map<std::string, Errors> errors;  // by team and kind
  std::smatch part;
  for (std::string line; std::getline(file, line);) {
    if (std::regex_match(line, part, first)) machine.launch_seconds = std::stod(part[1]) * 1e-9;
    if (!std::regex_match(line, part, row)) continue;
    const Probe probe{part[1], std::stoi(part[2]), part[3].matched, part[4], std::stoi(part[5]), std::stod(part[6])};
    const double error = ratio(probe, family, machine) - 1;
    // Of warps with lists of their own merges of more than eight parts go through rings, and are known by two and
    // eight.
    const bool through_ring = probe.config[2] == 'a' && probe.kind == "splits" && probe.count > 8;
    EXPECT_LT(std::abs(error), through_ring ? 0.35 : 0.3) << line;
    Errors& all = errors[probe.config.substr(2, 1) + " " + probe.kind];
    all.sum += error;
    all.magnitudes += std::abs(error);
    all.count += 1;
  }
  EXPECT_EQ(errors.size(), 15U);
  for (const auto& [what, all] : errors) {
    EXPECT_GT(all.count, 4) << what;
    EXPECT_NEAR(all.sum / all.count, 0, 0.1) << what;
    EXPECT_LT(all.magnitudes / all.count, 0.1) << what;
  }
}

// On eight SMs, by full_sm, which takes what the other constants leave, where it is not less than nothing.
TEST(Probes, FullSmsAreGivenBack) {
  const KernelFamily family = load_kernel(std::string(kOwnKernel));
  const Machine few = with_overrides(load_machine("h200-calibrated"), {.sms = 8});
  std::ifstream file(SPLITWAVE_SOURCE_DIR "/docs/gpu/h200_microbenchmarks.csv");
  const std::regex row(R"((r\d[wag]\ds\dt\d+)c1_d(64|128|256)_(paged_)?full_any,(\d+),[^,]*,[^,]*,([^,]*),ns,.*)");
  std::smatch part;
  int found = 0;
  for (std::string line; std::getline(file, line);) {
    if (!std::regex_match(line, part, row)) continue;
    const Probe probe{part[1], std::stoi(part[2]), part[3].matched, "full", std::stoi(part[4]), std::stod(part[5])};
    for (const KernelProfile& kernel : alternatives(family, workload_of(probe, 1, probe.count), few, kAnyRows)) {
      if (kernel.config != probe.config + "c1") continue;
      ++found;
      schedules::Grid grid;
      grid.sms = few.sms * ctas_per_sm(few, kernel);
      grid.tile_q = probe.rows();
      grid.tile_kv = 16;
      const Workload w = workload_of(probe, grid.sms, probe.count);
      const schedules::Plan plan = schedules::make_plan("lean+last_arriver", w, grid);
      const KernelProfile any = with_costs_of(kernel, w, Lists::any);
      const double ns = simulate(w, plan, few, any, {.l2 = L2State::warm}).seconds * 1e9;
      EXPECT_GT(ns, 0.999 * probe.nanoseconds) << line;
      EXPECT_LT(ns, 1.025 * probe.nanoseconds) << line;
    }
  }
  EXPECT_GT(found, 50);
}

}  // namespace
}  // namespace splitwave::simulator
