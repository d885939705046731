// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace splitwave::cli {

/// The user or the system asked the program to stop (Ctrl-C, SIGTERM).
struct Stopped {
  int signal = 0;
};

/// From now on SIGINT and SIGTERM are remembered for stop_if_asked(); a second one ends the program at once.
void catch_stop_signals();

/// Throws Stopped if a signal came. Called between pieces of work, so that files are left in a good state.
void stop_if_asked();

}  // namespace splitwave::cli
