// SPDX-License-Identifier: Apache-2.0
#include "base/stop.h"

#include <atomic>

namespace splitwave::base {
namespace {

std::atomic<int> asked = 0;  ///< by another thread than the one that is interrupted, too
static_assert(std::atomic<int>::is_always_lock_free, "signal handlers write it");

}  // namespace

void ask_to_stop(int signal) noexcept {
  asked.store(signal, std::memory_order_relaxed);
}

bool stop_asked() noexcept {
  return asked.load(std::memory_order_relaxed) != 0;
}

void stop_if_asked() {
  if (const int signal = asked.load(std::memory_order_relaxed); signal != 0) throw Stopped{signal};
}

}  // namespace splitwave::base
