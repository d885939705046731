// SPDX-License-Identifier: Apache-2.0
// Power and time of work that is repeated until the energy counter has seen enough of it. Private to gpu/.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <optional>

namespace splitwave::gpu {

/// Of some seconds of the same work, without a pause.
struct SteadyLoad {
  double seconds_per_run = 0;
  std::optional<double> watts;         ///< mean; nothing without an energy counter
  std::optional<double> sm_clock_mhz;  ///< at the end
};

/// Keeps the stream busy with what `run` queues: first for `settle_seconds`, in which clock, temperature and power come
/// to rest, then for at least `seconds`. The counter goes on in steps, so that energy and time are taken between two of
/// its steps. A run should take 0.5 to 20 ms.
SteadyLoad hold_load(cudaStream_t stream, const std::function<void()>& run, double settle_seconds, double seconds);

}  // namespace splitwave::gpu
