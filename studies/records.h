// SPDX-License-Identifier: Apache-2.0
// Predictions as records.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cpu_reference/compare.h"
#include "reports/record.h"
#include "schedules/grid.h"
#include "schedules/plan.h"
#include "studies/predict.h"
#include "studies/target.h"
#include "workloads/workload.h"

namespace splitwave::studies {

/// A record of this build that says what was run where, and nothing yet of how it went.
reports::Record start_record(const std::string& workload, const std::string& schedule, std::string_view executor,
                             const std::string& machine);

/// The parts of a record that the plan alone determines; `machine` is a Target's name. by_auto: the plan's schedule was
/// chosen, for "auto". The executor is left to the caller.
reports::Record plan_record(const workloads::Workload& workload, const schedules::Plan& plan,
                            const schedules::Grid& grid, const std::string& machine, bool by_auto);

/// Statistics of `samples` timed runs, in seconds, and the bandwidth of the record's bytes in the median.
void set_times(reports::Record& record, double median, double p20, double p80, std::int64_t samples);

/// The part of the errors that records keep.
reports::RecordError record_error(const cpu_reference::Errors& errors);

/// The predicted record.
reports::Record record_of(const Prediction& prediction, const workloads::Workload& workload, const Target& target);

/// predict() as a record; a point that cannot run gives a record with the reason, unless `strict`, which lets the
/// InputError out.
reports::Record predicted_record(const workloads::Workload& workload, std::string_view schedule, const Target& target,
                                 bool strict);

/// predict()'s plan as one line of JSON, without its newline. A summary begins with the workload and the machine, so
/// that lines can be told apart; a full plan is the plan's own format, which reads back (schedules/plan_json.h). A
/// schedule that cannot serve the workload gives a line with the reason, unless `strict`, which lets the InputError
/// out.
std::string plan_line(const workloads::Workload& workload, const std::string& schedule, const Target& target, bool full,
                      bool strict);

/// The record of a point that cannot run, with the reason.
reports::Record failed_record(const std::string& workload, const std::string& schedule, const std::string& executor,
                              const std::string& machine, const std::string& reason);

}  // namespace splitwave::studies
