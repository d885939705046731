// SPDX-License-Identifier: Apache-2.0
// What an executor wrote down while it ran a plan, and its timeline.
#pragma once

#include <cstdint>
#include <vector>

#include "schedules/timeline.h"

namespace splitwave::schedules {

/// From when to when a CTA, an item or a merge was at work, by one clock for all SMs.
struct Stretch {
  std::int32_t cta = 0;    ///< number of the CTA in its grid; CTAs of a merge kernel count on behind the others
  std::int32_t sm = 0;     ///< a thread, on a CPU
  std::int32_t item = -1;  ///< of the plan; -1: a merge, or a CTA as a whole
  std::int64_t begin_nanoseconds = 0;
  std::int64_t end_nanoseconds = 0;
};

/// One run of a plan. An item has a stretch for each CTA that has a part in it: those of a cluster, and those whose
/// rows are other ones of a tall tile. Where the warps of a CTA have lists of their own, each counts as a CTA.
struct Recording {
  std::vector<Stretch> ctas;  ///< each whole; of different numbers
  std::vector<Stretch> work;  ///< their items and merges
};

/// The recording as seconds and spans; time 0 is the first start. CTAs take, in the order in which they begin, the
/// least slot of their SM that is free. What no clock shows stays 0: occupancy, waves, breakdown and traffic. Throws
/// std::logic_error if work is of a CTA that is not there.
Timeline timeline_of(const Recording& recording);

/// The timeline with the start of its first span as time 0: without the launch, which no recording shows.
Timeline from_first_span(Timeline timeline);

/// CTA slots of an SM that the spans need; at least 1.
std::int32_t slots_per_sm(const Timeline& timeline);

/// The step of the clock: the greatest that all times are whole multiples of from the first on. 0 if all are the same.
std::int64_t clock_step_nanoseconds(const Recording& recording);

}  // namespace splitwave::schedules
