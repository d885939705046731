// SPDX-License-Identifier: Apache-2.0
#include "base/parallel.h"

#include <fmt/format.h>
#include <omp.h>

#include <exception>
#include <latch>
#include <mutex>
#include <system_error>

#include "base/error.h"

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

/// The first exception of a team.
class FirstThrown {
 public:
  /// For a catch block.
  void keep() {
    const std::lock_guard lock(mutex_);
    if (!thrown_) thrown_ = std::current_exception();
  }
  void rethrow() const {
    if (thrown_) std::rethrow_exception(thrown_);
  }

 private:
  std::mutex mutex_;
  std::exception_ptr thrown_;
};

}  // namespace

#if defined(__SANITIZE_THREAD__)
__attribute__((no_sanitize("thread")))
#endif
void parallel(int threads, const std::function<void(int, int)>& body) {
  ForkOrder order;
  FirstThrown first;
  order.give(0);
#pragma omp parallel num_threads(threads)
  {
    order.take(0);
    try {
      body(omp_get_thread_num(), omp_get_num_threads());
    } catch (...) {
      first.keep();
    }
    order.give(1);
  }
  order.take(1);
  first.rethrow();
}

std::vector<std::thread> start_threads(int count, const std::function<void()>& body) {
  std::vector<std::thread> threads;
  threads.reserve(static_cast<std::size_t>(count));
  try {
    while (static_cast<int>(threads.size()) < count) threads.emplace_back(body);
  } catch (const std::system_error&) {  // limits on processes or memory: those that there are do the work
  }
  return threads;
}

void require_threads(int count) {
  std::latch all_there(1);  // none may end before the last has begun
  std::vector<std::thread> threads = start_threads(count - 1, [&] { all_there.wait(); });
  const int started = static_cast<int>(threads.size()) + 1;
  all_there.count_down();
  for (std::thread& thread : threads) thread.join();
  if (started < count) {
    throw InputError(
        fmt::format("threads: {} are not given by the system; allowed: at most {} within its limits on "
                    "memory and processes",
                    count, started));
  }
}

int default_threads() {
  return omp_get_max_threads();
}

}  // namespace splitwave::base
