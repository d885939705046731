// SPDX-License-Identifier: Apache-2.0
#include "gpu/microbenchmarks/bandwidth.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <numeric>

#include "base/quantile.h"
#include "gpu/buffer.h"
#include "gpu/device.h"
#include "gpu/kernels/utilities.h"
#include "gpu/launch.h"
#include "gpu/microbenchmarks/stream.h"
#include "gpu/replay.h"

namespace splitwave::gpu {
namespace {

constexpr int kSamples = 9;
constexpr std::int64_t kMiB = 1024 * kKiB;
constexpr std::array<std::int64_t, 4> kBytesInFlight = {16 * kKiB, 32 * kKiB, 64 * kKiB, 128 * kKiB};
/// Of launches that read memory: what lies between two uses of the same bytes, so that L2 has lost them.
constexpr std::int64_t kBytesPerCycle = 400'000'000;
constexpr std::int64_t kPageBytes = 2 * kMiB;  // of the virtual memory that cudaMalloc gives

std::int64_t round_down(std::int64_t bytes, std::int64_t unit) {
  return bytes / unit * unit;
}

Rate rate_of(const std::vector<double>& rates) {
  return {base::quantile(rates, 0.5), base::quantile(rates, 0.2), base::quantile(rates, 0.8),
          static_cast<std::int64_t>(rates.size())};
}

/// Numbers of CTAs up to one for each SM.
std::vector<std::int32_t> single_counts(std::int32_t sms) {
  std::vector<std::int32_t> counts;
  for (const std::int32_t count : {1, 8, 16, 32, 48, 64, 80, 96, 112, 128}) {
    if (count < sms) counts.push_back(count);
  }
  counts.push_back(sms);
  return counts;
}

/// All SMs together, median of several launches; `next` changes the launch before each.
Rate sample(StreamLaunch launch, cudaStream_t stream, const std::function<void(StreamLaunch&, int)>& next) {
  std::vector<double> rates;
  for (int i = -1; i < kSamples; ++i) {  // the first one warms up
    next(launch, i + 1);
    const std::vector<double> by_sm = stream_rates(launch, stream).value();
    if (i >= 0) rates.push_back(std::accumulate(by_sm.begin(), by_sm.end(), 0.0));
  }
  return rate_of(rates);
}

std::size_t large_pool_bytes() {
  std::size_t free = 0;
  std::size_t total = 0;
  SPLITWAVE_CUDA_CHECK(cudaMemGetInfo(&free, &total));
  return std::min<std::size_t>(free / 4 * 3, std::size_t{96} << 30);
}

constexpr std::array<std::int32_t, 2> kPlainThreads = {256, 512};

/// Of a CTA of the plain read: bytes in flight.
std::int64_t plain_bytes(std::int32_t threads) {
  return std::int64_t{threads} * kReadWordsLoads * 16;
}

/// Launches of the plain read, each of the bytes behind those of the one before.
struct PlainReads {
  const char* data;
  std::int64_t bytes;
  std::int64_t launches;
};

Rate plain_rate(const PlainReads& reads, std::int32_t ctas, std::int32_t threads, cudaStream_t stream) {
  const DeviceBuffer<std::uint32_t> sink(1);
  const auto queue = [&] {
    for (std::int64_t i = 0; i < reads.launches; ++i) {
      ReadWordsParams params{reads.data + i * reads.bytes, reads.bytes / 16, sink.get()};
      launch_kernel({read_words_kernel(), dim3(static_cast<unsigned>(ctas)), threads, 0, 1, false}, &params, stream);
    }
  };
  const Timing timing = time_captured(stream, queue, reads.launches, kSamples);
  const auto bytes = static_cast<double>(reads.bytes);
  return {bytes / timing.median, bytes / timing.p80, bytes / timing.p20, timing.samples};
}

}  // namespace

std::vector<ReadPoint> stream_memory(bool interleaved) {
  const Device device = current_device();
  const Stream stream = make_stream();
  const ReadPool pool(stream.get());
  std::vector<std::int32_t> counts = single_counts(device.sms);
  counts.push_back(2 * device.sms);
  std::vector<ReadPoint> points;
  for (const std::int64_t bytes : kBytesInFlight) {
    for (const std::int32_t ctas : counts) {
      if (ctas > device.sms && bytes + 2 * kKiB > device.shared_bytes_per_cta / 2) continue;
      StreamLaunch launch;
      launch.data = pool.data();
      launch.ctas = ctas;
      launch.bytes_in_flight = bytes;
      if (interleaved) {
        launch.interleaved = true;
        launch.region_stride = bytes / kStreamStages;
        launch.region_bytes = round_down(pool.bytes(), launch.region_stride * ctas);
      } else {
        // An odd number of stages: CTAs whose places differ by a power of two might meet in the same channels.
        launch.region_bytes = round_down(pool.bytes() / ctas, 256 * kKiB) - 128 * kKiB;
        launch.region_stride = launch.region_bytes;
      }
      const std::int64_t next = round_down(kStreamBytesPerCta, 128 * kKiB) * (interleaved ? ctas : 1);
      const Rate rate = sample(launch, stream.get(), [&](StreamLaunch& one, int i) { one.offset = i * next; });
      points.push_back({ctas, bytes, rate});
    }
  }
  return points;
}

std::vector<ReadPoint> plain_read_memory() {
  const Device device = current_device();
  const Stream stream = make_stream();
  const ReadPool pool(stream.get());
  std::vector<std::int32_t> counts = single_counts(device.sms);
  for (const std::int32_t halves : {3, 4, 6, 8}) counts.push_back(device.sms * halves / 2);
  std::vector<ReadPoint> points;
  for (const std::int32_t threads : kPlainThreads) {
    for (const std::int32_t ctas : counts) {
      const double guess = std::min(4e12, static_cast<double>(ctas * plain_bytes(threads)) / 0.9e-6);
      const std::int64_t bytes = round_down(static_cast<std::int64_t>(guess * 400e-6), ctas * plain_bytes(threads));
      const std::int64_t launches =
          std::min(pool.bytes() / bytes, std::max<std::int64_t>(4, kBytesPerCycle / bytes + 1));
      const Rate rate = plain_rate({pool.data(), bytes, launches}, ctas, threads, stream.get());
      points.push_back({ctas, plain_bytes(threads), rate});
    }
  }
  return points;
}

std::vector<RowPoint> stream_rows() {
  constexpr std::int32_t kHeads = 16;
  const Device device = current_device();
  const Stream stream = make_stream();
  const ReadPool pool(stream.get());
  std::vector<RowPoint> points;
  for (const std::int32_t row_bytes : {0, 128, 256, 512}) {
    StreamLaunch launch;
    launch.data = pool.data();
    launch.ctas = 2 * device.sms / kHeads * kHeads;
    launch.bytes_in_flight = 64 * kKiB;
    launch.keeps_in_l2 = false;
    launch.region_bytes = round_down(pool.bytes() / launch.ctas, 256 * kKiB) - 128 * kKiB;
    launch.region_stride = launch.region_bytes;
    if (row_bytes > 0) {
      launch.heads = kHeads;
      launch.row_shift = std::countr_zero(static_cast<std::uint32_t>(row_bytes));
      launch.region_stride = kHeads * launch.region_bytes;
    }
    const std::int64_t next = round_down(kStreamBytesPerCta, 128 * kKiB);
    points.push_back(
        {row_bytes, sample(launch, stream.get(), [&](StreamLaunch& one, int i) { one.offset = i * next; })});
  }
  return points;
}

std::vector<CachedPoint> stream_footprints() {
  const Device device = current_device();
  const Stream stream = make_stream();
  const ReadPool pool(stream.get());
  std::vector<CachedPoint> points;
  for (const bool shared : {true, false}) {
    for (const std::int64_t mib :
         {1, 2, 4, 8, 12, 16, 20, 22, 24, 26, 28, 30, 32, 34, 36, 40, 44, 48, 52, 56, 60, 64, 72, 80, 96}) {
      StreamLaunch launch;
      launch.data = pool.data();
      launch.ctas = device.sms;
      launch.bytes_in_flight = 128 * kKiB;
      const std::int64_t unit = launch.bytes_in_flight / kStreamStages;
      launch.region_bytes = shared ? mib * kMiB : round_down(mib * kMiB / device.sms, unit);
      if (launch.region_bytes == 0) continue;
      launch.region_stride = shared ? 0 : launch.region_bytes;
      const Rate rate = sample(launch, stream.get(), [](StreamLaunch&, int) {});
      points.push_back({shared ? launch.region_bytes : launch.region_bytes * device.sms, shared, rate});
    }
  }
  return points;
}

std::vector<ReadPoint> stream_l2_alone() {
  const Stream stream = make_stream();
  const ReadPool pool(stream.get());
  std::vector<ReadPoint> points;
  for (const std::int64_t bytes : kBytesInFlight) {
    StreamLaunch launch;
    launch.data = pool.data();
    launch.ctas = 1;
    launch.bytes_in_flight = bytes;
    launch.region_bytes = 4 * kMiB;
    points.push_back({1, bytes, sample(launch, stream.get(), [](StreamLaunch&, int) {})});
  }
  return points;
}

ChaseTimes time_chases() {
  constexpr std::uint32_t kReads = 128;
  constexpr int kRuns = 16;
  const Stream stream = make_stream();
  // Pages far apart, over most of the memory: what it holds does not matter.
  const DeviceBuffer<char> pool(large_pool_bytes());
  const auto far = round_down(static_cast<std::int64_t>(pool.size()) / kReads - 2 * kPageBytes, kPageBytes);
  const DeviceBuffer<std::uint64_t> nanoseconds(1);
  /// Seconds of one read; run i begins at i * next.
  const auto time = [&](std::int64_t step, std::int64_t next) {
    std::vector<double> seconds;
    for (int i = 0; i < kRuns; ++i) {
      ChaseParams params{pool.get() + i * next, step, kReads, 0, nanoseconds.get()};
      launch_kernel({chase_kernel(), dim3(1), 1, 0, 1, false}, &params, stream.get());
      SPLITWAVE_CUDA_CHECK(cudaStreamSynchronize(stream.get()));
      std::uint64_t taken = 0;
      nanoseconds.download({&taken, 1});
      seconds.push_back(static_cast<double>(taken) * 1e-9 / kReads);
    }
    return base::quantile(seconds, 0.5);
  };
  ChaseTimes times;
  times.l2 = time(128, 0);
  times.same_page = time(kPageBytes / kReads, 16 * kPageBytes);
  times.near_pages = time(kPageBytes, 16 * kKiB);
  times.far_pages = time(far + 16 * kKiB, kPageBytes);
  return times;
}

BurstTimes time_bursts() {
  constexpr unsigned kThreads = 512;
  constexpr std::int64_t kLaunches = 2000;
  const Device device = current_device();
  const Stream stream = make_stream();
  BurstTimes times;
  times.ctas = device.sms / 4;
  ReadParams params;
  params.words = static_cast<std::int64_t>(times.ctas) * kThreads;
  const std::int64_t launch_bytes = 2 * params.words * static_cast<std::int64_t>(sizeof(uint4));
  const DeviceBuffer<char> pool(static_cast<std::size_t>(10 * device.l2_bytes));
  const DeviceBuffer<std::uint32_t> sink(1);
  params.sink = sink.get();
  const auto time = [&](std::int64_t places) {
    const auto queue = [&] {
      for (std::int64_t i = 0; i < kLaunches; ++i) {
        params.k = pool.get() + i % places * launch_bytes;
        params.v = pool.get() + i % places * launch_bytes + launch_bytes / 2;
        launch_kernel({read_kernel_function(), dim3(static_cast<unsigned>(times.ctas)), kThreads, 0, 1, false}, &params,
                      stream.get());
      }
    };
    return time_captured(stream.get(), queue, kLaunches, 11).median;
  };
  times.l2 = time(1);
  times.memory = time(static_cast<std::int64_t>(pool.size()) / launch_bytes);
  return times;
}

}  // namespace splitwave::gpu
