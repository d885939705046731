// SPDX-License-Identifier: Apache-2.0
#include "gpu/microbenchmarks/load.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "gpu/device.h"
#include "gpu/launch.h"
#include "gpu/microbenchmarks/kernels.h"
#include "gpu/microbenchmarks/stream.h"
#include "gpu/power.h"
#include "gpu/replay.h"

namespace splitwave::gpu {
namespace {

constexpr std::int64_t kCtasPerSm = 4;
constexpr std::int64_t kRounds = 20'000;  // some milliseconds
/// In L2 with room to spare.
constexpr std::int64_t kFootprint = 20 << 20;
constexpr double kSliceSeconds = 0.005;  // of a launch that holds or reads
constexpr double kSettleSeconds = 0.3;
constexpr double kLoadSeconds = 1;

/// Matrix instructions of a launch.
double multiplications(std::int64_t ctas) {
  return static_cast<double>(kRounds * ctas * (kMultiplyThreads / 32) * kMultiplyChains);
}

void queue_multiplications(const void* kernel, std::int64_t ctas, float* sink, cudaStream_t stream) {
  MultiplyParams params{kRounds, sink};
  launch_kernel({kernel, dim3(static_cast<unsigned>(ctas)), kMultiplyThreads, 0, 1, false}, &params, stream);
}

/// What the points share.
class Loads {
 public:
  void hold(std::int32_t ctas) {
    const auto nanoseconds = static_cast<std::uint32_t>(kSliceSeconds * 1e9);
    const auto run = [&] {
      PlaceParams params{sms_.get(), nanoseconds};
      // Shared memory that leaves no room for a second CTA.
      launch_kernel({place_kernel(), dim3(static_cast<unsigned>(ctas)), 128, shared_bytes_, 1, false}, &params,
                    stream_.get());
    };
    SPLITWAVE_CUDA_CHECK(
        cudaFuncSetAttribute(place_kernel(), cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes_));
    add({"hold", ctas, 0, 0, 0, 0, 0, {}, {}}, run);
  }

  void read(bool from_l2, std::int32_t ctas, std::int64_t bytes_in_flight) {
    StreamLaunch launch;
    launch.data = pool_.data();
    launch.ctas = ctas;
    launch.bytes_in_flight = bytes_in_flight;
    const std::int64_t rounds = (from_l2 ? kFootprint : pool_.bytes()) / ctas / bytes_in_flight;
    launch.region_bytes = std::max<std::int64_t>(1, rounds) * bytes_in_flight;
    launch.region_stride = launch.region_bytes;
    const double seconds = add({from_l2 ? "ring_l2" : "ring", ctas, bytes_in_flight, 0, 0, 0, 0, {}, {}},
                               [&] { queue_stream(launch, kSliceSeconds, counts_, stream_.get()); });
    const double rate = static_cast<double>(counted_bytes(ctas)) / seconds;
    LoadPoint& added = points_.back();
    added.dram_bytes_per_second = from_l2 ? 0 : rate;
    added.l2_bytes_per_second = rate;
    added.shared_bytes_per_second = rate;
  }

  void multiply(bool from_shared, std::int32_t ctas) {
    const void* const kernel = from_shared ? multiply_shared_kernel() : multiply_kernel();
    const std::int64_t all = ctas == device_.sms ? kCtasPerSm * ctas : ctas;
    const double seconds = add({from_shared ? "multiply_shared" : "multiply", ctas, 0, 0, 0, 0, 0, {}, {}},
                               [&] { queue_multiplications(kernel, all, sink_.get(), stream_.get()); });
    LoadPoint& added = points_.back();
    added.flops = multiplications(all) * kMultiplyFlops / seconds;
    if (from_shared) added.shared_bytes_per_second = multiplications(all) * kMultiplySharedBytes / seconds;
  }

  std::int32_t sms() const { return device_.sms; }
  std::vector<LoadPoint> take() { return std::move(points_); }

 private:
  /// Seconds of a launch.
  double add(LoadPoint point, const std::function<void()>& run) {
    const SteadyLoad load = hold_load(stream_.get(), run, kSettleSeconds, kLoadSeconds);
    point.watts = load.watts;
    point.sm_clock_mhz = load.sm_clock_mhz;
    points_.push_back(std::move(point));
    return load.seconds_per_run;
  }

  /// Of the last launch that read.
  std::uint64_t counted_bytes(std::int32_t ctas) const {
    std::vector<StreamCount> counts(static_cast<std::size_t>(ctas * kStreamWarps));
    counts_.download(counts);
    std::uint64_t bytes = 0;
    for (const StreamCount& one : counts) bytes += one.bytes;
    return bytes;
  }

  Device device_ = current_device();
  Stream stream_ = make_stream();
  ReadPool pool_{stream_.get()};
  std::int32_t shared_bytes_ = static_cast<std::int32_t>(device_.shared_bytes_per_cta);
  DeviceBuffer<StreamCount> counts_{static_cast<std::size_t>(device_.sms * kStreamWarps)};
  DeviceBuffer<std::uint32_t> sms_{static_cast<std::size_t>(device_.sms)};
  DeviceBuffer<float> sink_{1};
  std::vector<LoadPoint> points_;
};

}  // namespace

double time_multiplications() {
  const Stream stream = make_stream();
  const DeviceBuffer<float> sink(1);
  const std::int64_t ctas = kCtasPerSm * current_device().sms;
  const auto queue = [&] { queue_multiplications(multiply_kernel(), ctas, sink.get(), stream.get()); };
  return multiplications(ctas) * kMultiplyFlops / time_captured(stream.get(), queue, 1, 9).median;
}

std::vector<LoadPoint> measure_loads() {
  Loads loads;
  const std::int32_t all = loads.sms();
  for (const std::int32_t ctas : {1, all / 4, all / 2, all}) loads.hold(ctas);
  for (const bool from_l2 : {true, false}) {
    for (const std::int32_t ctas : {all / 4, all / 2, all}) {
      for (const std::int64_t bytes : {16 << 10, 128 << 10}) loads.read(from_l2, ctas, bytes);
    }
  }
  for (const bool from_shared : {true, false}) {
    for (const std::int32_t ctas : {all / 4, all / 2, all}) loads.multiply(from_shared, ctas);
  }
  return loads.take();
}

}  // namespace splitwave::gpu
