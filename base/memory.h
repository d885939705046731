// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace splitwave::base {

/// Bytes of physical memory that this process can hope to get: what the kernel calls available.
std::int64_t available_memory_bytes();

}  // namespace splitwave::base
