// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>

#include <pybind11/pybind11.h>

namespace splitwave::python {

/// For the time of a call that may take long: other threads of Python run, and Ctrl-C ends the work in the call
/// (base/stop.h). Python itself looks at signals only when the call has returned. Signals are the main thread's, so
/// that calls in other threads go on to their end.
class Interruptible {
 public:
  Interruptible();
  ~Interruptible();
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;

 private:
  pybind11::gil_scoped_release unlocked_;
  bool handles_ = false;
  struct sigaction before_ = {};
};

/// Of functions that are bound: all of the call.
using Unlocked = pybind11::call_guard<Interruptible>;

}  // namespace splitwave::python
