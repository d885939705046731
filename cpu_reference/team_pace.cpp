// SPDX-License-Identifier: Apache-2.0
#include "cpu_reference/team_pace.h"

#include <algorithm>
#include <chrono>
#include <stdexcept>

#include "base/parallel.h"
#include "base/quantile.h"

namespace splitwave::cpu_reference {

std::vector<double> thread_seconds(int threads, int count, const std::function<void(int)>& share) {
  std::vector<double> seconds(static_cast<std::size_t>(count));
  const auto begin = std::chrono::steady_clock::now();
  base::parallel(threads, [&](int thread, int /*team*/) {
    if (thread >= count) return;
    share(thread);
    seconds[static_cast<std::size_t>(thread)] =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  });
  return seconds;
}

Pace pace_of(const std::vector<double>& seconds, double share) {
  double rates = 0;
  for (const double one : seconds) rates += share / one;
  return {*std::max_element(seconds.begin(), seconds.end()) / share, static_cast<double>(seconds.size()) / rates};
}

void TeamTimes::add(const std::vector<double>& seconds) {
  rounds_.push_back(seconds);
}

Pace TeamTimes::pace(double share) const {
  if (rounds_.empty()) throw std::logic_error("TeamTimes: no round was measured");
  std::vector<double> medians;
  for (std::size_t thread = 0; thread < rounds_.front().size(); ++thread) {
    std::vector<double> seconds;
    for (const std::vector<double>& round : rounds_) seconds.push_back(round[thread]);
    medians.push_back(base::quantile(seconds, 0.5));
  }
  return pace_of(medians, share);
}

double TeamTimes::spread() const {
  std::vector<double> shared;
  for (const std::vector<double>& round : rounds_) shared.push_back(pace_of(round, 1).shared);
  return base::relative_spread(shared);
}

}  // namespace splitwave::cpu_reference
