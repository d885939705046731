// SPDX-License-Identifier: Apache-2.0
#include "gpu/launch.h"

#include "gpu/cuda_check.h"

namespace splitwave::gpu {

void launch_kernel(const Launch& launch, void* params, void* second, cudaStream_t stream) {
  cudaLaunchAttribute attributes[2] = {};
  cudaLaunchConfig_t config{};
  config.gridDim = launch.grid;
  config.blockDim = dim3(static_cast<unsigned>(launch.threads));
  config.dynamicSmemBytes = static_cast<std::size_t>(launch.shared_bytes);
  config.stream = stream;
  config.attrs = attributes;
  if (launch.overlaps) {
    attributes[config.numAttrs].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[config.numAttrs++].val.programmaticStreamSerializationAllowed = 1;
  }
  if (launch.cluster > 1) {
    attributes[config.numAttrs].id = cudaLaunchAttributeClusterDimension;
    attributes[config.numAttrs++].val.clusterDim = {static_cast<unsigned>(launch.cluster), 1, 1};
  }
  void* arguments[] = {params, second};
  SPLITWAVE_CUDA_CHECK(cudaLaunchKernelExC(&config, launch.function, arguments));
}

void launch_kernel(const Launch& launch, void* params, cudaStream_t stream) {
  launch_kernel(launch, params, nullptr, stream);
}

}  // namespace splitwave::gpu
