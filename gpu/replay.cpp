// SPDX-License-Identifier: Apache-2.0
#include "gpu/replay.h"

#include <vector>

#include "base/quantile.h"

namespace splitwave::gpu {

GraphExec capture(cudaStream_t stream, const std::function<void()>& launch) {
  SPLITWAVE_CUDA_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  cudaGraph_t graph = nullptr;
  try {
    launch();
  } catch (...) {  // a stream that goes on capturing takes nothing else
    static_cast<void>(cudaStreamEndCapture(stream, &graph));
    const Graph unfinished(graph);
    static_cast<void>(cudaGetLastError());
    throw;
  }
  SPLITWAVE_CUDA_CHECK(cudaStreamEndCapture(stream, &graph));
  const Graph owner(graph);
  cudaGraphExec_t executable = nullptr;
  SPLITWAVE_CUDA_CHECK(cudaGraphInstantiate(&executable, graph, 0));
  return GraphExec(executable);
}

Timing time_replays(cudaStream_t stream, const std::function<void()>& replay, std::int64_t launches,
                    std::int32_t replays) {
  const Event begin = make_event();
  const Event end = make_event();
  std::vector<double> seconds;
  replay();
  for (std::int32_t i = 0; i < replays; ++i) {
    SPLITWAVE_CUDA_CHECK(cudaEventRecord(begin.get(), stream));
    replay();
    SPLITWAVE_CUDA_CHECK(cudaEventRecord(end.get(), stream));
    SPLITWAVE_CUDA_CHECK(cudaEventSynchronize(end.get()));
    float milliseconds = 0;
    SPLITWAVE_CUDA_CHECK(cudaEventElapsedTime(&milliseconds, begin.get(), end.get()));
    seconds.push_back(static_cast<double>(milliseconds) * 1e-3 / static_cast<double>(launches));
  }
  Timing timing;
  timing.median = base::quantile(seconds, 0.5);
  timing.p20 = base::quantile(seconds, 0.2);
  timing.p80 = base::quantile(seconds, 0.8);
  timing.samples = replays;
  timing.launches_per_replay = launches;
  return timing;
}

Timing time_captured(cudaStream_t stream, const std::function<void()>& launch, std::int64_t launches,
                     std::int32_t replays) {
  const GraphExec graph = capture(stream, launch);
  const Timing timing = time_replays(
      stream, [&] { SPLITWAVE_CUDA_CHECK(cudaGraphLaunch(graph.get(), stream)); }, launches, replays);
  SPLITWAVE_CUDA_CHECK(cudaStreamSynchronize(stream));
  return timing;
}

}  // namespace splitwave::gpu
