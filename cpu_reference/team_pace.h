// SPDX-License-Identifier: Apache-2.0
// Threads that begin together with equal shares, and how fast they are. Inside the folder only.
#pragma once

#include <functional>
#include <vector>

namespace splitwave::cpu_reference {

/// Time per unit of work of such threads.
struct Pace {
  double slowest = 0;  ///< seconds per unit of the last to end
  double shared = 0;   ///< seconds per unit if the shares were such that all ended together
};

/// Seconds from the begin until each of `count` threads of the team has done its share.
std::vector<double> thread_seconds(int threads, int count, const std::function<void(int)>& share);

/// Of threads that took so long for `share` units each.
Pace pace_of(const std::vector<double>& seconds, double share);

/// What each thread took, round after round.
class TeamTimes {
 public:
  /// One round: seconds by thread, of as many as before.
  void add(const std::vector<double>& seconds);
  /// Of the threads' medians, so that only a thread that is slow most of the time sets the time of the slowest. Throws
  /// std::logic_error before the first round.
  Pace pace(double share) const;
  /// (80th - 20th percentile) / median of the rounds' shared paces.
  double spread() const;

 private:
  std::vector<std::vector<double>> rounds_;
};

}  // namespace splitwave::cpu_reference
