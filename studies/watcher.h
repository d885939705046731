// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "reports/record.h"

namespace splitwave::studies {

/// What a study tells its caller while it works. `begin` and `record` may throw to end the study; what was recorded by
/// then is whole.
struct Watcher {
  std::function<void(const std::string&)> begin;  ///< what is worked on next
  std::function<void(double)> done;               ///< work done since the last call, in the study's unit
  std::function<void(reports::Record)> record;    ///< one result
};

}  // namespace splitwave::studies
