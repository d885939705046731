// SPDX-License-Identifier: Apache-2.0
// The calls of the CUDA runtime that gpu/ makes, on the host and without a device: device memory is the host's, what is
// queued on a stream waits until somebody synchronizes, and any call can be told to fail. Linked instead of cudart.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace splitwave::stand_in {

/// How a kernel was launched.
struct KernelLaunch {
  dim3 grid;
  dim3 block;
  std::size_t shared_bytes = 0;
  std::int32_t cluster = 1;
};

/// What stands for a kernel: runs it on the host. `params`: its one parameter.
struct Kernel {
  std::size_t param_bytes = 0;
  std::function<void(const KernelLaunch&, const void* params)> run;
};
void add_kernel(const void* function, Kernel kernel);

/// Lets the `number`-th checked call from now on (1: the next one) return `error` and do nothing. 0: none.
void fail_call(std::int64_t number, cudaError_t error);

/// Checked calls since fail_call(); every call but those that destroy and those that ask for errors.
std::int64_t calls();

/// Name of the call that was made to fail; empty if none was.
std::string failed_call();

/// Device and pinned memory, streams, events, graphs and captures that there are.
std::int64_t live_resources();

/// For kernels: whether all of it is device memory, of one piece; and what else they find wrong.
bool is_device_memory(const void* first, std::size_t bytes);
void report_misuse(const std::string& what);

/// What no program may do: destroying or using what is not there, copying beyond memory. Empty if nothing was.
std::string misuse();

}  // namespace splitwave::stand_in
