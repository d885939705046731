// SPDX-License-Identifier: Apache-2.0
#include "base/parallel.h"

#include <omp.h>

#if defined(__SANITIZE_THREAD__)
extern "C" {
void __tsan_acquire(void* address);  // NOLINT(bugprone-reserved-identifier)
void __tsan_release(void* address);  // NOLINT(bugprone-reserved-identifier)
}
#endif

namespace splitwave::base {
namespace {

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
  void give(int /*end*/) {}
  void take(int /*end*/) {}
#endif
};

}  // namespace

#if defined(__SANITIZE_THREAD__)
__attribute__((no_sanitize("thread")))
#endif
void parallel(int threads, const std::function<void(int, int)>& body) {
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

int default_threads() {
  return omp_get_max_threads();
}

}  // namespace splitwave::base
