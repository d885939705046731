// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/reproduction/lean_table_2.h"

#include <fmt/format.h>

#include "benchmarks/reproduction/predict.h"
#include "workloads/load.h"

namespace splitwave::reproduction {
namespace {

/// Time that would be saved if partial results cost nothing to hand over and to merge, in percent.
double reduction_percent(const workloads::Workload& workload, const Planned& planned,
                         const simulator::Machine& machine) {
  Planned free = planned;
  free.kernel.merge_seconds = 0;
  free.kernel.merge_seconds_per_split = 0;
  free.kernel.merge_contention_seconds = 0;
  simulator::Machine at_once = machine;
  at_once.flag_seconds = 0;
  const double with = predicted_seconds(workload, planned, machine, false);
  return 100 * (1 - predicted_seconds(workload, free, at_once, false) / with);
}

}  // namespace

std::vector<std::int32_t> reduction_contexts() {
  return {16384, 65536, 262144};
}

std::vector<ReductionRow> lean_table_2() {
  const simulator::Machine machine = simulator::load_machine("a100");
  const Contender lean{"LeanAttention", "lean", "ort-lean"};
  std::vector<ReductionRow> rows;
  for (const ReductionShare& share : published().reduction_shares) {
    ReductionRow row;
    row.asked_splits = share.splits;
    row.published_percent = share.percent;
    for (const std::int32_t context : reduction_contexts()) {
      const std::int32_t ctas = 2 * machine.sms;
      row.heads = ctas / share.splits;
      const workloads::Workload workload =
          workloads::parse_spec(fmt::format("h={0}/{0},d=64:1q1s{1}", row.heads, context));
      const Planned planned = plan_contender(lean, workload, machine);
      row.most_parts = planned.plan.num_splits;
      row.percent.push_back(reduction_percent(workload, planned, machine));
    }
    rows.push_back(row);
  }
  return rows;
}

}  // namespace splitwave::reproduction
