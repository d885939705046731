// SPDX-License-Identifier: Apache-2.0
// verify --batch-invariance.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cli/executor.h"
#include "cli/options.h"

namespace splitwave::cli {

struct InvarianceOptions {
  bool asked = false;
  MachineOptions machine{{"h200"}};
  std::vector<std::string> schedules;
  ExecutorChoice executor;
  bool machine_given = false;  ///< --gpu, or a what if
};

/// --batch-invariance, and the options that need it.
void add_invariance_options(CLI::App& verb, InvarianceOptions& options);

/// Asks every schedule, or those that the options name, about the workloads, and prints the answers. Returns the exit
/// status: kCheckFailed if a named schedule is not invariant, or an executor is not as its plans; kBadInput if a named
/// one has no answer.
int run_batch_invariance(const InvarianceOptions& options, const WorkloadOptions& workload, bool json);

}  // namespace splitwave::cli
