// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/progress.h"
#include "cli/record_sink.h"
#include "studies/watcher.h"

namespace splitwave::cli {

/// A watcher that moves the progress bar, which must outlive it, and ends the study if the program is asked to stop.
studies::Watcher watch(Progress& progress);

/// A watcher that moves the progress bar, keeps the records and ends the study if the program is asked to stop. Both
/// must outlive it.
studies::Watcher watch(Progress& progress, RecordSink& sink);

}  // namespace splitwave::cli
