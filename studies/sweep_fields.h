// SPDX-License-Identifier: Apache-2.0
// What a sweep may vary: one table of all fields of workloads, machines, kernels and schedules.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <variant>

#include "simulator/kernel.h"
#include "simulator/machine.h"
#include "studies/sweep_axis.h"
#include "workloads/workload.h"

namespace splitwave::studies {

/// Choices of a point beside its workload, machine and kernel.
struct ScheduleSettings {
  std::int32_t argument = 0;     ///< N of "fixed-split:N"; 0: the name as given
  std::int32_t ctas_per_sm = 0;  ///< 0: the kernel's occupancy
  std::int32_t tile_q = 0;       ///< 0: the schedule's own rule
  std::int32_t tile_kv = 0;      ///< 0: the schedule's own rule
};

using SetWorkload = void (*)(workloads::Workload&, const AxisValue&);
using SetMachine = void (*)(simulator::Machine&, const AxisValue&);
using SetKernel = void (*)(simulator::KernelProfile&, const AxisValue&);
using SetSchedule = void (*)(ScheduleSettings&, const AxisValue&);

struct SweepField {
  AxisDomain domain;
  std::string_view summary;  ///< with its unit
  std::variant<SetWorkload, SetMachine, SetKernel, SetSchedule> set;
};

/// The table. Within a workload, values are set in the order of the table, whatever the order of the axes.
std::span<const SweepField> sweep_fields();

/// Index of the field in the table. Throws InputError with the nearest names if there is none.
std::size_t find_field(std::string_view name);

}  // namespace splitwave::studies
