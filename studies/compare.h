// SPDX-License-Identifier: Apache-2.0
// The main job: every workload by every schedule, predicted, run, checked and reported.
#pragma once

#include <ctime>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "reports/record.h"
#include "studies/measure.h"
#include "studies/target.h"
#include "studies/watcher.h"
#include "workloads/workload.h"

namespace splitwave::studies {

struct Comparison {
  std::string suite;  ///< what the workloads were loaded from, for the report
  std::vector<workloads::Workload> workloads;
  std::vector<std::string> schedules;  ///< at least one
  std::vector<Target> gpus;            ///< predicted only
  Executor executor;                   ///< predicted and run
  TimingBudget budget;
  std::tm begin{};  ///< UTC, for the report
};

/// Work that compare() reports to its watcher.
double work_of(const Comparison& comparison);

/// Gives the watcher the predicted records of the GPUs and the predicted and measured ones of the executor, workload by
/// workload; returns how the outputs fared against the oracle. Throws as Executor::measure does.
CheckCount compare(const Comparison& comparison, const Watcher& watcher);

/// The speed-ups by schedule, the check and the predictions' agreement, as text for a terminal.
std::string summary(const Comparison& comparison, std::span<const reports::Record> records, const CheckCount& checks);

/// Writes FOLDER/figures and FOLDER/report.md. Returns an empty text, or one line that says why there are no pictures.
/// Throws InputError if a file cannot be written or is there already.
std::string write_report(const Comparison& comparison, std::span<const reports::Record> records,
                         const CheckCount& checks, const std::filesystem::path& folder);

}  // namespace splitwave::studies
