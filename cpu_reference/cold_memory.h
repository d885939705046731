// SPDX-License-Identifier: Apache-2.0
// Inside the folder only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace splitwave::cpu_reference {

/// Memory several times as large as the last cache (64 MiB to 1 GiB), so that reading all of it leaves nothing else in
/// the caches, and little of itself. Allocated at the first call and kept.
std::span<const std::byte> cold_memory();

/// Makes the compiler believe that `value` is needed.
void keep(std::uint64_t value);

}  // namespace splitwave::cpu_reference
