// SPDX-License-Identifier: Apache-2.0
#include "studies/repeat.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/stop.h"
#include "cpu_reference/bitwise.h"
#include "schedules/plan.h"

namespace splitwave::studies {

cpu_reference::Result<float> poisoned_result(const workloads::Workload& workload, std::int32_t index) {
  constexpr std::uint32_t kQuietNan = 0x7fc00000;
  const auto nan = std::bit_cast<float>(kQuietNan | (static_cast<std::uint32_t>(index) & 0x3fffff));
  std::size_t rows = 0;
  for (const workloads::Request& request : workload.requests) {
    rows += static_cast<std::size_t>(request.query_len) * static_cast<std::size_t>(workload.geometry.query_heads);
  }
  cpu_reference::Result<float> result;
  result.output.assign(rows * static_cast<std::size_t>(workload.geometry.value_dim), nan);
  result.lse.assign(rows, nan);
  return result;
}

reports::RecordRepeat repeat_runs(const workloads::Workload& workload, std::int32_t runs,
                                  const std::function<cpu_reference::Result<float>(std::int32_t)>& run) {
  reports::RecordRepeat repeat;
  repeat.runs = runs;
  const cpu_reference::Result<float> first = run(0);
  for (std::int32_t index = 1; index < runs; ++index) {
    base::stop_if_asked();
    const cpu_reference::Result<float> again = run(index);
    const auto difference = cpu_reference::bit_difference(all_rows(first), all_rows(again));
    if (!difference) continue;
    if (repeat.differing++ > 0) continue;
    repeat.first = fmt::format("run {} in {} elements: {}", index + 1, difference->count,
                               to_string(*difference, cpu_reference::coordinates(workload, 0, *difference)));
  }
  return repeat;
}

std::string merge_orders(std::span<const reports::Record> records) {
  using schedules::MergeKind;
  std::string text;
  for (const MergeKind merge : {MergeKind::none, MergeKind::kernel, MergeKind::host_cta, MergeKind::last_arriver}) {
    const std::string name = to_string(merge);
    const bool there = std::any_of(records.begin(), records.end(), [&](const reports::Record& record) {
      return record.repeat && record.merge == name;
    });
    if (there) text += fmt::format("merge {}: {}\n", name, schedules::merge_order(merge));
  }
  return text;
}

}  // namespace splitwave::studies
