// SPDX-License-Identifier: Apache-2.0
// Predictions as records.
#pragma once

#include <string>
#include <string_view>

#include "reports/record.h"
#include "schedules/grid.h"
#include "schedules/plan.h"
#include "studies/predict.h"
#include "studies/target.h"
#include "workloads/workload.h"

namespace splitwave::studies {

/// The parts of a record that the plan alone determines; `machine` is a Target's name.
reports::Record plan_record(const workloads::Workload& workload, const schedules::Plan& plan,
                            const schedules::Grid& grid, const std::string& machine);

/// The predicted record.
reports::Record record_of(const Prediction& prediction, const workloads::Workload& workload, const Target& target);

/// predict() as a record; a point that cannot run gives a record with the reason, unless `strict`, which lets the
/// InputError out.
reports::Record predicted_record(const workloads::Workload& workload, std::string_view schedule, const Target& target,
                                 bool strict);

/// The record of a point that cannot run, with the reason.
reports::Record failed_record(const std::string& workload, const std::string& schedule, const std::string& executor,
                              const std::string& machine, const std::string& reason);

}  // namespace splitwave::studies
