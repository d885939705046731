// SPDX-License-Identifier: Apache-2.0
#include "gpu/measure.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "gpu/buffer.h"
#include "gpu/kernels/params.h"
#include "gpu/kernels/utilities.h"
#include "gpu/power.h"
#include "gpu/replay.h"

namespace splitwave::gpu {

using workloads::Workload;

namespace {

constexpr std::int64_t kMostCopies = 1024;  // but for as many as an L2 needs to forget the first one
constexpr std::int64_t kForgottenBytes = 128'000'000;
constexpr std::int64_t kMostLaunches = 32768;  // of one graph
constexpr double kGuessBytesPerSecond = 4e12;
constexpr double kGuessLaunchSeconds = 2e-6;
constexpr double kSettleSeconds = 0.5;

std::int64_t launches_for(const Workload& workload, std::int32_t copies, const MeasureOptions& options) {
  const double guess =
      static_cast<double>(workloads::minimal_bytes(workload)) / kGuessBytesPerSecond + kGuessLaunchSeconds;
  const auto cycles = static_cast<std::int64_t>(std::ceil(options.seconds_per_replay / (guess * copies)));
  return copies * std::clamp<std::int64_t>(cycles, 1, std::max<std::int64_t>(1, kMostLaunches / copies));
}

/// All but the arrays. Where there is K alone (MLA), its halves, or those of its pages, are read as two arrays.
ReadParams read_params(const Workload& workload, const DeviceTensors& tensors,
                       const DeviceBuffer<std::uint32_t>& sink) {
  ReadParams params;
  params.words = workloads::kv_bytes(workload) / 2 / 16;
  if (const KvAddressing& a = tensors.addressing(); a.page_size > 0) {
    const bool halves = tensors.pointers(0).v == nullptr;
    params.block_table = tensors.pointers(0).block_table;
    params.page_stride = static_cast<std::uint32_t>(a.page_stride / 8);
    params.words_per_page = halves ? params.page_stride / 2 : params.page_stride;
    params.words = a.first_page.back() * params.words_per_page;
  }
  params.sink = sink.get();
  return params;
}

/// Words from the first half of K to the second.
std::int64_t second_half(const ReadParams& params) {
  return params.block_table != nullptr ? params.words_per_page : params.words;
}

Timing time_reads(const Workload& workload, const DeviceTensors& tensors, cudaStream_t stream, std::int64_t launches,
                  unsigned ctas, const MeasureOptions& options) {
  const DeviceBuffer<std::uint32_t> sink(1);
  const ReadParams whole = read_params(workload, tensors, sink);
  const auto queue = [&] {
    for (std::int64_t i = 0; i < launches; ++i) {
      const DevicePointers pointers = tensors.pointers(static_cast<std::int32_t>(i % tensors.copies()));
      ReadParams params = whole;
      params.k = pointers.k;
      params.v = pointers.v != nullptr ? pointers.v : static_cast<const uint4*>(pointers.k) + second_half(whole);
      void* arguments[] = {&params};
      SPLITWAVE_CUDA_CHECK(cudaLaunchKernel(read_kernel_function(), dim3(ctas), dim3(512), arguments, 0, stream));
    }
  };
  return time_captured(stream, queue, launches, options.replays);
}

}  // namespace

std::int32_t copies_for(const Workload& workload, const MeasureOptions& options) {
  if (options.bytes_per_cycle == 0) return 1;
  const std::int64_t bytes = std::max<std::int64_t>(1, workloads::kv_bytes(workload));
  const std::int64_t copies = (options.bytes_per_cycle + bytes - 1) / bytes;
  const std::int64_t most = std::clamp((kForgottenBytes + bytes - 1) / bytes, kMostCopies, kMostLaunches);
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(copies, 2, most));
}

Timing time_plan(const Workload& workload, const DeviceTensors& tensors, Decoder& decoder, bool lse,
                 const MeasureOptions& options) {
  const std::int64_t launches = launches_for(workload, tensors.copies(), options);
  std::vector<DevicePointers> pointers;
  for (std::int64_t i = 0; i < launches; ++i) {
    pointers.push_back(tensors.pointers(static_cast<std::int32_t>(i % tensors.copies())));
    if (!lse) pointers.back().lse = nullptr;
  }
  decoder.capture(pointers);
  const Timing timing = time_replays(
      static_cast<cudaStream_t>(decoder.stream()), [&] { decoder.replay(); }, launches, options.replays);
  decoder.synchronize();
  return timing;
}

Timing time_plain_read(const Workload& workload, const DeviceTensors& tensors, const MeasureOptions& options) {
  const Stream stream = make_stream();
  const std::int64_t launches = launches_for(workload, tensors.copies(), options);
  const std::int64_t words = workloads::kv_bytes(workload) / 32;
  const std::int64_t enough = std::max<std::int64_t>(1, (words + 2047) / 2048);
  Timing best;
  for (const unsigned ctas : {132U, 264U, 528U, 1024U}) {
    if (best.samples > 0 && enough < ctas / 2) continue;  // more CTAs than work
    const auto grid = static_cast<unsigned>(std::min<std::int64_t>(ctas, enough));
    const Timing timing = time_reads(workload, tensors, stream.get(), launches, grid, options);
    if (best.samples == 0 || timing.median < best.median) best = timing;
  }
  return best;
}

Timing time_empty_kernel(const MeasureOptions& options) {
  const Stream stream = make_stream();
  constexpr std::int64_t kLaunches = 1000;
  ReadParams params;  // no words: reads nothing
  const auto queue = [&] {
    for (std::int64_t i = 0; i < kLaunches; ++i) {
      void* arguments[] = {&params};
      SPLITWAVE_CUDA_CHECK(cudaLaunchKernel(read_kernel_function(), dim3(1), dim3(128), arguments, 0, stream.get()));
    }
  };
  return time_captured(stream.get(), queue, kLaunches, options.replays);
}

std::optional<LaunchEnergy> time_energy(Decoder& decoder, const Timing& timing, double seconds) {
  const SteadyLoad load = hold_load(
      static_cast<cudaStream_t>(decoder.stream()), [&] { decoder.replay(); }, kSettleSeconds, seconds);
  decoder.synchronize();
  if (!load.watts) return std::nullopt;
  const double seconds_per_launch = load.seconds_per_run / static_cast<double>(timing.launches_per_replay);
  return LaunchEnergy{*load.watts * seconds_per_launch, *load.watts, load.sm_clock_mhz};
}

}  // namespace splitwave::gpu
