// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace splitwave::cpu_reference {

/// The values of `count` f16 elements as doubles, with the widest vectors that this computer has: bit for bit what
/// workloads::from_bits() gives. `from` need not be aligned.
void load_f16(const std::byte* from, std::int32_t count, double* to);

/// The same of bf16 elements.
void load_bf16(const std::byte* from, std::int32_t count, double* to);

}  // namespace splitwave::cpu_reference
