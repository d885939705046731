// SPDX-License-Identifier: Apache-2.0
// Launches captured in a CUDA graph and timed by its replays. Private to gpu/.
#pragma once

#include <cstdint>
#include <functional>

#include "gpu/buffer.h"
#include "gpu/measure.h"

namespace splitwave::gpu {

/// What `launch` queues on the stream, as a graph.
GraphExec capture(cudaStream_t stream, const std::function<void()>& launch);

/// Replays what `replay` queues on the stream and divides by `launches`. The first replay is thrown away.
Timing time_replays(cudaStream_t stream, const std::function<void()>& replay, std::int64_t launches,
                    std::int32_t replays);

/// Both: `launch` queues `launches` launches.
Timing time_captured(cudaStream_t stream, const std::function<void()>& launch, std::int64_t launches,
                     std::int32_t replays);

}  // namespace splitwave::gpu
