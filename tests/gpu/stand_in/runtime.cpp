// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu/stand_in/runtime.h"

#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "tests/gpu/stand_in/state.h"

using namespace splitwave::stand_in;  // NOLINT(google-build-using-namespace): the calls below have C's names

#define FAIL_IF_ASKED(name)                                                             \
  do {                                                                                  \
    if (const cudaError_t error = next_call(#name); error != cudaSuccess) return error; \
  } while (false)
// What waits for other threads' work is not allowed while a thread captures.
#define REFUSE_WHILE_CAPTURING() \
  if (capturing()) return cudaErrorStreamCaptureUnsupported

extern "C" {

cudaError_t cudaGetLastError() {
  return cudaSuccess;
}
const char* cudaGetErrorName(cudaError_t error) {
  static const std::map<cudaError_t, const char*> names = {{cudaErrorInvalidValue, "cudaErrorInvalidValue"},
                                                           {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation"},
                                                           {cudaErrorNoDevice, "cudaErrorNoDevice"},
                                                           {cudaErrorLaunchFailure, "cudaErrorLaunchFailure"}};
  const auto found = names.find(error);
  return found == names.end() ? "another error" : found->second;
}
const char* cudaGetErrorString(cudaError_t /*error*/) {
  return "as a test asked";
}

// ---- The device

cudaError_t cudaGetDeviceCount(int* count) {
  FAIL_IF_ASKED(cudaGetDeviceCount);
  *count = 1;
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  FAIL_IF_ASKED(cudaGetDevice);
  *device = 0;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int /*device*/) {
  FAIL_IF_ASKED(cudaGetDeviceProperties);
  *properties = {};
  std::strcpy(properties->name, "stand-in");
  properties->multiProcessorCount = 4;
  properties->major = 9;
  properties->totalGlobalMem = std::size_t{1} << 30;
  properties->l2CacheSize = 1 << 20;
  properties->sharedMemPerBlockOptin = 232448;
  for (std::size_t i = 0; i < sizeof(properties->uuid.bytes); ++i) properties->uuid.bytes[i] = static_cast<char>(i);
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) {
  FAIL_IF_ASKED(cudaDriverGetVersion);
  *version = 13000;
  return cudaSuccess;
}
cudaError_t cudaGetDriverEntryPointByVersion(const char* /*name*/, void** function, unsigned /*version*/,
                                             unsigned long long /*flags*/,  // NOLINT: the runtime's type
                                             cudaDriverEntryPointQueryResult* found) {
  FAIL_IF_ASKED(cudaGetDriverEntryPointByVersion);
  *function = nullptr;
  if (found != nullptr) *found = cudaDriverEntryPointSymbolNotFound;
  return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() {
  FAIL_IF_ASKED(cudaDeviceSynchronize);
  REFUSE_WHILE_CAPTURING();
  run_everything();
  return cudaSuccess;
}

// ---- Memory

cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  FAIL_IF_ASKED(cudaMalloc);
  REFUSE_WHILE_CAPTURING();
  *memory = std::malloc(bytes);
  std::memset(*memory, 0xff, bytes);  // nobody may count on zeros
  state().memory[static_cast<const std::byte*>(*memory)] = bytes;
  return cudaSuccess;
}
cudaError_t cudaFree(void* memory) {
  if (memory == nullptr) return cudaSuccess;
  run_everything();
  if (state().memory.erase(static_cast<const std::byte*>(memory)) == 0) return misused("freeing what is not there");
  std::free(memory);
  return cudaSuccess;
}
cudaError_t cudaMallocHost(void** memory, std::size_t bytes) {
  FAIL_IF_ASKED(cudaMallocHost);
  REFUSE_WHILE_CAPTURING();
  *memory = std::malloc(bytes);
  std::memset(*memory, 0xff, bytes);
  state().pinned[static_cast<const std::byte*>(*memory)] = bytes;
  return cudaSuccess;
}
cudaError_t cudaFreeHost(void* memory) {
  if (state().pinned.erase(static_cast<const std::byte*>(memory)) == 0)
    return misused("freeing pinned memory that is not there");
  std::free(memory);
  return cudaSuccess;
}
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  FAIL_IF_ASKED(cudaMemcpy);
  REFUSE_WHILE_CAPTURING();
  if (const cudaError_t error = check_copy(to, from, bytes, kind); error != cudaSuccess) return error;
  if (kind == cudaMemcpyDeviceToHost) {
    run_all(state().default_stream);
    std::memcpy(to, from, bytes);
    return cudaSuccess;
  }
  // Returns when the memory has been read, and may do so before it has arrived.
  const auto* const first = static_cast<const std::byte*>(from);
  if (kind == cudaMemcpyDeviceToDevice) return add_work(nullptr, [=] { std::memcpy(to, first, bytes); });
  return add_work(nullptr, [to, copy = std::vector<std::byte>(first, first + bytes)] {
    std::memcpy(to, copy.data(), copy.size());
  });
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  FAIL_IF_ASKED(cudaMemcpyAsync);
  if (const cudaError_t error = check_copy(to, from, bytes, kind); error != cudaSuccess) return error;
  return add_work(stream, [=] {
    if (!lies_in(state().pinned, from, bytes) || !on_device(to, bytes)) {
      misused("memory freed before its copy has ended");
      return;
    }
    std::memcpy(to, from, bytes);
  });
}
cudaError_t cudaMemset(void* memory, int value, std::size_t bytes) {
  FAIL_IF_ASKED(cudaMemset);
  REFUSE_WHILE_CAPTURING();
  if (!on_device(memory, bytes)) return misused("filling beyond device memory");
  return add_work(nullptr, [=] { std::memset(memory, value, bytes); });
}

// ---- Streams and events

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned /*flags*/) {
  FAIL_IF_ASKED(cudaStreamCreateWithFlags);
  *stream = new CUstream_st;
  state().streams.insert(*stream);
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  if (state().streams.contains(stream)) run_all(*stream);
  return destroy(state().streams, stream, "a stream");
}
cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  FAIL_IF_ASKED(cudaStreamSynchronize);
  REFUSE_WHILE_CAPTURING();
  CUstream_st* const stream = find(handle);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  run_all(*stream);
  return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t* event) {
  FAIL_IF_ASKED(cudaEventCreate);
  *event = new CUevent_st;
  state().events.insert(*event);
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return destroy(state().events, event, "an event");
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  FAIL_IF_ASKED(cudaEventRecord);
  if (!state().events.contains(event)) return misused("recording an event that is not there");
  event->stream = stream;
  event->done = std::make_shared<bool>(false);
  return add_work(stream, [done = event->done] { *done = true; });
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  FAIL_IF_ASKED(cudaEventSynchronize);
  if (!state().events.contains(event)) return misused("waiting for an event that is not there");
  if (!event->done) return cudaSuccess;
  CUstream_st* const stream = find(event->stream);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  while (!*event->done && !stream->queued.empty()) run_next(*stream);
  return cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  FAIL_IF_ASKED(cudaEventElapsedTime);
  if (!begin->done || !end->done || !*begin->done || !*end->done) return misused("the time of events to come");
  *milliseconds = 1;
  return cudaSuccess;
}

// ---- Graphs

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode /*mode*/) {
  FAIL_IF_ASKED(cudaStreamBeginCapture);
  CUstream_st* const stream = find(handle);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  if (stream->captured) return cudaErrorIllegalState;
  stream->captured = std::make_unique<std::vector<Work>>();
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* graph) {
  const cudaError_t error = next_call("cudaStreamEndCapture");
  CUstream_st* const stream = find(handle);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  if (!stream->captured) return cudaErrorIllegalState;
  const std::unique_ptr<std::vector<Work>> captured = std::move(stream->captured);  // even where it fails
  if (error != cudaSuccess) return error;
  *graph = new CUgraph_st{*captured};
  state().graphs.insert(*graph);
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  return destroy(state().graphs, graph, "a graph");
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph,
                                 unsigned long long /*flags*/) {  // NOLINT: the runtime's type
  FAIL_IF_ASKED(cudaGraphInstantiate);
  if (!state().graphs.contains(graph)) return misused("a graph that is not there");
  *executable = new CUgraphExec_st{graph->nodes};
  state().executables.insert(*executable);
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  return destroy(state().executables, executable, "an executable graph");
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  FAIL_IF_ASKED(cudaGraphLaunch);
  if (!state().executables.contains(executable)) return cudaErrorInvalidValue;
  for (const Work& node : executable->nodes) {
    if (const cudaError_t error = add_work(stream, node); error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

// ---- Kernels

cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute /*attribute*/, int /*value*/) {
  FAIL_IF_ASKED(cudaFuncSetAttribute);
  return state().kernels.contains(function) ? cudaSuccess : cudaErrorInvalidDeviceFunction;
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* /*function*/) {
  FAIL_IF_ASKED(cudaFuncGetAttributes);
  *attributes = {};
  attributes->ptxVersion = 90;
  return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* ctas, const void* /*function*/, int /*threads*/,
                                                          std::size_t /*shared_bytes*/) {
  FAIL_IF_ASKED(cudaOccupancyMaxActiveBlocksPerMultiprocessor);
  *ctas = 2;
  return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, const void* /*function*/, const cudaLaunchConfig_t* config) {
  FAIL_IF_ASKED(cudaOccupancyMaxActiveClusters);
  *clusters = 8 / static_cast<int>(config->attrs[0].val.clusterDim.x);
  return cudaSuccess;
}
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function, void** arguments) {
  FAIL_IF_ASKED(cudaLaunchKernelExC);
  KernelLaunch launch{config->gridDim, config->blockDim, config->dynamicSmemBytes, 1};
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    if (config->attrs[i].id == cudaLaunchAttributeClusterDimension) {
      launch.cluster = static_cast<std::int32_t>(config->attrs[i].val.clusterDim.x);
    }
  }
  return add_launch(launch, function, arguments, config->stream);
}
cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments, std::size_t shared_bytes,
                             cudaStream_t stream) {
  FAIL_IF_ASKED(cudaLaunchKernel);
  return add_launch({grid, block, shared_bytes, 1}, function, arguments, stream);
}

}  // extern "C"
