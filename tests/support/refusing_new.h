// SPDX-License-Identifier: Apache-2.0
// An operator new that refuses when a test wants it to. Programs that compile refusing_new.cpp have it.
#pragma once

#include <cstdint>

namespace splitwave::testing {

/// From now on the allocations of all threads are counted from 1, and those from `first` to `last` refused.
void refuse_memory(std::int64_t first, std::int64_t last);

/// Refuses nothing any more; returns how many allocations were asked for.
std::int64_t give_memory();

}  // namespace splitwave::testing
