// SPDX-License-Identifier: Apache-2.0
// One function per row of the table in schedules.cpp; each has its own file. See ScheduleFunction in schedules.h.
#pragma once

#include <string_view>

#include "schedules/grid.h"
#include "schedules/plan.h"
#include "workloads/workload.h"

namespace splitwave::schedules {

Plan fa2(const workloads::Workload& workload, const Grid& grid, std::string_view argument);
Plan fixed_split(const workloads::Workload& workload, const Grid& grid, std::string_view argument);
Plan fa3(const workloads::Workload& workload, const Grid& grid, std::string_view argument);
Plan seq_aware(const workloads::Workload& workload, const Grid& grid, std::string_view argument);
Plan lean(const workloads::Workload& workload, const Grid& grid, std::string_view argument);
/// lean:ort
Plan lean_ort(const workloads::Workload& workload, const Grid& grid);
Plan flashinfer(const workloads::Workload& workload, const Grid& grid, std::string_view argument);
Plan flashinfer_holistic(const workloads::Workload& workload, const Grid& grid, std::string_view argument);
Plan flashmla(const workloads::Workload& workload, const Grid& grid, std::string_view argument);
Plan fixed_size(const workloads::Workload& workload, const Grid& grid, std::string_view argument);

}  // namespace splitwave::schedules
