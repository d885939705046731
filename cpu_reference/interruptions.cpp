// SPDX-License-Identifier: Apache-2.0
#include "cpu_reference/interruptions.h"

#include <sys/resource.h>

namespace splitwave::cpu_reference {

std::int64_t interruptions() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nivcsw;
}

std::int64_t until_uninterrupted(const std::function<void()>& prepare, const std::function<void()>& work,
                                 const std::function<std::int64_t()>& count) {
  std::int64_t interrupted = 0;
  for (int i = 0; i < kTries; ++i) {
    prepare();
    const std::int64_t before = count();
    work();
    if (count() == before) break;
    ++interrupted;
  }
  return interrupted;
}

}  // namespace splitwave::cpu_reference
