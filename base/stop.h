// SPDX-License-Identifier: Apache-2.0
// Ending work that takes long: whoever runs the process asks, and the work looks between its pieces.
#pragma once

namespace splitwave::base {

/// How work ends that was asked to: thrown by what computes. It is no error, and no std::exception.
struct Stopped {
  int signal = 0;
};

/// Asks all work of this process to end, for the reason `signal`; 0 takes it back. May be called in a signal handler.
void ask_to_stop(int signal) noexcept;

/// Whether somebody asked. Costs a load: loops over rows and events look each time.
bool stop_asked() noexcept;

/// Throws Stopped if somebody asked.
void stop_if_asked();

}  // namespace splitwave::base
