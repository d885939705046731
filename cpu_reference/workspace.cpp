// SPDX-License-Identifier: Apache-2.0
#include "cpu_reference/workspace.h"

#include <algorithm>
#include <limits>

namespace splitwave::cpu_reference {
namespace {

std::int32_t padded(std::int32_t elements) {
  return (elements + kPadElements - 1) / kPadElements * kPadElements;
}

std::vector<std::int64_t> slot_rows(const schedules::Plan& plan) {
  std::vector<std::int64_t> first{0};
  for (const schedules::Merge& merge : plan.merges) {
    const std::int32_t rows = plan.outputs[merge.output].rows();
    for (std::int32_t slot = merge.slot_begin; slot < merge.slot_end; ++slot) first.push_back(first.back() + rows);
  }
  return first;
}

std::vector<MergeRow> all_merge_rows(const schedules::Plan& plan) {
  std::vector<MergeRow> all;
  for (std::size_t merge = 0; merge < plan.merges.size(); ++merge) {
    const std::int32_t rows = plan.outputs[plan.merges[merge].output].rows();
    for (std::int32_t row = 0; row < rows; ++row) all.push_back({static_cast<std::int32_t>(merge), row});
  }
  return all;
}

}  // namespace

ThreadScratch::ThreadScratch(std::int32_t row_count, std::int32_t queries, const PaddedDims& dims,
                             std::int64_t padded_row_bytes)
    : q_rows(row_count),
      q(std::int64_t{row_count} * dims.head_dim),
      states(row_count, dims.value_dim),
      visible(queries),
      rows{},
      padded_rows{},
      padded_k(padded_row_bytes * kBlockTokens / std::int64_t{sizeof(float)}),
      padded_v(padded_row_bytes * kBlockTokens / std::int64_t{sizeof(float)}) {}

Workspace::Workspace(const workloads::Workload& workload, const schedules::Plan& plan, int thread_count, Isa isa)
    : kernel(tile_kernel(workload.geometry.dtype, isa)),
      dims{padded(workload.geometry.head_dim), padded(workload.geometry.value_dim)},
      slot_row(slot_rows(plan)),
      partials(slot_row.back(), dims.value_dim),
      merge_rows(all_merge_rows(plan)) {
  std::int32_t rows = 0;
  std::int32_t queries = 0;
  for (const schedules::OutputTile& output : plan.outputs) {
    rows = std::max(rows, output.rows());
    queries = std::max(queries, output.rows() / output.head_count + 2);
  }
  const bool pads = dims.head_dim != workload.geometry.head_dim || dims.value_dim != workload.geometry.value_dim;
  const std::int64_t padded_row_bytes =
      pads ? std::max(dims.head_dim, dims.value_dim) * workloads::bytes_per_element(workload.geometry.dtype) : 0;
  threads.reserve(thread_count);
  for (int i = 0; i < thread_count; ++i) threads.emplace_back(rows, queries, dims, padded_row_bytes);
}

void WorkspaceDeleter::operator()(Workspace* workspace) const {
  delete workspace;
}

void poison(Workspace& workspace) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  RowStates& partials = workspace.partials;
  const std::int64_t rows = static_cast<std::int64_t>(partials.max.size());
  std::fill(partials.max.begin(), partials.max.end(), kNan);
  std::fill(partials.weight.begin(), partials.weight.end(), kNan);
  std::fill_n(partials.sums.data(), rows * workspace.dims.value_dim, kNan);
}

WorkspacePtr make_workspace(const workloads::Workload& workload, const schedules::Plan& plan, int threads, Isa isa) {
  return WorkspacePtr(new Workspace(workload, plan, threads, isa));
}

}  // namespace splitwave::cpu_reference
