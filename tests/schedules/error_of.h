// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "schedules/grid.h"
#include "schedules/schedules.h"
#include "workloads/workload.h"

namespace splitwave::schedules {

/// Why the schedule refuses the workload; empty if it does not.
inline std::string error_of(std::string_view name, const workloads::Workload& w, const Grid& grid) {
  try {
    make_plan(name, w, grid);
  } catch (const base::InputError& error) {
    return error.what();
  }
  return "";
}

}  // namespace splitwave::schedules
