// SPDX-License-Identifier: Apache-2.0
#include "cli/watch.h"

#include <utility>

#include "base/stop.h"

namespace splitwave::cli {

studies::Watcher watch(Progress& progress) {
  studies::Watcher watcher;
  watcher.begin = [&progress](const std::string& label) {
    base::stop_if_asked();
    progress.show(label);
  };
  watcher.done = [&progress](double work) { progress.add(work); };
  return watcher;
}

studies::Watcher watch(Progress& progress, RecordSink& sink) {
  studies::Watcher watcher = watch(progress);
  watcher.record = [&sink](reports::Record record) { sink.add(std::move(record)); };
  return watcher;
}

}  // namespace splitwave::cli
