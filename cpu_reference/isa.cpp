// SPDX-License-Identifier: Apache-2.0
#include "cpu_reference/isa.h"

#if defined(SPLITWAVE_X86)
#include <cpuid.h>
#endif

namespace splitwave::cpu_reference {
namespace {

#if defined(SPLITWAVE_X86)
bool has_f16c() {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}

bool has_avx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c();
}

bool has_avx512() {
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}
#endif

}  // namespace

std::vector<Isa> supported_isas() {
  std::vector<Isa> isas{Isa::baseline};
#if defined(SPLITWAVE_X86)
  if (has_avx2()) isas.push_back(Isa::avx2);
  if (has_avx512()) isas.push_back(Isa::avx512);
#endif
  return isas;
}

Isa best_isa() {
  static const Isa best = supported_isas().back();
  return best;
}

std::string to_string(Isa isa) {
  switch (isa) {
    case Isa::baseline:
      return "baseline";
    case Isa::avx2:
      return "avx2";
    case Isa::avx512:
      return "avx512";
  }
  return "?";
}

}  // namespace splitwave::cpu_reference
