// SPDX-License-Identifier: Apache-2.0
// Owners of CUDA resources. Private to gpu/ and its tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

#include "gpu/cuda_check.h"

namespace splitwave::gpu {

/// A handle of the CUDA runtime that is destroyed with its owner. Errors of destructors are dropped: they repeat one
/// that a checked call has reported.
template <class Handle, cudaError_t (*kDestroy)(Handle)>
class Owned {
 public:
  Owned() = default;
  explicit Owned(Handle handle) : handle_(handle) {}
  ~Owned() {
    if (handle_ != nullptr) static_cast<void>(kDestroy(handle_));
  }
  Owned(Owned&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  Handle get() const { return handle_; }

 private:
  Handle handle_ = nullptr;
};

using Stream = Owned<cudaStream_t, cudaStreamDestroy>;
using Event = Owned<cudaEvent_t, cudaEventDestroy>;
using Graph = Owned<cudaGraph_t, cudaGraphDestroy>;
using GraphExec = Owned<cudaGraphExec_t, cudaGraphExecDestroy>;

inline Stream make_stream() {
  cudaStream_t stream = nullptr;
  SPLITWAVE_CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  return Stream(stream);
}

inline Event make_event() {
  cudaEvent_t event = nullptr;
  SPLITWAVE_CUDA_CHECK(cudaEventCreate(&event));
  return Event(event);
}

/// Device memory of `count` elements, uninitialized.
template <class T>
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  explicit DeviceBuffer(std::size_t count) : count_(count) {
    void* memory = nullptr;
    if (count > 0) SPLITWAVE_CUDA_CHECK(cudaMalloc(&memory, count * sizeof(T)));
    memory_ = Owned<void*, cudaFree>(memory);
  }
  /// A copy of `values` on the device.
  explicit DeviceBuffer(std::span<const T> values) : DeviceBuffer(values.size()) {
    if (!values.empty()) {
      SPLITWAVE_CUDA_CHECK(cudaMemcpy(get(), values.data(), values.size_bytes(), cudaMemcpyHostToDevice));
      finish();
    }
  }
  T* get() const { return static_cast<T*>(memory_.get()); }
  std::size_t size() const { return count_; }
  void fill_bytes(int byte) {
    if (count_ == 0) return;
    SPLITWAVE_CUDA_CHECK(cudaMemset(get(), byte, count_ * sizeof(T)));
    finish();
  }
  void download(std::span<T> to) const {
    if (!to.empty()) SPLITWAVE_CUDA_CHECK(cudaMemcpy(to.data(), get(), to.size_bytes(), cudaMemcpyDeviceToHost));
  }

 private:
  /// The default stream may still be at work when a fill or a copy of pageable memory returns, and the streams of the
  /// decoders do not wait for it.
  static void finish() { SPLITWAVE_CUDA_CHECK(cudaStreamSynchronize(nullptr)); }

  Owned<void*, cudaFree> memory_;
  std::size_t count_ = 0;
};

/// Page-locked host memory, so that copies from it do not wait for the host.
template <class T>
class PinnedBuffer {
 public:
  PinnedBuffer() = default;
  explicit PinnedBuffer(std::size_t count) : count_(count) {
    void* memory = nullptr;
    if (count > 0) SPLITWAVE_CUDA_CHECK(cudaMallocHost(&memory, count * sizeof(T)));
    memory_ = Owned<void*, cudaFreeHost>(memory);
  }
  std::span<T> span() const { return {static_cast<T*>(memory_.get()), count_}; }

 private:
  Owned<void*, cudaFreeHost> memory_;
  std::size_t count_ = 0;
};

}  // namespace splitwave::gpu
