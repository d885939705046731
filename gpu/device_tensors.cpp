// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "gpu/buffer.h"
#include "gpu/decode.h"
#include "gpu/device.h"
#include "gpu/kernels/utilities.h"
#include "workloads/tensor_values.h"
#include "workloads/tensors.h"

namespace splitwave::gpu {

using workloads::Workload;

namespace {

std::int64_t query_tokens(const Workload& workload) {
  std::int64_t count = 0;
  for (const workloads::Request& request : workload.requests) count += request.query_len;
  return count;
}

std::int64_t query_rows(const Workload& workload) {
  return query_tokens(workload) * workload.geometry.query_heads;
}

/// MLA has none: its values are what keys begin with.
bool has_values(const Workload& workload) {
  return workload.geometry.kind != workloads::AttentionKind::mla;
}

template <class Count>
std::vector<std::int64_t> prefix_sum(const Workload& workload, Count count) {
  std::vector<std::int64_t> sum = {0};
  for (const workloads::Request& request : workload.requests) sum.push_back(sum.back() + count(request));
  return sum;
}

void launch_fill(FillParams params) {
  if (params.token_count == 0) return;
  void* arguments[] = {&params};
  SPLITWAVE_CUDA_CHECK(cudaLaunchKernel(fill_kernel_function(), dim3(2048), dim3(256), arguments, 0, nullptr));
  SPLITWAVE_CUDA_CHECK(cudaGetLastError());
}

}  // namespace

struct DeviceTensors::State {
  Workload workload;
  KvAddressing addressing;
  std::vector<std::int32_t> host_table;
  DeviceBuffer<std::uint16_t> q;
  std::vector<DeviceBuffer<std::uint16_t>> k;
  std::vector<DeviceBuffer<std::uint16_t>> v;
  DeviceBuffer<std::int32_t> block_table;
  DeviceBuffer<std::uint16_t> output;
  DeviceBuffer<float> lse;

  explicit State(const Workload& w)
      : workload(w),
        addressing(dense_addressing(w)),
        q(static_cast<std::size_t>(query_rows(w) * w.geometry.head_dim)),
        output(static_cast<std::size_t>(query_rows(w) * w.geometry.value_dim)),
        lse(static_cast<std::size_t>(query_rows(w))) {}

  void add_copy() {
    const auto elements = static_cast<std::size_t>(dense_elements(workload));
    k.emplace_back(elements);
    v.emplace_back(has_values(workload) ? elements : 0);
  }

  void fill_queries(const FillParams& common);
  void fill_keys_and_values(const FillParams& common);
};

void DeviceTensors::State::fill_queries(const FillParams& common) {
  const std::int64_t row = workload.geometry.head_dim;
  const std::int64_t token_stride = row * workload.geometry.query_heads;
  const std::vector<std::int64_t> first =
      prefix_sum(workload, [](const workloads::Request& r) { return static_cast<std::int64_t>(r.query_len); });
  std::vector<std::int64_t> offset;
  for (const std::int64_t token : first) offset.push_back(token * token_stride);
  const std::vector<std::int64_t> head_stride(first.size(), row);
  const DeviceBuffer<std::int64_t> device_first{std::span<const std::int64_t>(first)};
  const DeviceBuffer<std::int64_t> device_offset{std::span<const std::int64_t>(offset)};
  const DeviceBuffer<std::int64_t> device_stride{std::span<const std::int64_t>(head_stride)};
  FillParams params = common;
  params.data = q.get();
  params.token_count = first.back();
  params.first_token = device_first.get();
  params.request_offset = device_offset.get();
  params.head_stride = device_stride.get();
  params.token_stride = token_stride;
  params.heads = workload.geometry.query_heads;
  params.tensor = static_cast<std::uint32_t>(workloads::Tensor::q);
  launch_fill(params);
  SPLITWAVE_CUDA_CHECK(cudaDeviceSynchronize());
}

void DeviceTensors::State::fill_keys_and_values(const FillParams& common) {
  const std::vector<std::int64_t> first =
      prefix_sum(workload, [](const workloads::Request& r) { return static_cast<std::int64_t>(r.context_len); });
  const DeviceBuffer<std::int64_t> device_first{std::span<const std::int64_t>(first)};
  const DeviceBuffer<std::int64_t> device_offset{std::span<const std::int64_t>(addressing.request_offset)};
  const DeviceBuffer<std::int64_t> device_stride{std::span<const std::int64_t>(addressing.head_stride)};
  std::vector<std::int32_t> owner;
  FillParams params = common;
  params.token_count = first.back();
  if (addressing.page_size > 0) {
    owner.resize(2 * host_table.size());
    for (std::size_t r = 0; r < workload.requests.size(); ++r) {
      for (std::int64_t page = addressing.first_page[r]; page < addressing.first_page[r + 1]; ++page) {
        const auto physical = static_cast<std::size_t>(host_table[static_cast<std::size_t>(page)]);
        owner[2 * physical] = static_cast<std::int32_t>(r);
        owner[2 * physical + 1] = static_cast<std::int32_t>(page - addressing.first_page[r]);
      }
    }
    params.token_count = static_cast<std::int64_t>(host_table.size()) * addressing.page_size;
  }
  const DeviceBuffer<std::int32_t> device_owner{std::span<const std::int32_t>(owner)};
  params.page_owner = device_owner.get();
  params.page_size = addressing.page_size;
  params.first_token = device_first.get();
  params.request_offset = device_offset.get();
  params.head_stride = device_stride.get();
  params.token_stride = addressing.token_stride;
  params.heads = workload.geometry.kv_heads;
  params.data = k[0].get();
  params.tensor = static_cast<std::uint32_t>(workloads::Tensor::k);
  launch_fill(params);
  if (has_values(workload)) {
    params.data = v[0].get();
    params.tensor = static_cast<std::uint32_t>(workloads::Tensor::v);
    launch_fill(params);
  }
  SPLITWAVE_CUDA_CHECK(cudaDeviceSynchronize());
}

DeviceTensors::DeviceTensors(std::unique_ptr<State> state) : state_(std::move(state)) {}
DeviceTensors::~DeviceTensors() = default;
DeviceTensors::DeviceTensors(DeviceTensors&&) noexcept = default;
DeviceTensors& DeviceTensors::operator=(DeviceTensors&&) noexcept = default;

DeviceTensors DeviceTensors::upload(const Workload& workload, const workloads::Tensors& tensors) {
  static_cast<void>(kernel_configs(workload));  // refuses what no kernel takes
  auto state = std::make_unique<State>(workload);
  const auto copy = [&](DeviceBuffer<std::uint16_t>& to, const workloads::Bytes& from) {
    if (from.size() > to.size() * sizeof(std::uint16_t)) {
      throw base::InputError(fmt::format("workload {}: a tensor of {} bytes; allowed: {}", workload.name, from.size(),
                                         to.size() * sizeof(std::uint16_t)));
    }
    if (from.empty()) return;
    SPLITWAVE_CUDA_CHECK(cudaMemcpy(to.get(), from.data(), from.size(), cudaMemcpyHostToDevice));
  };
  state->add_copy();
  copy(state->q, tensors.q);
  copy(state->k[0], tensors.k);
  copy(state->v[0], tensors.v);
  state->host_table = tensors.block_table;
  state->block_table = DeviceBuffer<std::int32_t>(std::span<const std::int32_t>(tensors.block_table));
  SPLITWAVE_CUDA_CHECK(cudaDeviceSynchronize());
  return DeviceTensors(std::move(state));
}

DeviceTensors DeviceTensors::generate(const Workload& workload, std::int32_t copies) {
  static_cast<void>(kernel_configs(workload));
  const std::int64_t needed = device_bytes(workload, copies);
  const std::int64_t memory = current_device().memory_bytes;
  if (needed > memory) {
    throw base::InputError(
        fmt::format("workload {}: needs {} bytes of device memory; the device has {}", workload.name, needed, memory));
  }
  auto state = std::make_unique<State>(workload);
  if (state->addressing.page_size > 0) {
    state->host_table = workloads::page_order(workload, state->addressing.first_page.back());
    state->block_table = DeviceBuffer<std::int32_t>(std::span<const std::int32_t>(state->host_table));
  }
  FillParams common;
  common.requests = static_cast<std::int32_t>(workload.requests.size());
  common.width = workload.geometry.head_dim;
  common.seed = workload.seed;
  common.outliers = workload.distribution == workloads::Distribution::outliers ? 1 : 0;
  common.bf16 = workload.geometry.dtype == workloads::Dtype::bf16 ? 1 : 0;
  state->add_copy();
  state->fill_queries(common);
  state->fill_keys_and_values(common);
  for (std::int32_t i = 1; i < copies; ++i) {
    state->add_copy();
    const std::size_t bytes = state->k[0].size() * 2;
    SPLITWAVE_CUDA_CHECK(cudaMemcpy(state->k.back().get(), state->k[0].get(), bytes, cudaMemcpyDeviceToDevice));
    if (!has_values(workload)) continue;
    SPLITWAVE_CUDA_CHECK(cudaMemcpy(state->v.back().get(), state->v[0].get(), bytes, cudaMemcpyDeviceToDevice));
  }
  SPLITWAVE_CUDA_CHECK(cudaDeviceSynchronize());
  return DeviceTensors(std::move(state));
}

const KvAddressing& DeviceTensors::addressing() const {
  return state_->addressing;
}

std::int32_t DeviceTensors::copies() const {
  return static_cast<std::int32_t>(state_->k.size());
}

DevicePointers DeviceTensors::pointers(std::int32_t copy) const {
  const auto i = static_cast<std::size_t>(copy);
  return {state_->q.get(),           state_->k[i].get(),   state_->v[i].get(),
          state_->block_table.get(), state_->output.get(), state_->lse.get()};
}

void DeviceTensors::poison_outputs() {
  state_->output.fill_bytes(0xff);  // NaN in fp16, bf16 and fp32
  state_->lse.fill_bytes(0xff);
}

HostResult DeviceTensors::download() const {
  HostResult result;
  std::vector<std::uint16_t> bits(state_->output.size());
  state_->output.download(bits);
  result.output.reserve(bits.size());
  for (const std::uint16_t b : bits) {
    result.output.push_back(workloads::from_bits(state_->workload.geometry.dtype, b));
  }
  result.lse.resize(state_->lse.size());
  state_->lse.download(result.lse);
  return result;
}

workloads::Tensors DeviceTensors::download_tensors() const {
  workloads::Tensors tensors;
  const auto copy = [](workloads::Bytes& to, const DeviceBuffer<std::uint16_t>& from) {
    to.resize(from.size() * 2);
    if (!to.empty()) SPLITWAVE_CUDA_CHECK(cudaMemcpy(to.data(), from.get(), to.size(), cudaMemcpyDeviceToHost));
  };
  copy(tensors.q, state_->q);
  copy(tensors.k, state_->k[0]);
  copy(tensors.v, state_->v[0]);
  tensors.block_table = state_->host_table;
  return tensors;
}

std::int64_t device_bytes(const Workload& workload, std::int32_t copies) {
  const workloads::Geometry& g = workload.geometry;
  const std::int64_t arrays = has_values(workload) ? 2 : 1;
  return 2 * arrays * dense_elements(workload) * copies + query_rows(workload) * (2 * (g.head_dim + g.value_dim) + 4);
}

}  // namespace splitwave::gpu
