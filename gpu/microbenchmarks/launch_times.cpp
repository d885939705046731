// SPDX-License-Identifier: Apache-2.0
#include "gpu/microbenchmarks/launch_times.h"

#include <limits>

#include "base/quantile.h"
#include "gpu/device.h"
#include "gpu/launch.h"
#include "gpu/microbenchmarks/kernels.h"
#include "gpu/replay.h"

namespace splitwave::gpu {
namespace {

constexpr std::int32_t kReplays = 11;
constexpr int kSignalRuns = 5;

Timing timing_of(const std::vector<double>& seconds) {
  Timing timing;
  timing.median = base::quantile(seconds, 0.5);
  timing.p20 = base::quantile(seconds, 0.2);
  timing.p80 = base::quantile(seconds, 0.8);
  timing.samples = static_cast<std::int64_t>(seconds.size());
  timing.launches_per_replay = 1;
  return timing;
}

Timing time_empty(std::int32_t ctas, std::int64_t launches, bool in_graph, bool overlaps, cudaStream_t stream) {
  EmptyParams params;
  params.overlaps = overlaps ? 1 : 0;
  const auto queue = [&] {
    for (std::int64_t i = 0; i < launches; ++i) {
      launch_kernel({empty_kernel(), dim3(static_cast<unsigned>(ctas)), 128, 0, 1, overlaps}, &params, stream);
    }
  };
  return in_graph ? time_captured(stream, queue, launches, kReplays) : time_replays(stream, queue, launches, kReplays);
}

Timing time_atomic(bool ordered, cudaStream_t stream) {
  constexpr std::uint32_t kRounds = 1000;
  DeviceBuffer<std::uint32_t> counter(1);
  counter.fill_bytes(0);
  DeviceBuffer<std::uint64_t> nanoseconds(1);
  AtomicParams params{counter.get(), kRounds, ordered ? 1U : 0U, nanoseconds.get()};
  std::vector<double> seconds;
  for (std::int32_t i = 0; i < kReplays; ++i) {
    launch_kernel({atomic_kernel(), dim3(1), 32, 0, 1, false}, &params, stream);
    SPLITWAVE_CUDA_CHECK(cudaStreamSynchronize(stream));
    std::uint64_t taken = 0;
    nanoseconds.download({&taken, 1});
    seconds.push_back(static_cast<double>(taken) * 1e-9 / kRounds);
  }
  return timing_of(seconds);
}

double time_flag(std::uint32_t peer, std::int32_t ctas, bool ordered, cudaStream_t stream) {
  constexpr std::uint32_t kRounds = 101;
  DeviceBuffer<std::uint32_t> flags(64);
  DeviceBuffer<std::uint64_t> nanoseconds(1);
  std::vector<double> seconds;
  for (int run = 0; run < kSignalRuns; ++run) {
    flags.fill_bytes(0);
    FlagParams params{ordered ? 1U : 0U, flags.get(), peer, kRounds, nanoseconds.get()};
    launch_kernel({flag_kernel(), dim3(static_cast<unsigned>(ctas)), 32, 0, 1, false}, &params, stream);
    SPLITWAVE_CUDA_CHECK(cudaStreamSynchronize(stream));
    std::uint64_t taken = 0;
    nanoseconds.download({&taken, 1});
    if (taken == std::numeric_limits<std::uint64_t>::max()) throw DeviceError("a flag between two CTAs never came");
    seconds.push_back(static_cast<double>(taken) * 1e-9 / (kRounds - 1));
  }
  return base::quantile(seconds, 0.5);
}

}  // namespace

LaunchTimes time_launches() {
  const std::int32_t sms = current_device().sms;
  const Stream stream = make_stream();
  LaunchTimes times;
  times.node_one_cta = time_empty(1, 1000, true, false, stream.get());
  times.node_full = time_empty(sms, 1000, true, false, stream.get());
  times.stream_one_cta = time_empty(1, 1000, false, false, stream.get());
  times.stream_full = time_empty(sms, 1000, false, false, stream.get());
  times.programmatic_full = time_empty(sms, 1000, true, true, stream.get());
  times.many_ctas = time_empty(100 * sms, 100, true, false, stream.get());
  times.most_ctas = time_empty(1000 * sms, 20, true, false, stream.get());
  times.seconds_per_cta = (times.most_ctas.median - times.many_ctas.median) / (900.0 * sms);
  return times;
}

SignalTimes time_signals() {
  const std::int32_t sms = current_device().sms;
  const Stream stream = make_stream();
  SignalTimes times;
  for (std::int32_t peer = 1; peer < sms; ++peer) {
    const auto to = static_cast<std::uint32_t>(peer);
    times.flag_round_trips.push_back(time_flag(to, sms, false, stream.get()));
    times.ordered_flag_round_trips.push_back(time_flag(to, sms, true, stream.get()));
  }
  times.atomic = time_atomic(false, stream.get());
  times.ordered_atomic = time_atomic(true, stream.get());
  return times;
}

}  // namespace splitwave::gpu
