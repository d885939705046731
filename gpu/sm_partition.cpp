// SPDX-License-Identifier: Apache-2.0
#include "gpu/sm_partition.h"

#include <cuda.h>
#include <cudaTypedefs.h>
#include <fmt/format.h>

#include "base/error.h"
#include "gpu/cuda_check.h"
#include "gpu/device.h"
#include "gpu/error.h"

namespace splitwave::gpu {
namespace {

thread_local std::int32_t current_sms = 0;

/// A function of the driver's, asked for at run time: a binary that links to the driver would not start without it.
template <class Function>
Function driver_function(const char* name) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
  SPLITWAVE_CUDA_CHECK(cudaGetDriverEntryPointByVersion(name, &function, 12050, cudaEnableDefault, &found));
  if (found != cudaDriverEntryPointSuccess) {
    throw base::MissingError(
        fmt::format("--sms: the CUDA driver has no {}; allowed: a driver of CUDA 12.5 or later", name));
  }
  return reinterpret_cast<Function>(function);
}

struct Driver {
  PFN_cuDeviceGetDevResource_v12040 device_resource =
      driver_function<PFN_cuDeviceGetDevResource_v12040>("cuDeviceGetDevResource");
  PFN_cuDevSmResourceSplitByCount_v12040 split =
      driver_function<PFN_cuDevSmResourceSplitByCount_v12040>("cuDevSmResourceSplitByCount");
  PFN_cuDevResourceGenerateDesc_v12040 describe =
      driver_function<PFN_cuDevResourceGenerateDesc_v12040>("cuDevResourceGenerateDesc");
  PFN_cuGreenCtxCreate_v12040 create = driver_function<PFN_cuGreenCtxCreate_v12040>("cuGreenCtxCreate");
  PFN_cuGreenCtxDestroy_v12040 destroy = driver_function<PFN_cuGreenCtxDestroy_v12040>("cuGreenCtxDestroy");
  PFN_cuCtxFromGreenCtx_v12040 context = driver_function<PFN_cuCtxFromGreenCtx_v12040>("cuCtxFromGreenCtx");
  PFN_cuCtxGetCurrent_v4000 current = driver_function<PFN_cuCtxGetCurrent_v4000>("cuCtxGetCurrent");
  PFN_cuCtxSetCurrent_v4000 set_current = driver_function<PFN_cuCtxSetCurrent_v4000>("cuCtxSetCurrent");
};

void check(CUresult result, const char* what) {
  if (result != CUDA_SUCCESS) {
    throw DeviceError(fmt::format("{} failed: error {} of the CUDA driver", what, static_cast<int>(result)));
  }
}

}  // namespace

struct SmPartition::State {
  Driver driver;
  CUgreenCtx part = nullptr;
  CUcontext before = nullptr;
  ~State() {
    if (part == nullptr) return;
    current_sms = 0;
    static_cast<void>(driver.set_current(before));
    static_cast<void>(driver.destroy(part));
  }
};

SmPartition::SmPartition(std::int32_t sms) : state_(std::make_unique<State>()) {
  const Device whole = current_device();
  SPLITWAVE_CUDA_CHECK(cudaFree(nullptr));  // makes the runtime's context
  const Driver& driver = state_->driver;
  int device = 0;
  SPLITWAVE_CUDA_CHECK(cudaGetDevice(&device));
  CUdevResource all{};
  check(driver.device_resource(device, &all, CU_DEV_RESOURCE_TYPE_SM), "cuDeviceGetDevResource");
  CUdevResource part{};
  CUdevResource rest{};
  unsigned groups = 1;
  const bool possible = sms >= 1 && sms <= whole.sms &&
                        driver.split(&part, &groups, &all, &rest, 0, static_cast<unsigned>(sms)) == CUDA_SUCCESS;
  if (!possible || groups != 1 || part.sm.smCount != static_cast<unsigned>(sms)) {
    const std::string next = possible && groups == 1 ? fmt::format(", {} for example", part.sm.smCount) : "";
    throw base::InputError(fmt::format("--sms {}: {} cannot be parted so; allowed: multiples of {} below {}{}, or {}",
                                       sms, whole.name, whole.compute_capability >= 90 ? 8 : 2, whole.sms, next,
                                       whole.sms));
  }
  CUdevResourceDesc description = nullptr;
  check(driver.describe(&description, &part, 1), "cuDevResourceGenerateDesc");
  check(driver.current(&state_->before), "cuCtxGetCurrent");
  check(driver.create(&state_->part, description, device, CU_GREEN_CTX_DEFAULT_STREAM), "cuGreenCtxCreate");
  CUcontext context = nullptr;
  check(driver.context(&context, state_->part), "cuCtxFromGreenCtx");
  check(driver.set_current(context), "cuCtxSetCurrent");
  current_sms = sms;
}

SmPartition::~SmPartition() = default;

std::int32_t partition_sms() {
  return current_sms;
}

}  // namespace splitwave::gpu
