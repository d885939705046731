// SPDX-License-Identifier: Apache-2.0
#include "gpu/microbenchmarks/topology.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <random>
#include <utility>

#include "gpu/device.h"
#include "gpu/launch.h"
#include "gpu/microbenchmarks/kernels.h"
#include "gpu/microbenchmarks/stream.h"

namespace splitwave::gpu {
namespace {

constexpr std::int32_t kClusterLaunches = 40;
constexpr std::uint32_t kHoldNanoseconds = 20'000;
constexpr std::int32_t kGroupLaunches = 3;  ///< one may be disturbed, and two CTAs may come to one SM

/// Shared memory of which an SM has room for so many CTAs and no more.
std::int32_t shared_for(std::int32_t per_sm) {
  return static_cast<std::int32_t>(current_device().shared_bytes_per_cta / per_sm - 2048);
}

Launch place_launch(std::int32_t ctas, std::int32_t per_sm, std::int32_t cluster) {
  Launch launch;
  launch.function = place_kernel();
  launch.grid = dim3(static_cast<unsigned>(ctas));
  launch.threads = 128;
  launch.shared_bytes = shared_for(per_sm);
  launch.cluster = cluster;
  SPLITWAVE_CUDA_CHECK(
      cudaFuncSetAttribute(launch.function, cudaFuncAttributeMaxDynamicSharedMemorySize, launch.shared_bytes));
  return launch;
}

std::vector<std::int32_t> run_place(const Launch& launch, cudaStream_t stream) {
  const std::vector<std::uint32_t> none(launch.grid.x, ~0U);
  const DeviceBuffer<std::uint32_t> device_sms{std::span<const std::uint32_t>(none)};
  PlaceParams params{device_sms.get(), kHoldNanoseconds};
  // The second of two alike: the first one may find SMs that divide their memory otherwise, and gets them in the order
  // in which they have changed that.
  launch_kernel(launch, &params, stream);
  launch_kernel(launch, &params, stream);
  SPLITWAVE_CUDA_CHECK(cudaStreamSynchronize(stream));
  std::vector<std::uint32_t> sms(launch.grid.x);
  device_sms.download(sms);
  for (const std::uint32_t sm : sms) {
    if (sm == ~0U) throw DeviceError("a CTA did not say which SM it ran on");
  }
  return {sms.begin(), sms.end()};
}

/// 0 where clusters of this size do not exist.
std::int32_t most_active(const Launch& launch) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {static_cast<unsigned>(launch.cluster), 1, 1};
  cudaLaunchConfig_t config{};
  config.gridDim = launch.grid;
  config.blockDim = dim3(static_cast<unsigned>(launch.threads));
  config.dynamicSmemBytes = static_cast<std::size_t>(launch.shared_bytes);
  config.attrs = &attribute;
  config.numAttrs = 1;
  int clusters = 0;
  if (cudaOccupancyMaxActiveClusters(&clusters, launch.function, &config) != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    return 0;
  }
  return clusters;
}

}  // namespace

std::vector<std::vector<std::int32_t>> place_ctas(std::int32_t ctas, std::int32_t per_sm, std::int32_t launches) {
  const Stream stream = make_stream();
  std::vector<std::vector<std::int32_t>> result;
  for (std::int32_t i = 0; i < launches; ++i) result.push_back(run_place(place_launch(ctas, per_sm, 1), stream.get()));
  return result;
}

std::vector<ClusterPlaces> place_clusters() {
  const Stream stream = make_stream();
  std::vector<ClusterPlaces> result;
  if (current_device().compute_capability < 90) return result;
  SPLITWAVE_CUDA_CHECK(cudaFuncSetAttribute(place_kernel(), cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  for (const std::int32_t size : {2, 4, 8, 16}) {
    ClusterPlaces places;
    places.size = size;
    places.most_active = most_active(place_launch(size, 1, size));
    if (places.most_active == 0) continue;
    for (std::int32_t i = 0; i < kClusterLaunches; ++i) {
      // Every other launch leaves some out, so that others get their places.
      const std::int32_t clusters = i % 2 == 0 ? places.most_active : 1 + i % places.most_active;
      const std::vector<std::int32_t> sms = run_place(place_launch(clusters * size, 1, size), stream.get());
      for (std::int32_t c = 0; c < clusters; ++c) {
        places.seen.emplace_back(sms.begin() + c * size, sms.begin() + (c + 1) * size);
      }
    }
    result.push_back(std::move(places));
  }
  return result;
}

namespace {

/// Rings of 224 KiB on the SMs for which `reads` is true, from a part of the pool that changes with `number`.
template <typename Reads>
StreamLaunch stream_on(const ReadPool& pool, std::int32_t sms, std::int32_t number, Reads reads) {
  StreamLaunch launch;
  launch.data = pool.data();
  launch.ctas = sms;
  launch.bytes_in_flight = 224 * kKiB;
  launch.region_stride = launch.region_bytes = pool.bytes() / sms / launch.bytes_in_flight * launch.bytes_in_flight;
  launch.offset = number * (kStreamBytesPerCta / launch.bytes_in_flight * launch.bytes_in_flight);
  launch.active.assign(static_cast<std::size_t>((sms + 31) / 32), 0);
  for (std::int32_t sm = 0; sm < sms; ++sm) {
    if (reads(sm)) launch.active[static_cast<std::size_t>(sm / 32)] |= 1U << (sm % 32);
  }
  return launch;
}

}  // namespace

std::vector<PortLaunch> stream_random_subsets(std::int32_t launches) {
  const std::int32_t sms = current_device().sms;
  const Stream stream = make_stream();
  const ReadPool pool(stream.get());
  std::mt19937 random(1);
  std::bernoulli_distribution reads(5.0 / 6);
  std::vector<PortLaunch> result;
  for (std::int32_t i = 0; static_cast<std::int32_t>(result.size()) < launches; ++i) {
    if (i >= 2 * launches) throw DeviceError("CTAs of one wave keep coming to SMs that have one");
    std::optional<std::vector<double>> rates =
        stream_rates(stream_on(pool, sms, i, [&](std::int32_t /*sm*/) { return reads(random); }), stream.get());
    if (rates) result.push_back(std::move(*rates));
  }
  return result;
}

std::vector<double> stream_groups(std::span<const std::vector<std::int32_t>> groups) {
  const std::int32_t sms = current_device().sms;
  const Stream stream = make_stream();
  const ReadPool pool(stream.get());
  std::vector<double> result;
  for (const std::vector<std::int32_t>& members : groups) {
    const auto reads = [&](std::int32_t sm) { return std::find(members.begin(), members.end(), sm) != members.end(); };
    double most = 0;
    for (std::int32_t i = 0; i < kGroupLaunches; ++i) {
      const std::optional<std::vector<double>> rates = stream_rates(stream_on(pool, sms, i, reads), stream.get());
      if (rates) most = std::max(most, std::accumulate(rates->begin(), rates->end(), 0.0));
    }
    result.push_back(most);
  }
  return result;
}

}  // namespace splitwave::gpu
