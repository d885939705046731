// SPDX-License-Identifier: Apache-2.0
#include "cli/signals.h"

#include <csignal>
#include <initializer_list>

namespace splitwave::cli {
namespace {

volatile std::sig_atomic_t caught = 0;

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
  if (caught != 0) {
    throw Stopped{caught};
  }
}

}  // namespace splitwave::cli
