// SPDX-License-Identifier: Apache-2.0
#include "gpu/microbenchmarks/stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "gpu/device.h"
#include "gpu/kernels/params.h"
#include "gpu/launch.h"

namespace splitwave::gpu {
namespace {

constexpr std::int64_t kPoolBytes = std::int64_t{16} << 30;

std::size_t pool_words() {
  std::size_t free = 0;
  std::size_t total = 0;
  SPLITWAVE_CUDA_CHECK(cudaMemGetInfo(&free, &total));
  return static_cast<std::size_t>(std::min(kPoolBytes, static_cast<std::int64_t>(free / 2))) / sizeof(uint4);
}

double clocks_per_second() {
  int device = 0;
  int kilohertz = 0;
  SPLITWAVE_CUDA_CHECK(cudaGetDevice(&device));
  SPLITWAVE_CUDA_CHECK(cudaDeviceGetAttribute(&kilohertz, cudaDevAttrClockRate, device));
  return 1e3 * kilohertz;
}

void queue(const StreamLaunch& launch, double seconds, const std::uint32_t* active, StreamCount* counts,
           cudaStream_t stream) {
  const Device device = current_device();
  const std::int32_t per_sm = (launch.ctas + device.sms - 1) / device.sms;
  // Shared memory that no more CTAs of an SM can have, so that they spread over all SMs.
  const std::int64_t room = device.shared_bytes_per_cta / per_sm - kKiB;
  if (launch.bytes_in_flight > room) {
    throw base::MissingError(
        fmt::format("microbenchmarks keep {} bytes of shared memory in flight for each of {} CTAs on an SM; {} has {}",
                    launch.bytes_in_flight, per_sm, device.name, device.shared_bytes_per_cta));
  }
  const std::int64_t alone = device.shared_bytes_per_cta / (per_sm + 1) + kKiB;
  const auto shared = static_cast<std::int32_t>(std::min(room, std::max(alone, launch.bytes_in_flight)));
  StreamParams params;
  params.data = launch.data;
  params.region_stride = launch.region_stride;
  params.region_bytes = launch.region_bytes;
  params.offset = launch.offset;
  params.step = launch.bytes_in_flight / kStreamStages * (launch.interleaved ? launch.ctas : 1);
  params.clocks = static_cast<std::int64_t>(seconds * clocks_per_second());
  params.heads = launch.heads;
  params.row_shift = launch.row_shift;
  params.l2_policy = launch.keeps_in_l2 ? kEvictNormal : kEvictFirst;
  params.active = active;
  params.counts = counts;
  Launch kernel;
  kernel.function = launch.heads > 0 ? stream_rows_kernel() : stream_kernel(launch.bytes_in_flight);
  kernel.grid = dim3(static_cast<unsigned>(launch.ctas));
  kernel.threads = kStreamWarps * 32;
  kernel.shared_bytes = shared;
  SPLITWAVE_CUDA_CHECK(cudaFuncSetAttribute(kernel.function, cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
  launch_kernel(kernel, &params, stream);
}

}  // namespace

ReadPool::ReadPool(cudaStream_t stream) : memory_(pool_words()) {
  ScrambleParams params;
  params.data = memory_.get();
  params.words = static_cast<std::int64_t>(memory_.size());
  launch_kernel({scramble_kernel(), dim3(2048), 512, 0, 1, false}, &params, stream);
  SPLITWAVE_CUDA_CHECK(cudaStreamSynchronize(stream));
}

std::optional<std::vector<double>> stream_rates(const StreamLaunch& launch, cudaStream_t stream) {
  // Poisoned by a copy: a kernel in between, such as memset's, changes where the next one's CTAs go.
  constexpr std::uint64_t kNone = std::numeric_limits<std::uint64_t>::max();
  std::vector<StreamCount> counts(static_cast<std::size_t>(launch.ctas * kStreamWarps), {0, 0, kNone, 0, 0});
  const DeviceBuffer<StreamCount> device_counts{std::span<const StreamCount>(counts)};
  const DeviceBuffer<std::uint32_t> active(std::span<const std::uint32_t>(launch.active));
  queue(launch, kStreamSeconds, launch.active.empty() ? nullptr : active.get(), device_counts.get(), stream);
  SPLITWAVE_CUDA_CHECK(cudaStreamSynchronize(stream));
  device_counts.download(counts);
  std::vector<double> rates(static_cast<std::size_t>(current_device().sms), 0.0);
  std::vector<std::int32_t> ctas(rates.size(), 0);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const StreamCount& count = counts[i];
    if (count.bytes == kNone || count.sm >= rates.size()) {
      throw DeviceError("a CTA of the reading kernel left no count");
    }
    if (i % kStreamWarps == 0) ++ctas[count.sm];
    if (count.bytes == 0) continue;
    rates[count.sm] +=
        static_cast<double>(count.bytes) * 1e9 / static_cast<double>(count.end_nanoseconds - count.begin_nanoseconds);
  }
  if (!launch.active.empty() && *std::max_element(ctas.begin(), ctas.end()) > 1) return std::nullopt;
  return rates;
}

void queue_stream(const StreamLaunch& launch, double seconds, DeviceBuffer<StreamCount>& counts, cudaStream_t stream) {
  if (counts.size() < static_cast<std::size_t>(launch.ctas * kStreamWarps)) {
    counts = DeviceBuffer<StreamCount>(static_cast<std::size_t>(launch.ctas * kStreamWarps));
  }
  queue(launch, seconds, nullptr, counts.get(), stream);
}

}  // namespace splitwave::gpu
