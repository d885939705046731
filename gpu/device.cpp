// SPDX-License-Identifier: Apache-2.0
#include "gpu/device.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <mutex>

#include "base/error.h"
#include "gpu/cuda_check.h"
#include "gpu/kernels/table.h"
#include "gpu/sm_partition.h"

namespace splitwave::gpu {

bool has_device() {
  try {
    int count = 0;
    SPLITWAVE_CUDA_CHECK(cudaGetDeviceCount(&count));
    return count > 0;
  } catch (const base::MissingError&) {
    return false;
  }
}

namespace {

std::string text_of(const cudaUUID_t& uuid) {
  std::string text = "GPU";
  for (std::size_t i = 0; i < sizeof(uuid.bytes); ++i) {
    if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", static_cast<unsigned char>(uuid.bytes[i]));
  }
  return text;
}

Device query_device(int index) {
  cudaDeviceProp properties{};
  int driver = 0;
  SPLITWAVE_CUDA_CHECK(cudaGetDeviceProperties(&properties, index));
  SPLITWAVE_CUDA_CHECK(cudaDriverGetVersion(&driver));
  cudaFuncAttributes code{};
  SPLITWAVE_CUDA_CHECK(cudaFuncGetAttributes(&code, merge_kernels().front().function));
  Device device;
  device.name = properties.name;
  device.sms = properties.multiProcessorCount;
  device.compute_capability = std::min(10 * properties.major + properties.minor, code.ptxVersion);
  device.memory_bytes = static_cast<std::int64_t>(properties.totalGlobalMem);
  device.l2_bytes = properties.l2CacheSize;
  device.shared_bytes_per_cta = static_cast<std::int64_t>(properties.sharedMemPerBlockOptin);
  device.cuda = fmt::format("{}.{}", driver / 1000, driver % 1000 / 10);
  device.uuid = text_of(properties.uuid);
  std::ifstream("/sys/module/nvidia/version") >> device.driver;
  return device;
}

}  // namespace

Device current_device() {
  // Asking the driver takes longer than planning a decode step.
  static std::mutex mutex;
  static std::map<int, Device> known;
  int index = 0;
  SPLITWAVE_CUDA_CHECK(cudaGetDevice(&index));
  const std::lock_guard lock(mutex);
  auto place = known.find(index);
  if (place == known.end()) place = known.emplace(index, query_device(index)).first;
  Device device = place->second;
  if (partition_sms() > 0) device.sms = partition_sms();
  return device;
}

}  // namespace splitwave::gpu
