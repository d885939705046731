// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <omp.h>

#if defined(__SANITIZE_THREAD__)
extern "C" {
void __tsan_acquire(void* address);  // NOLINT(bugprone-reserved-identifier)
void __tsan_release(void* address);  // NOLINT(bugprone-reserved-identifier)
}
#endif

namespace splitwave::cpu_reference {

/// Tells ThreadSanitizer of the order that OpenMP's fork and join make: libgomp is not built with it, so that it would
/// report every use of shared data. Nothing in other builds.
struct ForkOrder {
#if defined(__SANITIZE_THREAD__)
  void give(int end) {
    __tsan_release(&ends[end]);
  }
  void take(int end) {
    __tsan_acquire(&ends[end]);
  }
  char ends[2] = {};
#else
  void give(int) {}
  void take(int) {}
#endif
};

/// Runs body(thread, team size) on each thread of an OpenMP team of `threads`; OpenMP may give fewer. The body must not
/// throw.
template <typename Body>
#if defined(__SANITIZE_THREAD__)
__attribute__((no_sanitize("thread")))
#endif
void parallel(int threads, const Body& body) {
  ForkOrder order;
  order.give(0);
#pragma omp parallel num_threads(threads)
  {
    order.take(0);
    body(omp_get_thread_num(), omp_get_num_threads());
    order.give(1);
  }
  order.take(1);
}

}  // namespace splitwave::cpu_reference
