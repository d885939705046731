// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu/stand_in/state.h"

#include <algorithm>
#include <utility>

namespace splitwave::stand_in {

bool lies_in(const std::map<const std::byte*, std::size_t>& memory, const void* first, std::size_t bytes) {
  const auto* const begin = static_cast<const std::byte*>(first);
  auto after = memory.upper_bound(begin);
  if (after == memory.begin()) return false;
  --after;
  return begin + bytes <= after->first + after->second;
}

State& state() {
  static State all;
  return all;
}

cudaError_t misused(const std::string& what, cudaError_t error) {
  if (state().misuse.empty()) state().misuse = what;
  return error;
}

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
