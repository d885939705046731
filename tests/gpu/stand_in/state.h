// SPDX-License-Identifier: Apache-2.0
// What the stand-in for the CUDA runtime keeps, and what its calls do with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tests/gpu/stand_in/runtime.h"

namespace splitwave::stand_in {

using Work = std::function<void()>;

}  // namespace splitwave::stand_in

// The handles of the runtime are pointers to these.
struct CUstream_st {
  std::deque<splitwave::stand_in::Work> queued;
  std::unique_ptr<std::vector<splitwave::stand_in::Work>> captured;  // not null: what is queued becomes a graph
};
struct CUevent_st {
  cudaStream_t stream = nullptr;  // where it was recorded last
  std::shared_ptr<bool> done;
};
struct CUgraph_st {
  std::vector<splitwave::stand_in::Work> nodes;
};
struct CUgraphExec_st {
  std::vector<splitwave::stand_in::Work> nodes;
};

namespace splitwave::stand_in {

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

State& state();

/// Notes a misuse, the first of all, and returns its error.
cudaError_t misused(const std::string& what, cudaError_t error = cudaErrorInvalidValue);

/// The error that this call has to return, if any.
cudaError_t next_call(const char* name);

/// Whether any stream captures.
bool capturing();

/// A stream that is there; null if it is not.
CUstream_st* find(cudaStream_t stream);

/// Queues the work, or adds it to the graph that the stream captures.
cudaError_t add_work(cudaStream_t handle, Work work);
cudaError_t add_launch(const KernelLaunch& launch, const void* function, void** arguments, cudaStream_t stream);

/// Runs what is queued: the first of a stream, all of it, all of all streams.
void run_next(CUstream_st& stream);
void run_all(CUstream_st& stream);
void run_everything();

/// Whether [first, first + bytes) lies in one piece of `memory`, or of the device's.
bool lies_in(const std::map<const std::byte*, std::size_t>& memory, const void* first, std::size_t bytes);
bool on_device(const void* first, std::size_t bytes);

/// A misuse if a side that is said to lie on the device does not.
cudaError_t check_copy(const void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind);

template <class Handle>
cudaError_t destroy(std::set<Handle*>& all, Handle* handle, const char* what) {
  if (all.erase(handle) == 0) return misused(std::string("destroying ") + what + " that is not there");
  delete handle;
  return cudaSuccess;
}

}  // namespace splitwave::stand_in
