// SPDX-License-Identifier: Apache-2.0
// Which measured constants are worth keeping.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "cpu_reference/measure.h"
#include "cpu_reference/overlap.h"

namespace splitwave::cpu_reference {
namespace {

/// A quiet machine's own services interrupt a few times per second; one competitor does so at each end of its time
/// slices, which are 3 to 10 ms.
constexpr double kMostInterruptionsPerSecond = 50;
/// Reads by all threads of a quiet virtual machine differ by up to a tenth, and forks, which are near the clock's own
/// steps, by their own size.
constexpr double kMostReadSpread = 0.25;
constexpr double kMostForkSpread = 2;

/// A figure with the limits within which every CPU's lies, a decade or more beyond those that were seen.
struct Limited {
  const char* name;
  double value;
  double least;
  double most;
};

std::string outside(const Limited& one) {
  if (one.value >= one.least && one.value <= one.most) return "";
  return fmt::format("{} is {:.3g}; allowed: {:g} to {:g}", one.name, one.value, one.least, one.most);
}

std::string absurd_bandwidth(const char* name, const std::vector<double>& bytes_per_second) {
  for (std::size_t i = 0; i < bytes_per_second.size(); ++i) {
    const std::string wrong = outside({name, bytes_per_second[i], 1e8, 1e12 * static_cast<double>(i + 1)});
    if (!wrong.empty()) return wrong;
  }
  // Threads disturb each other, but not so that all take in less than half of what one does.
  if (!bytes_per_second.empty() && bytes_per_second.back() < bytes_per_second.front() / 2) {
    return fmt::format("{} is {:.3g} by all threads and {:.3g} by one; allowed: no less than half", name,
                       bytes_per_second.back(), bytes_per_second.front());
  }
  return "";
}

}  // namespace

std::string absurd_figure(const CpuConstants& constants) {
  std::vector<std::string> wrong = {
      absurd_bandwidth("read_bytes_per_second", constants.read_bytes_per_second),
      absurd_bandwidth("row_read_bytes_per_second", constants.row_read_bytes_per_second),
      outside({"token_seconds_per_kv_byte", constants.token_seconds_per_kv_byte, 1e-13, 1e-8}),
      outside({"fork_seconds", constants.fork_seconds, 1e-9, 1e-3}),
      outside({"overlap", constants.overlap, kLeastOverlap, kMostOverlap}),
      outside({"list_seconds", constants.list_seconds, 0, 1e-3}),
      outside({"item_seconds", constants.item_seconds, 0, 1e-3}),
      outside({"merge_seconds_per_row_split", constants.merge_seconds_per_row_split, 0, 1e-4})};
  for (const auto& rows : constants.tile) {
    for (const TileCost& cost : rows) {
      wrong.push_back(outside({"tile", cost.token_seconds + 256 * cost.token_element_seconds, 1e-10, 1e-5}));
    }
  }
  const auto found = std::find_if(wrong.begin(), wrong.end(), [](const std::string& text) { return !text.empty(); });
  return found == wrong.end() ? "" : *found;
}

std::string why_not_kept(const MeasuredCpu& measured) {
  const Quietness& seen = measured.quietness;
  if (seen.interruptions_per_second > kMostInterruptionsPerSecond) {
    return fmt::format(
        "the machine was busy, {:.0f} interruptions per second by other processes (a quiet one: up to {:g})",
        seen.interruptions_per_second, kMostInterruptionsPerSecond);
  }
  if (seen.read_spread > kMostReadSpread) {
    return fmt::format(
        "the machine was busy, reads of the same memory differed by {:.0f} % (a quiet one: up to {:.0f} %)",
        100 * seen.read_spread, 100 * kMostReadSpread);
  }
  if (seen.fork_spread > kMostForkSpread) {
    return fmt::format("the machine was busy, starts of its threads differed by {:.0f} % (a quiet one: up to {:.0f} %)",
                       100 * seen.fork_spread, 100 * kMostForkSpread);
  }
  const std::string absurd = absurd_figure(measured.constants);
  return absurd.empty() ? "" : absurd + " (was the machine busy?)";
}

}  // namespace splitwave::cpu_reference
