// SPDX-License-Identifier: Apache-2.0
#include "studies/trial.h"

#include <algorithm>
#include <utility>

#include "schedules/schedules.h"
#include "simulator/alternatives.h"

namespace splitwave::studies {

Trial::Trial(const workloads::Workload& workload, const Candidate& candidate, const Target& target,
             const PredictOptions& options)
    : candidate_(candidate) {
  made_.grid = grid_with(workload, candidate.schedule, *candidate.kernel, target, options);
  if (made_.grid.tile_kv == 0) made_.grid.tile_kv = candidate.tile_kv;
  if (made_.grid.tile_q == 0) made_.grid.tile_q = candidate.kernel->most_rows;
  made_.plan = schedules::make_plan(candidate.schedule, workload, made_.grid);
  auto run = simulator::as_run(*candidate.kernel, workload, made_.plan, made_.grid.resident());
  if (!run) return;
  made_.kernel = std::move(*run);
  if (options.edit_kernel) options.edit_kernel(made_.kernel, &made_.plan);
  simulation_.emplace(workload, made_.plan, target.machine, made_.kernel, simulate_options(target, options));
  seconds_ = {std::max(candidate.seconds.least, simulation_->likely_least_seconds()),
              std::max(candidate.seconds.expected, simulation_->expected_seconds())};
}

bool Trial::is_same(const Trial& other) const {
  const schedules::Plan& a = made_.plan;
  const schedules::Plan& b = other.made_.plan;
  return candidate_.kernel == other.candidate_.kernel && a.items == b.items && a.cta_begin == b.cta_begin &&
         a.outputs == b.outputs && a.merges == b.merges && a.merge == b.merge && a.dispatch == b.dispatch &&
         a.workers == b.workers && (a.num_splits > 1) == (b.num_splits > 1);
}

bool Trial::simulate(double limit_seconds) {
  std::optional<schedules::Timeline> timeline = simulation_->run(limit_seconds);
  if (timeline) made_.timeline = std::move(*timeline);
  return timeline.has_value();
}

}  // namespace splitwave::studies
