// SPDX-License-Identifier: Apache-2.0
#include "gpu/power.h"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "gpu/buffer.h"
#include "gpu/nvml.h"

namespace splitwave::gpu {
namespace {

/// Runs that are queued ahead: the device must not wait while the host asks for the counter.
constexpr std::size_t kAhead = 4;
/// A counter that stands still for so long under load does not work.
constexpr double kMostStepSeconds = 1;

using Clock = std::chrono::steady_clock;

double seconds_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

/// Queues runs, with at most kAhead of them on their way.
class Feeder {
 public:
  Feeder(cudaStream_t stream, const std::function<void()>& run) : stream_(stream), run_(run) {
    for (Event& each : ended_) each = make_event();
    SPLITWAVE_CUDA_CHECK(cudaEventRecord(begin_.get(), stream_));
  }

  void feed() {
    const Event& event = ended_[static_cast<std::size_t>(runs_) % kAhead];
    if (runs_ >= static_cast<std::int64_t>(kAhead)) SPLITWAVE_CUDA_CHECK(cudaEventSynchronize(event.get()));
    run_();
    SPLITWAVE_CUDA_CHECK(cudaEventRecord(event.get(), stream_));
    ++runs_;
  }

  /// Waits for all of them. Mean seconds of one, the device's time.
  double finish() {
    const Event& last = ended_[static_cast<std::size_t>(runs_ - 1) % kAhead];
    SPLITWAVE_CUDA_CHECK(cudaEventSynchronize(last.get()));
    float milliseconds = 0;
    SPLITWAVE_CUDA_CHECK(cudaEventElapsedTime(&milliseconds, begin_.get(), last.get()));
    return static_cast<double>(milliseconds) * 1e-3 / static_cast<double>(runs_);
  }

 private:
  cudaStream_t stream_;
  const std::function<void()>& run_;
  Event begin_ = make_event();
  std::array<Event, kAhead> ended_;
  std::int64_t runs_ = 0;
};

/// A step of the counter: when it was seen, and what the counter said then.
struct Step {
  Clock::time_point time;
  double joules = 0;
};

/// Feeds until the counter goes on. Nothing if it does not, or if there is none.
std::optional<Step> next_step(Feeder& feeder) {
  const std::optional<double> before = energy_joules();
  if (!before) return std::nullopt;
  const Clock::time_point begin = Clock::now();
  while (seconds_between(begin, Clock::now()) < kMostStepSeconds) {
    feeder.feed();
    const std::optional<double> now = energy_joules();
    if (now && *now != *before) return Step{Clock::now(), *now};
  }
  return std::nullopt;
}

void feed_for(Feeder& feeder, double seconds) {
  const Clock::time_point begin = Clock::now();
  do {
    feeder.feed();
  } while (seconds_between(begin, Clock::now()) < seconds);
}

}  // namespace

SteadyLoad hold_load(cudaStream_t stream, const std::function<void()>& run, double settle_seconds, double seconds) {
  Feeder feeder(stream, run);
  feed_for(feeder, settle_seconds);
  SteadyLoad load;
  const std::optional<Step> first = next_step(feeder);
  feed_for(feeder, seconds);
  const std::optional<Step> last = first ? next_step(feeder) : std::nullopt;
  load.sm_clock_mhz = device_state().sm_clock_mhz;
  if (first && last) load.watts = (last->joules - first->joules) / seconds_between(first->time, last->time);
  load.seconds_per_run = feeder.finish();
  return load;
}

}  // namespace splitwave::gpu
