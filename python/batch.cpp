// SPDX-License-Identifier: Apache-2.0
#include "python/batch.h"

#include <fmt/format.h>

#include "base/error.h"
#include "workloads/limits.h"

namespace splitwave::python {

void set_requests(workloads::Workload& workload, const std::vector<std::int64_t>& context_lens,
                  std::int64_t query_len) {
  workload.requests.clear();
  for (const std::int64_t length : context_lens) {
    // What does not fit into 32 bits is outside the format's limits by far; validate() tells the rest.
    const bool fits = length >= 0 && length <= workloads::kMaxContextLen;
    if (!fits || query_len < 1 || query_len > workloads::kMaxQueryLen) {
      throw base::InputError(fmt::format(
          "context_lens[{}]: a context of {} tokens with {} query tokens is not allowed; allowed: 0 to {}, 1 to {}",
          workload.requests.size(), length, query_len, workloads::kMaxContextLen, workloads::kMaxQueryLen));
    }
    workload.requests.push_back({static_cast<std::int32_t>(query_len), static_cast<std::int32_t>(length)});
  }
  validate(workload);
}

}  // namespace splitwave::python
