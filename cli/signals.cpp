// SPDX-License-Identifier: Apache-2.0
#include "cli/signals.h"

#include <csignal>
#include <initializer_list>

#include "base/stop.h"

namespace splitwave::cli {

extern "C" void remember_stop_signal(int signal) {
  base::ask_to_stop(signal);
}

void catch_stop_signals() {
  struct sigaction action {};
  action.sa_handler = remember_stop_signal;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigemptyset(&action.sa_mask);
  for (const int signal : {SIGINT, SIGTERM}) {
    ::sigaction(signal, &action, nullptr);
  }
}

}  // namespace splitwave::cli
