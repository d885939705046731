// SPDX-License-Identifier: Apache-2.0
#include "studies/measure.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/memory.h"

namespace splitwave::studies {

void CheckCount::add(const reports::Record& record, const cpu_reference::Errors& errors,
                     const cpu_reference::Tolerance& limit) {
  ++checked;
  if (!cpu_reference::acceptable(errors, limit)) {
    wrong.push_back(fmt::format(
        "{} by {}: worst row's relative L2 error {:.2e} (allowed {:.2e}), relative LSE error {:.2e} (allowed {:.2e}), "
        "{} misplaced non-finite elements",
        record.workload, record.schedule, errors.worst_row_relative_l2, limit.relative_l2, errors.lse_max_relative,
        limit.lse_relative, errors.mismatched_non_finite));
  }
}

void CheckCount::add_repeat(const reports::Record& record) {
  ++repeated;
  if (record.repeat->differing == 0) return;
  unequal.push_back(fmt::format("{} by {}: {} of {} runs differ from the first, {}", record.workload, record.schedule,
                                record.repeat->differing, record.repeat->runs, record.repeat->first));
}

std::string CheckCount::sentence() const {
  std::string text = wrong.empty() ? fmt::format("All {} outputs are within tolerance of the oracle.", checked)
                                   : fmt::format("{} of {} outputs are out of tolerance, the first: {}.", wrong.size(),
                                                 checked, wrong.front());
  if (unchecked > 0) {
    text += fmt::format(" {} more were not checked: too large for the oracle.", unchecked);
  }
  if (repeated > 0) {
    text += unequal.empty() ? fmt::format(" The runs of each of {} plans are bitwise equal.", repeated)
                            : fmt::format(" {} of {} plans gave other bits when they ran again, the first: {}.",
                                          unequal.size(), repeated, unequal.front());
  }
  return text;
}

std::string baseline_of(std::span<const std::string> schedules) {
  const auto found = std::find_if(schedules.begin(), schedules.end(),
                                  [](const std::string& name) { return name.starts_with("fixed-split"); });
  return found != schedules.end() ? *found : schedules.front();
}

std::int64_t tensor_memory_bytes() {
  constexpr double kShare = 0.7;
  return static_cast<std::int64_t>(kShare * static_cast<double>(base::available_memory_bytes()));
}

}  // namespace splitwave::studies
