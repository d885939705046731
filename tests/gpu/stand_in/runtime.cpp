// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu/stand_in/runtime.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <vector>

using splitwave::stand_in::Kernel;
using splitwave::stand_in::KernelLaunch;

using Work = std::function<void()>;

// The handles of the runtime are pointers to these.
struct CUstream_st {
  std::deque<Work> queued;
  std::unique_ptr<std::vector<Work>> captured;  // not null: what is queued becomes a graph
};
struct CUevent_st {
  cudaStream_t stream = nullptr;  // where it was recorded last
  std::shared_ptr<bool> done;
};
struct CUgraph_st {
  std::vector<Work> nodes;
};
struct CUgraphExec_st {
  std::vector<Work> nodes;
};

namespace {

struct State {
  std::map<const void*, Kernel> kernels;
  std::map<const std::byte*, std::size_t> memory;  // of the device, with its bytes
  std::map<const std::byte*, std::size_t> pinned;
  std::set<cudaStream_t> streams;
  std::set<cudaEvent_t> events;
  std::set<cudaGraph_t> graphs;
  std::set<cudaGraphExec_t> executables;
  CUstream_st default_stream;
  std::int64_t calls = 0;
  std::int64_t failing = 0;
  cudaError_t error = cudaSuccess;
  std::string failed;
  std::string misuse;
};

State& state() {
  static State all;
  return all;
}

cudaError_t misused(const std::string& what, cudaError_t error = cudaErrorInvalidValue) {
  if (state().misuse.empty()) state().misuse = what;
  return error;
}

/// The error that this call has to return, if any.
cudaError_t next_call(const char* name) {
  State& s = state();
  if (++s.calls != s.failing) return cudaSuccess;
  s.failed = name;
  return s.error;
}

bool capturing() {
  const std::set<cudaStream_t>& streams = state().streams;
  return std::any_of(streams.begin(), streams.end(), [](cudaStream_t stream) { return stream->captured != nullptr; });
}

/// A stream that is there; null if it is not.
CUstream_st* find(cudaStream_t stream) {
  if (stream == nullptr) return &state().default_stream;
  if (state().streams.contains(stream)) return stream;
  misused("a stream that is not there");
  return nullptr;
}

cudaError_t add_work(cudaStream_t handle, Work work) {
  CUstream_st* const stream = find(handle);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  if (stream->captured) {
    stream->captured->push_back(std::move(work));
  } else {
    stream->queued.push_back(std::move(work));
  }
  return cudaSuccess;
}

void run_next(CUstream_st& stream) {
  const Work work = std::move(stream.queued.front());
  stream.queued.pop_front();
  work();
}

void run_all(CUstream_st& stream) {
  while (!stream.queued.empty()) run_next(stream);
}

void run_everything() {
  run_all(state().default_stream);
  for (const cudaStream_t stream : state().streams) run_all(*stream);
}

/// Whether [first, first + bytes) lies in one piece of `memory`.
bool lies_in(const std::map<const std::byte*, std::size_t>& memory, const void* first, std::size_t bytes) {
  const auto* const begin = static_cast<const std::byte*>(first);
  auto after = memory.upper_bound(begin);
  if (after == memory.begin()) return false;
  --after;
  return begin + bytes <= after->first + after->second;
}

bool on_device(const void* first, std::size_t bytes) {
  return lies_in(state().memory, first, bytes);
}

cudaError_t check_copy(const void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  if ((to_device && !on_device(to, bytes)) || (from_device && !on_device(from, bytes))) {
    return misused("a copy beyond device memory");
  }
  return cudaSuccess;
}

cudaError_t add_launch(const KernelLaunch& launch, const void* function, void** arguments, cudaStream_t stream) {
  const auto kernel = state().kernels.find(function);
  if (kernel == state().kernels.end()) return cudaErrorInvalidDeviceFunction;
  const auto* const first = static_cast<const std::byte*>(arguments[0]);
  std::vector<std::byte> params(first, first + kernel->second.param_bytes);
  return add_work(stream,
                  [launch, params = std::move(params), run = kernel->second.run] { run(launch, params.data()); });
}

template <class Handle>
cudaError_t destroy(std::set<Handle*>& all, Handle* handle, const char* what) {
  if (all.erase(handle) == 0) return misused(std::string("destroying ") + what + " that is not there");
  delete handle;
  return cudaSuccess;
}

}  // namespace

namespace splitwave::stand_in {

void add_kernel(const void* function, Kernel kernel) {
  state().kernels[function] = std::move(kernel);
}

void fail_call(std::int64_t number, cudaError_t error) {
  State& s = state();
  s.calls = 0;
  s.failing = number;
  s.error = error;
  s.failed.clear();
}

std::int64_t calls() {
  return state().calls;
}

std::string failed_call() {
  return state().failed;
}

std::int64_t live_resources() {
  const State& s = state();
  return static_cast<std::int64_t>(s.memory.size() + s.pinned.size() + s.streams.size() + s.events.size() +
                                   s.graphs.size() + s.executables.size()) +
         (capturing() ? 1 : 0);
}

bool is_device_memory(const void* first, std::size_t bytes) {
  return on_device(first, bytes);
}

void report_misuse(const std::string& what) {
  misused(what);
}

std::string misuse() {
  return state().misuse;
}

}  // namespace splitwave::stand_in

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
