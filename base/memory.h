// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace splitwave::base {

/// Bytes of memory that this process can hope to get: what the kernel calls available, within what its control group
/// and its own limits (ulimit -v, -d) leave.
std::int64_t available_memory_bytes();

}  // namespace splitwave::base
