// SPDX-License-Identifier: Apache-2.0
#include "tests/pipeline/halves.h"

#include "schedules/cut.h"

namespace splitwave::tests {
namespace {

schedules::Plan halves(const workloads::Workload& workload, const schedules::Grid& grid,
                       std::string_view /*argument*/) {
  schedules::Plan plan = schedules::start_plan(grid, 64, 128);
  const schedules::OutputGrid outputs = schedules::cut_outputs(workload, true, plan);
  schedules::reserve(plan, 2 * static_cast<std::int64_t>(plan.outputs.size()),
                     2 * static_cast<std::int64_t>(plan.outputs.size()));
  for (std::size_t output = 0; output < plan.outputs.size(); ++output) {
    const workloads::KvRange range = schedules::kv_range(workload, plan.outputs[output]);
    const std::int32_t parts = schedules::tile_range(range, plan.tile_kv).count() > 1 ? 2 : 1;
    for (std::int32_t part = 0; part < parts; ++part) {
      schedules::add_item(plan, static_cast<std::int32_t>(output),
                          schedules::equal_part(range, plan.tile_kv, part, parts));
      schedules::end_list(plan);
    }
  }
  schedules::assign_slots(plan, schedules::MergeKind::kernel);
  plan.num_splits = plan.merges.empty() ? 1 : 2;
  plan.reason = "halves: two parts of every output";
  return plan;
}

std::string_view halves_kernel(const workloads::Workload& /*workload*/, std::string_view /*argument*/,
                               std::int32_t /*num_splits*/) {
  return "fa2-split";
}

}  // namespace

schedules::Schedule halves_row() {
  schedules::Schedule row;
  row.name = "halves";
  row.summary = "every output in two halves";
  row.source = "a test";
  row.make = halves;
  row.kernel = halves_kernel;
  return row;
}

}  // namespace splitwave::tests
