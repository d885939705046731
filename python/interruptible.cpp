// SPDX-License-Identifier: Apache-2.0
#include "python/interruptible.h"

#include <unistd.h>

#include "base/stop.h"

namespace splitwave::python {
namespace {

/// Python's own handler, which notes the signal for the time after the call.
void (*python_handler)(int) = nullptr;

void ask_and_note(int signal) {
  base::ask_to_stop(signal);
  if (python_handler != SIG_DFL && python_handler != SIG_IGN && python_handler != nullptr) python_handler(signal);
}

}  // namespace

Interruptible::Interruptible() {
  if (::gettid() != ::getpid()) return;
  struct sigaction action = {};
  action.sa_handler = ask_and_note;
  handles_ = ::sigaction(SIGINT, nullptr, &before_) == 0 && (before_.sa_flags & SA_SIGINFO) == 0 &&
             before_.sa_handler != SIG_IGN;
  if (!handles_) return;
  python_handler = before_.sa_handler;
  ::sigaction(SIGINT, &action, nullptr);
}

Interruptible::~Interruptible() {
  if (!handles_) return;
  ::sigaction(SIGINT, &before_, nullptr);
  base::ask_to_stop(0);
}

}  // namespace splitwave::python
