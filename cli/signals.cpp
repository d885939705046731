// SPDX-License-Identifier: Apache-2.0
#include "cli/signals.h"

#include <atomic>
#include <csignal>
#include <initializer_list>

namespace splitwave::cli {
namespace {

std::atomic<int> caught = 0;  ///< asked for by another thread than the one that is interrupted
static_assert(std::atomic<int>::is_always_lock_free);

extern "C" void remember(int signal) {
  caught = signal;
}

}  // namespace

void catch_stop_signals() {
  struct sigaction action {};
  action.sa_handler = remember;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigemptyset(&action.sa_mask);
  for (const int signal : {SIGINT, SIGTERM}) {
    ::sigaction(signal, &action, nullptr);
  }
}

void stop_if_asked() {
  if (const int signal = caught; signal != 0) {
    throw Stopped{signal};
  }
}

}  // namespace splitwave::cli
