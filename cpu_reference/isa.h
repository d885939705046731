// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace splitwave::cpu_reference {

/// Instruction sets that the kernels of run_plan are built for. baseline needs nothing beyond the compiler's target;
/// avx2 means AVX2, FMA and F16C; avx512 means AVX-512 F, BW, DQ and VL on top.
enum class Isa { baseline, avx2, avx512 };

/// Instruction sets that both this binary and this CPU have, best last; baseline is always there.
std::vector<Isa> supported_isas();

/// The last of supported_isas().
Isa best_isa();

/// The enumerator's own name.
std::string to_string(Isa isa);

}  // namespace splitwave::cpu_reference
