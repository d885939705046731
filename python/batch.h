// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/workload.h"

namespace splitwave::python {

/// Makes the workload a batch of requests of these contexts, in tokens, with `query_len` query tokens each, and checks
/// it. Throws InputError as validate() does.
void set_requests(workloads::Workload& workload, const std::vector<std::int64_t>& context_lens, std::int64_t query_len);

}  // namespace splitwave::python
