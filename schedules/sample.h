// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "schedules/plan.h"
#include "workloads/sample.h"

namespace splitwave::schedules {

/// What a plan of the workload does for the groups, as a plan of workloads::sampled_workload(workload, groups): the
/// same items in the same lists and order, with the same cuts and merges; lists without any are left out. The plan must
/// be valid, and what comes of it is so.
Plan sampled_plan(const workloads::Workload& workload, const Plan& plan, std::span<const workloads::KvGroup> groups);

}  // namespace splitwave::schedules
