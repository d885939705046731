// SPDX-License-Identifier: Apache-2.0
#include "gpu/microbenchmarks/load.h"

#include "gpu/device.h"
#include "gpu/launch.h"
#include "gpu/microbenchmarks/kernels.h"
#include "gpu/microbenchmarks/stream.h"
#include "gpu/replay.h"

namespace splitwave::gpu {
namespace {

constexpr std::int32_t kThreads = 256;
constexpr std::int64_t kCtasPerSm = 4;
constexpr std::int64_t kRounds = 20'000;  // some milliseconds
/// Of work under which the state is read. The clock follows the load within a tenth of that.
constexpr double kLoadSeconds = 1.2;
constexpr double kSliceSeconds = 0.05;

double flops_of_launch() {
  return kMultiplyFlops * kMultiplyChains * static_cast<double>(kRounds * kCtasPerSm * current_device().sms) *
         (kThreads / 32);
}

void queue_multiplications(float* sink, cudaStream_t stream) {
  MultiplyParams params{kRounds, sink};
  launch_kernel(
      {multiply_kernel(), dim3(static_cast<unsigned>(kCtasPerSm * current_device().sms)), kThreads, 0, 1, false},
      &params, stream);
}

/// The later of two looks: the first one is taken while the clock may still change.
DeviceState state_at_work(cudaStream_t stream) {
  static_cast<void>(device_state());
  const DeviceState state = device_state();
  const bool still_at_work = cudaStreamQuery(stream) == cudaErrorNotReady;
  SPLITWAVE_CUDA_CHECK(cudaStreamSynchronize(stream));
  return still_at_work ? state : DeviceState{};
}

}  // namespace

double time_multiplications() {
  const Stream stream = make_stream();
  const DeviceBuffer<float> sink(1);
  const auto queue = [&] { queue_multiplications(sink.get(), stream.get()); };
  return flops_of_launch() / time_captured(stream.get(), queue, 1, 9).median;
}

LoadStates states_under_load() {
  const Device device = current_device();
  const Stream stream = make_stream();
  LoadStates states;
  states.idle = device_state();
  const ReadPool pool(stream.get());
  DeviceBuffer<StreamCount> counts(static_cast<std::size_t>(device.sms * kStreamWarps));
  StreamLaunch launch;
  launch.data = pool.data();
  launch.ctas = device.sms;
  launch.bytes_in_flight = 128 * 1024;
  launch.region_stride = launch.region_bytes =
      pool.bytes() / device.sms / launch.bytes_in_flight * launch.bytes_in_flight;
  for (double queued = 0; queued < kLoadSeconds; queued += kSliceSeconds) {
    queue_stream(launch, kSliceSeconds, counts, stream.get());
  }
  states.reading = state_at_work(stream.get());
  const DeviceBuffer<float> sink(1);
  const double seconds = flops_of_launch() / time_multiplications();
  for (double queued = 0; queued < kLoadSeconds; queued += seconds) queue_multiplications(sink.get(), stream.get());
  states.multiplying = state_at_work(stream.get());
  return states;
}

}  // namespace splitwave::gpu
