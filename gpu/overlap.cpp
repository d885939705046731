// SPDX-License-Identifier: Apache-2.0
#include "gpu/overlap.h"

namespace splitwave::gpu {

bool overlap_pays(const workloads::Workload& workload, const schedules::Plan& plan, const Residency& where) {
  constexpr std::int64_t kSmallBytes = 8'000'000;
  constexpr double kFull = 0.9;
  return workloads::kv_bytes(workload) < kSmallBytes || plan.lists() >= kFull * where.workers;
}

}  // namespace splitwave::gpu
