// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/reproduction/lean_figure_1.h"

#include <algorithm>
#include <cmath>

#include "benchmarks/reproduction/predict.h"
#include "schedules/schedules.h"
#include "simulator/simulate.h"
#include "workloads/load.h"

namespace splitwave::reproduction {

std::vector<Figure1Row> lean_figure_1() {
  constexpr std::int32_t lean_tile_tokens = 256;
  const std::vector<workloads::Workload> suite = workloads::load("figures");
  const auto workload =
      std::find_if(suite.begin(), suite.end(), [](const auto& w) { return w.name == "lean-figure-1"; });
  simulator::MachineOverrides five;
  five.sms = 5;
  const simulator::Machine machine = simulator::with_overrides(simulator::load_machine("a100"), five);
  // One kernel for all three, so that they differ in the plan alone.
  const simulator::Kernel kernel = simulator::load_kernel("ort-lean", *workload, machine);
  schedules::Grid grid = simulator::grid_of(machine, kernel, 1);
  grid.tile_kv = lean_tile_tokens;
  std::vector<Figure1Row> rows{
      {"FlashAttention-2", "fa2", {}}, {"FlashDecoding", "fixed-split:2", {}}, {"LeanAttention", "lean", {}}};
  for (Figure1Row& row : rows) {
    const schedules::Plan plan = schedules::make_plan(row.schedule, *workload, grid);
    row.metrics = schedules::metrics(plan, grid);
    row.steps =
        std::llround(static_cast<double>(row.metrics.tiles) / (row.metrics.quantization_efficiency * grid.resident()));
    simulator::SimulateOptions options;
    options.ctas_per_sm = 1;
    row.seconds = simulator::simulate(*workload, plan, machine, kernel, options).seconds;
  }
  return rows;
}

}  // namespace splitwave::reproduction
