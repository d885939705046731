// SPDX-License-Identifier: Apache-2.0
#include "cpu_reference/thread_counts.h"

#include <algorithm>
#include <cstddef>

namespace splitwave::cpu_reference {

std::vector<int> doubling_counts(int threads) {
  std::vector<int> counts;
  for (int count = 1; count < threads; count *= 2) counts.push_back(count);
  counts.push_back(threads);
  return counts;
}

std::vector<int> processor_counts(int threads, int processors) {
  std::vector<int> counts;
  for (int count = 1; count <= std::min(threads, processors); ++count) counts.push_back(count);
  if (counts.back() < threads) counts.push_back(threads);
  return counts;
}

std::vector<double> rates_between(const std::vector<int>& counts, const std::vector<double>& rates) {
  std::vector<double> result;
  for (int count = 1; count <= counts.back(); ++count) {
    const auto i = static_cast<std::size_t>(std::lower_bound(counts.begin(), counts.end(), count) - counts.begin());
    if (counts[i] == count) {
      result.push_back(rates[i]);
      continue;
    }
    const double share = static_cast<double>(count - counts[i - 1]) / (counts[i] - counts[i - 1]);
    result.push_back(rates[i - 1] + (rates[i] - rates[i - 1]) * share);
  }
  return result;
}

}  // namespace splitwave::cpu_reference
