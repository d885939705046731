// SPDX-License-Identifier: Apache-2.0
// What --executor names.
#pragma once

#include <cstdint>
#include <string>

#include "studies/measure.h"

namespace splitwave::cli {

/// Throws MissingError, naming what is allowed, if this binary or this computer lacks what the executor needs.
void require_executor(const std::string& name);

/// Throws MissingError if the executor is there, but does not record what it runs (run --trace).
void require_timelines(const std::string& name);

/// "cpu", with so many threads (studies::cpu_executor), or "cuda". Tells the user what there is to know about it.
studies::Executor make_executor(const std::string& name, std::int32_t threads, bool measure_cpu,
                                const studies::TimingBudget& budget);

}  // namespace splitwave::cli
