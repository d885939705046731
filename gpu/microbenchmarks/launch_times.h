// SPDX-License-Identifier: Apache-2.0
// What launches and signals between CTAs cost.
#pragma once

#include <cstdint>
#include <vector>

#include "gpu/measure.h"

namespace splitwave::gpu {

/// Empty kernels of 128 threads, one after the other. Seconds of one.
struct LaunchTimes {
  Timing node_one_cta;         ///< a node of a CUDA graph
  Timing node_full;            ///< the same with a CTA on every SM
  Timing stream_one_cta;       ///< launched on a stream
  Timing stream_full;          ///< the same with a CTA on every SM
  Timing programmatic_full;    ///< a node whose kernel starts before the one before has ended, and waits for it
  Timing many_ctas;            ///< a node of 100 CTAs for every SM
  Timing most_ctas;            ///< a node of 1000 CTAs for every SM
  double seconds_per_cta = 0;  ///< from these two
};
LaunchTimes time_launches();

/// Signals through L2.
struct SignalTimes {
  /// From CTA 0 to another one and back, by that CTA's number - 1: one CTA on each SM. Median of several runs.
  std::vector<double> flag_round_trips;
  std::vector<double> ordered_flag_round_trips;  ///< the same with acquire and release
  Timing atomic;          ///< an atomic increment that returns the old value, one thread, one after the other
  Timing ordered_atomic;  ///< the same with acquire and release
};
SignalTimes time_signals();

}  // namespace splitwave::gpu
