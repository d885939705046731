// SPDX-License-Identifier: Apache-2.0
// The shipped constants give back the microbenchmarks that they come from.
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <map>
#include <regex>
#include <string>

#include "schedules/schedules.h"
#include "simulator/alternatives.h"
#include "simulator/clusters.h"
#include "simulator/simulate.h"

namespace splitwave::simulator {
namespace {

struct Wave {
  std::string config;
  std::int32_t head_dim = 0;
  auto operator<=>(const Wave&) const = default;
};

/// Nanoseconds of a further wave of items of 16 tokens, from launches of two and of six.
std::map<Wave, double> measured_waves() {
  std::ifstream file(SPLITWAVE_SOURCE_DIR "/docs/gpu/h200_microbenchmarks.csv");
  const std::regex row(R"((r\d+[wg]\d+s\dt\d+c\d+)_d(64|128|256)_waves_single,([26]),[^,]*,[^,]*,([^,]*),ns,.*)");
  std::map<Wave, double> waves;
  std::smatch part;
  for (std::string line; std::getline(file, line);) {
    if (!std::regex_match(line, part, row)) continue;
    waves[{part[1], std::stoi(part[2])}] += (part[3] == "6" ? 1 : -1) * std::stod(part[4]) / 4;
  }
  return waves;
}

/// A wave is of as many workers as the kernel for lists of one item has at a time.
double seconds(std::int32_t waves, const KernelProfile& kernel, workloads::Workload workload, const Machine& machine) {
  schedules::Grid grid = grid_of(machine, kernel);
  grid.tile_q = kernel.most_rows;
  grid.tile_kv = 16;
  const auto plan_of = [&](std::int32_t items) {
    workload.requests.assign(static_cast<std::size_t>(items), {1, 16});
    return schedules::make_plan("fixed-split:1", workload, grid);
  };
  const auto lone = as_run(kernel, workload, plan_of(1), grid.resident());
  const std::int32_t wave = resident_workers(machine, kernel.cluster, ctas_per_sm(machine, lone.value()));
  const schedules::Plan plan = plan_of(waves * wave);
  const auto run = as_run(kernel, workload, plan, grid.resident());
  return simulate(workload, plan, machine, run.value(), {.l2 = L2State::warm}).seconds;
}

// Kernels that hold their items are made of this; rings start later by a constant of it, in CTAs of all sizes alike.
TEST(Probes, WavesOfShortItemsAreGivenBackForEverySizeOfCluster) {
  const KernelFamily family = load_kernel(std::string(kOwnKernel));
  const Machine machine = load_machine("h200-calibrated");
  const std::map<Wave, double> waves = measured_waves();
  ASSERT_GT(waves.size(), 100U);
  double rings = 0;
  double all = 0;
  for (const auto& [wave, nanoseconds] : waves) {
    workloads::Workload workload;
    workload.name = wave.config;
    workload.geometry.kind = workloads::AttentionKind::mqa;
    workload.geometry.query_heads = 8 * (wave.config[1] - '0');
    workload.geometry.kv_heads = 1;
    workload.geometry.head_dim = workload.geometry.value_dim = wave.head_dim;
    workload.requests = {{1, 16}};
    bool found = false;
    for (const KernelProfile& kernel : alternatives(family, workload, machine, kAnyRows)) {
      if (kernel.config != wave.config) continue;
      found = true;
      const double one = (seconds(6, kernel, workload, machine) - seconds(2, kernel, workload, machine)) / 4;
      const bool ring = kernel.most_tokens == 0;
      // Where ends come apart the engine takes less of later_start, most of all in CTAs of two warps, of which an SM
      // has three (d = 256: 12.4 and 12.9 % of the wave on two devices) or five (d = 128: 16.4).
      const bool two_warps = wave.config == "r1w2s2t16c1";
      const double of_rings = !two_warps ? 0.12 : wave.head_dim == 256 ? 0.135 : 0.17;
      EXPECT_NEAR(one * 1e9, nanoseconds, (ring ? of_rings : 0.01) * nanoseconds)
          << wave.config << " " << wave.head_dim;
      rings += ring ? 1 : 0;
      all += ring ? one * 1e9 / nanoseconds : 0;
    }
    EXPECT_TRUE(found) << wave.config;
  }
  EXPECT_NEAR(all / rings, 1, 0.03);
}

}  // namespace
}  // namespace splitwave::simulator
