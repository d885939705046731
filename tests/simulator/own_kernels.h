// SPDX-License-Identifier: Apache-2.0
// The project's own kernels on an H200 with its calibrated constants.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "schedules/schedules.h"
#include "simulator/alternatives.h"
#include "simulator/simulate.h"

namespace splitwave::simulator::own_kernels {

inline const KernelFamily& own() {
  static const KernelFamily family = load_kernel(std::string(kOwnKernel));
  return family;
}

inline Machine h200() {
  return load_machine("h200-calibrated");
}

inline KernelProfile config(const std::string& name, const workloads::Workload& workload) {
  for (const KernelProfile& kernel : alternatives(own(), workload, h200(), kAnyRows)) {
    if (kernel.config == name) return kernel;
  }
  ADD_FAILURE() << name;
  return {};
}

inline schedules::Plan plan_for(const std::string& schedule, const workloads::Workload& workload,
                                const KernelProfile& kernel) {
  return schedules::make_plan(schedule, workload, grid_of(h200(), kernel));
}

}  // namespace splitwave::simulator::own_kernels
