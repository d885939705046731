// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "schedules/plan.h"

namespace splitwave::schedules {

/// Every broken invariant of schedules/plan.h in words, with the offending index and values; empty for a valid plan.
std::vector<std::string> violations(const workloads::Workload& workload, const Plan& plan);

/// Throws std::logic_error with the first violation: a plan that breaks the contract is a bug, not bad input.
void validate(const workloads::Workload& workload, const Plan& plan);

}  // namespace splitwave::schedules
