// SPDX-License-Identifier: Apache-2.0
// Times of kernels on the device, by the method of docs/measuring.md.
#pragma once

#include <cstdint>
#include <optional>

#include "gpu/decode.h"
#include "workloads/workload.h"

namespace splitwave::gpu {

/// How a time is measured (docs/measuring.md).
struct MeasureOptions {
  std::int32_t replays = 11;  ///< of the captured graph, each a sample; at least 1
  /// Least K/V bytes that lie between two uses of the same copy. 0: one copy, so that K and V stay in L2 if they fit.
  std::int64_t bytes_per_cycle = 400'000'000;
  double seconds_per_replay = 0.002;  ///< least; a replay is at least one cycle
};

/// Of one launch. Seconds.
struct Timing {
  double median = 0;
  double p20 = 0;
  double p80 = 0;
  std::int64_t samples = 0;              ///< replays
  std::int64_t launches_per_replay = 0;  ///< of a captured graph
};

/// Copies of K and V that a cold measurement of the workload goes round: at least 2 and at most 1,024 or, of small
/// ones, as many as have 128 MB; never more than 32,768, so that an L2 keeps K and V of less than 2 KB.
std::int32_t copies_for(const workloads::Workload& workload, const MeasureOptions& options);

/// Times the decoder's current plan: launches over all copies captured in one graph, replayed; each replay is one
/// sample. lse: also write the LSE.
Timing time_plan(const workloads::Workload& workload, const DeviceTensors& tensors, Decoder& decoder, bool lse,
                 const MeasureOptions& options);

/// Times a kernel that only reads the bytes of K and V, the best of several grids: the floor for the plan's time. A
/// paged cache is read whole page by whole page through its block table, unused slots of last pages included.
Timing time_plain_read(const workloads::Workload& workload, const DeviceTensors& tensors,
                       const MeasureOptions& options);

/// Times an empty kernel of one CTA in a graph.
Timing time_empty_kernel(const MeasureOptions& options);

/// What launches take of the device's energy.
struct LaunchEnergy {
  double joules = 0;  ///< of one launch
  double watts = 0;   ///< mean power of the device meanwhile
  std::optional<double> sm_clock_mhz;
};

/// Replays the graph that time_plan() has left in the decoder for at least `seconds`, after half a second in which
/// clock and power come to rest. Nothing if the device has no energy counter (gpu/nvml.h).
std::optional<LaunchEnergy> time_energy(Decoder& decoder, const Timing& timing, double seconds);

}  // namespace splitwave::gpu
