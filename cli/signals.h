// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace splitwave::cli {

/// From now on SIGINT and SIGTERM ask the work to stop (base/stop.h); a second one ends the program at once.
void catch_stop_signals();

}  // namespace splitwave::cli
