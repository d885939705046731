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

/// workers: that are resident, of probes of full SMs.
std::pair<Workload, schedules::Plan> plan_of(const Probe& probe, std::int32_t workers) {
  const bool full = probe.kind == "full";
  const bool split = probe.kind == "splits";
  const bool one = probe.kind == "item" || split;
  const std::int32_t items = full ? workers : (one ? 1 : probe.count);
  const std::int32_t tokens = split ? probe.count * probe.round() : (one || full ? probe.count : probe.round());
  const Workload w = workload_of(probe, items, tokens);
  schedules::Grid grid;
  grid.tile_q = probe.rows();
  grid.tile_kv = 16;
  grid.sms = full ? workers : probe.kind == "unmerged" || split ? probe.count : 1;
  const std::map<std::string, std::string> schedule = {
      {"item", "fixed-split:1"},
      {"items", "lean+last_arriver"},
      {"full", "lean+last_arriver"},
      {"unmerged", "fixed-split:1"},
      {"queue", "fa3"},
      {"splits", "fixed-split:" + std::to_string(probe.count) + "+last_arriver"}};
  return {w, schedules::make_plan(schedule.at(probe.kind), w, grid)};
}

/// Predicted over measured, or 0 if the machine does not run the config.
double ratio(const Probe& probe, const KernelFamily& family, const Machine& machine) {
  for (const KernelProfile& kernel : alternatives(family, workload_of(probe, 1, probe.round()), machine, kAnyRows)) {
    if (kernel.config != probe.config + "c1") continue;
    const auto [w, plan] = plan_of(probe, machine.sms * ctas_per_sm(machine, kernel));
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
    const double given_back = ratio(probe, family, few);
    EXPECT_GT(given_back, 0.999) << line;
    EXPECT_LT(given_back, 1.04) << line;
    ++found;
  }
  EXPECT_GT(found, 50);
}

}  // namespace
}  // namespace splitwave::simulator
