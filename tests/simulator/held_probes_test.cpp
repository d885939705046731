// SPDX-License-Identifier: Apache-2.0
// The shipped constants of kernels for single items give back the microbenchmarks that they come from.
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <regex>
#include <string>
#include <vector>

#include "schedules/schedules.h"
#include "simulator/alternatives.h"
#include "simulator/simulate.h"

namespace splitwave::simulator {
namespace {

/// One item on one worker, K and V in DRAM.
struct LoneItem {
  std::string config;
  std::int32_t head_dim = 0;
  std::int32_t tokens = 0;
  double nanoseconds = 0;
};

/// launch_seconds: while they were measured.
std::vector<LoneItem> measured_items(double& launch_seconds) {
  std::ifstream file(SPLITWAVE_SOURCE_DIR "/docs/gpu/h100_microbenchmarks.csv");
  const std::regex launch(R"(node_first,1,[^,]*,[^,]*,([^,]*),ns,.*)");
  const std::regex row(R"((r\d+w\d+s\dt\d+c\d+)_d(64|128|256)_cold_single,(\d+),[^,]*,[^,]*,([^,]*),ns,.*)");
  std::vector<LoneItem> items;
  std::smatch part;
  for (std::string line; std::getline(file, line);) {
    if (std::regex_match(line, part, launch)) launch_seconds = std::stod(part[1]) * 1e-9;
    if (std::regex_match(line, part, row)) {
      items.push_back({part[1], std::stoi(part[2]), std::stoi(part[3]), std::stod(part[4])});
    }
  }
  return items;
}

/// In ns; 0 of a kernel whose constants leave nothing for its start and end, where probes say less than nothing.
double predicted(const LoneItem& item, const KernelFamily& family, const Machine& machine) {
  workloads::Workload w;
  w.geometry.kind = workloads::AttentionKind::mqa;
  w.geometry.query_heads = 8 * (item.config[1] - '0');
  w.geometry.kv_heads = 1;
  w.geometry.head_dim = w.geometry.value_dim = item.head_dim;
  w.requests = {{1, item.tokens}};
  schedules::Grid grid;
  grid.tile_q = w.geometry.query_heads;
  grid.tile_kv = 16;
  const schedules::Plan plan = schedules::make_plan("fixed-split:1", w, grid);
  for (const KernelProfile& kernel : alternatives(family, w, machine, w.geometry.query_heads)) {
    if (kernel.config != item.config) continue;
    if (kernel.single_item_prologue_seconds + kernel.epilogue_seconds < 2e-9) return 0;
    return simulate(w, plan, machine, as_run(kernel, w, plan, 1).value()).seconds * 1e9;
  }
  ADD_FAILURE() << item.config << " is not shipped";
  return 0;
}

// By these `auto` chooses among clusters, whose times differ by a tenth of a microsecond.
TEST(Probes, LoneItemsFromMemoryAreGivenBackForEverySizeOfCluster) {
  const KernelFamily family = load_kernel("splitwave-h100");
  Machine machine = load_machine("h100-sxm-calibrated");
  const std::vector<LoneItem> items = measured_items(machine.launch_seconds);
  int given_back = 0;
  for (const LoneItem& item : items) {
    const double nanoseconds = predicted(item, family, machine);
    if (nanoseconds == 0) continue;
    EXPECT_NEAR(nanoseconds, item.nanoseconds, 100) << item.config << " " << item.head_dim << " " << item.tokens;
    ++given_back;
  }
  EXPECT_GT(given_back, 60);
}

}  // namespace
}  // namespace splitwave::simulator
