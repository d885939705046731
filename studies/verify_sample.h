// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "base/array.h"
#include "cpu_reference/verify.h"
#include "workloads/workload.h"

namespace splitwave::studies {

/// cpu_reference::verify() of a workload's output (and LSE), judged in `groups` KV heads of requests
/// (workloads::sample_groups) with all their query rows, whose tensors alone are made. There are no figures of each
/// head and request, and requests and heads in the texts of findings are counted in the sample. Arrays are in C order.
/// Throws InputError where a shape does not fit or the sample's tensors do not fit into memory.
cpu_reference::Verification verify_sample(const workloads::Workload& workload, const base::ArrayView& output,
                                          const std::optional<base::ArrayView>& lse, bool lse_base_two,
                                          const cpu_reference::VerifyOptions& options, std::int64_t groups);

}  // namespace splitwave::studies
