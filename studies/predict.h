// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "reports/record.h"
#include "schedules/grid.h"
#include "schedules/plan.h"
#include "schedules/timeline.h"
#include "studies/target.h"
#include "workloads/workload.h"

namespace splitwave::studies {

/// A schedule's plan on a machine, and the simulator's timeline of it.
struct Prediction {
  schedules::Plan plan;
  schedules::Grid grid;
  schedules::Timeline timeline;
};

/// Plans the workload for the target's grid and simulates the plan. `schedule` may be "auto". Throws InputError if the
/// schedule does not exist or cannot serve the workload.
Prediction predict(std::string_view schedule, const workloads::Workload& workload, const Target& target);

/// The same for one schedule that is not "auto", or nothing if a bound shows that it takes longer than `limit` seconds:
/// then it is not simulated.
std::optional<Prediction> predict_within(double limit, std::string_view schedule, const workloads::Workload& workload,
                                         const Target& target);

/// The parts of a record that the plan alone determines; `machine` is a Target's name.
reports::Record plan_record(const workloads::Workload& workload, const schedules::Plan& plan,
                            const schedules::Grid& grid, const std::string& machine);

/// The predicted record.
reports::Record record_of(const Prediction& prediction, const workloads::Workload& workload, const Target& target);

/// predict() as a record; a point that cannot run gives a record with the reason, unless `strict`, which lets the
/// InputError out.
reports::Record predicted_record(std::string_view schedule, const workloads::Workload& workload, const Target& target,
                                 bool strict);

/// The record of a point that cannot run, with the reason.
reports::Record failed_record(const std::string& workload, const std::string& schedule, const std::string& executor,
                              const std::string& machine, const std::string& reason);

}  // namespace splitwave::studies
