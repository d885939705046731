// SPDX-License-Identifier: Apache-2.0
// The functions of the table's rows in schedules.cpp; each schedule has its own file. See ScheduleFunction and
// KernelFunction in schedules.h.
#pragma once

#include <cstdint>
#include <string_view>

#include "schedules/grid.h"
#include "schedules/plan.h"
#include "workloads/workload.h"

namespace splitwave::schedules {

Plan fa2(const workloads::Workload& workload, const Grid& grid, std::string_view argument);
Plan fixed_split(const workloads::Workload& workload, const Grid& grid, std::string_view argument);
Plan fa3(const workloads::Workload& workload, const Grid& grid, std::string_view argument);
Plan fa4(const workloads::Workload& workload, const Grid& grid, std::string_view argument);
Plan seq_aware(const workloads::Workload& workload, const Grid& grid, std::string_view argument);
Plan lean(const workloads::Workload& workload, const Grid& grid, std::string_view argument);
/// lean:ort
Plan lean_ort(const workloads::Workload& workload, const Grid& grid);
Plan flashinfer(const workloads::Workload& workload, const Grid& grid, std::string_view argument);
Plan flashinfer_holistic(const workloads::Workload& workload, const Grid& grid, std::string_view argument);
Plan flashmla(const workloads::Workload& workload, const Grid& grid, std::string_view argument);
Plan xqa(const workloads::Workload& workload, const Grid& grid, std::string_view argument);
Plan fixed_size(const workloads::Workload& workload, const Grid& grid, std::string_view argument);
Plan longest_first(const workloads::Workload& workload, const Grid& grid, std::string_view argument);

std::string_view fa2_kernel(const workloads::Workload& workload, std::string_view argument, std::int32_t num_splits);
std::string_view fixed_split_kernel(const workloads::Workload& workload, std::string_view argument,
                                    std::int32_t num_splits);
std::string_view fa3_kernel(const workloads::Workload& workload, std::string_view argument, std::int32_t num_splits);
std::string_view fa4_kernel(const workloads::Workload& workload, std::string_view argument, std::int32_t num_splits);
std::string_view lean_kernel(const workloads::Workload& workload, std::string_view argument, std::int32_t num_splits);
std::string_view flashinfer_kernel(const workloads::Workload& workload, std::string_view argument,
                                   std::int32_t num_splits);
std::string_view flashinfer_holistic_kernel(const workloads::Workload& workload, std::string_view argument,
                                            std::int32_t num_splits);
std::string_view flashmla_kernel(const workloads::Workload& workload, std::string_view argument,
                                 std::int32_t num_splits);
std::string_view xqa_kernel(const workloads::Workload& workload, std::string_view argument, std::int32_t num_splits);
/// splitwave's own kernel, for schedules without a library: in fixed_size.cpp.
std::string_view splitwave_kernel(const workloads::Workload& workload, std::string_view argument,
                                  std::int32_t num_splits);

}  // namespace splitwave::schedules
