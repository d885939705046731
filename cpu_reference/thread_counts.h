// SPDX-License-Identifier: Apache-2.0
// Bandwidth by 1, 2, ... threads from what was measured at some of these counts. Inside the folder and its tests only.
#pragma once

#include <vector>

namespace splitwave::cpu_reference {

/// 1, 2, 4, ... and `threads` itself: counts whose bandwidth is worth a measurement in every round. threads: at
/// least 1.
std::vector<int> doubling_counts(int threads);

/// Every count up to `processors`, then `threads` itself: threads beyond the processors take turns, and what two counts
/// of them read differs by little. threads and processors: at least 1.
std::vector<int> processor_counts(int threads, int processors);

/// The rate of each count from 1 to the last of `counts`: as given at `counts` (ascending from 1), linear between.
std::vector<double> rates_between(const std::vector<int>& counts, const std::vector<double>& rates);

}  // namespace splitwave::cpu_reference
