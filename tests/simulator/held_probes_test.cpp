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

/// One item on one worker.
struct LoneItem {
  std::string config;
  std::int32_t head_dim = 0;
  std::int32_t tokens = 0;
  double nanoseconds = 0;
};

/// The items of such probes ("cold": K and V in DRAM). launch_seconds: while they were measured.
std::vector<LoneItem> measured_items(const std::string& probe, double& launch_seconds) {
  std::ifstream file(SPLITWAVE_SOURCE_DIR "/docs/gpu/h100_microbenchmarks.csv");
  const std::regex launch(R"(node_first,1,[^,]*,[^,]*,([^,]*),ns,.*)");
  const std::regex row(R"((r\d+w\d+s\dt\d+c\d+)_d(64|128|256)_)" + probe +
                       R"(_single,(\d+),[^,]*,[^,]*,([^,]*),ns,.*)");
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

/// In ns.
double predicted(const LoneItem& item, const KernelFamily& family, const Machine& machine, std::int32_t page_size = 0) {
  workloads::Workload w;
  if (page_size > 0) w.kv.layout = workloads::KvLayout::paged;
  w.kv.page_size = page_size;
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
    return simulate(w, plan, machine, as_run(kernel, w, plan, 1).value()).seconds * 1e9;
  }
  ADD_FAILURE() << item.config << " is not shipped";
  return 0;
}

// By these `auto` chooses among clusters, whose times differ by a tenth of a microsecond.
TEST(Probes, LoneItemsFromMemoryAreGivenBackForEverySizeOfCluster) {
  const KernelFamily family = load_kernel("splitwave-h100");
  Machine machine = load_machine("h100-sxm-calibrated");
  const std::vector<LoneItem> items = measured_items("cold", machine.launch_seconds);
  EXPECT_GT(items.size(), 60U);
  for (const LoneItem& item : items) {
    EXPECT_NEAR(predicted(item, family, machine), item.nanoseconds, 100)
        << item.config << " " << item.head_dim << " " << item.tokens;
  }
}

// What pages take of an SM that is full, a lone item has in what they take of it.
TEST(Probes, PagesOfItemsThatACtaHoldsAreGivenBack) {
  const KernelFamily family = load_kernel("splitwave-h100");
  Machine machine = load_machine("h100-sxm-calibrated");
  const std::vector<LoneItem> paged = measured_items("paged_item", machine.launch_seconds);
  int held = 0;
  for (const LoneItem& item : measured_items("item", machine.launch_seconds)) {
    if (item.config.find("s1t") == std::string::npos) continue;
    for (const LoneItem& other : paged) {
      if (other.config != item.config || other.head_dim != item.head_dim || other.tokens != item.tokens) continue;
      const double more = predicted(item, family, machine, 64) - predicted(item, family, machine);
      // Of calls K and V are in DRAM, and so are their pages.
      const double farther = (machine.dram_latency_seconds - machine.l2_latency_seconds) * 1e9;
      EXPECT_GT(more, other.nanoseconds - item.nanoseconds - 30) << item.config << " " << item.head_dim;
      EXPECT_LT(more, other.nanoseconds - item.nanoseconds + farther + 30) << item.config << " " << item.head_dim;
      ++held;
    }
  }
  EXPECT_GE(held, 8);
}

}  // namespace
}  // namespace splitwave::simulator
