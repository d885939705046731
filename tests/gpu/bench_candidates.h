// SPDX-License-Identifier: Apache-2.0
// Plans and kernels that a bench tries on a shape.
#pragma once

#include <string>
#include <vector>

#include "gpu/kernel_config.h"
#include "schedules/plan.h"
#include "workloads/workload.h"

namespace splitwave::testing {

/// KV tile of plans that are asked for without one.
inline constexpr std::int32_t kTile = 64;

struct Candidate {
  std::string schedule;
  gpu::KernelConfig config;
  std::int32_t tile_kv = kTile;
};

/// Every reasonable pair of a schedule and a kernel for the workload.
std::vector<Candidate> sweep_candidates(const workloads::Workload& workload);

/// The schedule on the workload's plainest kernel, 4 warps with 2 stages: what the schedules are compared by.
Candidate plain_candidate(const std::string& schedule, const workloads::Workload& workload);

/// The plan of a candidate.
schedules::Plan plan_of(const workloads::Workload& workload, const Candidate& candidate);

/// "fixed-split:4+last_arriver@r1w4s4t16c1", "lean@r1a4s2t16c1/16" with another KV tile than kTile.
std::string to_string(const Candidate& candidate);
Candidate parse_candidate(const std::string& text);

}  // namespace splitwave::testing
