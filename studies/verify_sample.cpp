// SPDX-License-Identifier: Apache-2.0
#include "studies/verify_sample.h"

#include <fmt/format.h>

#include <cstring>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/memory.h"
#include "workloads/sample.h"

namespace splitwave::studies {
namespace {

using base::ArrayView;
using workloads::KvGroup;

/// Rows of the groups, one after another in the order of the sample's.
struct Rows {
  std::vector<std::byte> bytes;
  ArrayView view;
};

/// First query token of each request, and their number.
std::vector<std::int64_t> first_queries(const workloads::Workload& workload) {
  std::vector<std::int64_t> first = {0};
  for (const workloads::Request& request : workload.requests) first.push_back(first.back() + request.query_len);
  return first;
}

/// `row`: extents of what belongs to one query head.
Rows rows_of(const workloads::Workload& workload, const std::vector<KvGroup>& groups, const char* name,
             const ArrayView& whole, const std::vector<std::int64_t>& row) {
  const std::int64_t group = workload.geometry.group();
  const std::vector<std::int64_t> first = first_queries(workload);
  std::vector<std::int64_t> shape = {first.back(), workload.geometry.query_heads};
  shape.insert(shape.end(), row.begin(), row.end());
  if (whole.shape != shape) {
    throw base::InputError(
        fmt::format("{}: shape is {}; allowed: {}", name, base::shape_text(whole.shape), base::shape_text(shape)));
  }
  const std::int64_t head_bytes = (row.empty() ? 1 : row.front()) * base::bytes_per_element(whole.type);
  Rows rows;
  shape = {0, group};
  shape.insert(shape.end(), row.begin(), row.end());
  for (const KvGroup& one : groups) {
    const auto request = static_cast<std::size_t>(one.request);
    for (std::int64_t token = first[request]; token < first[request + 1]; ++token, ++shape[0]) {
      const std::int64_t head = token * workload.geometry.query_heads + one.kv_head * group;
      const std::byte* const from = whole.data + head * head_bytes;
      rows.bytes.insert(rows.bytes.end(), from, from + group * head_bytes);
    }
  }
  rows.view = base::c_order_view(rows.bytes.data(), whole.type, shape);
  return rows;
}

}  // namespace

cpu_reference::Verification verify_sample(const workloads::Workload& workload, const ArrayView& output,
                                          const std::optional<ArrayView>& lse, bool lse_base_two,
                                          const cpu_reference::VerifyOptions& options, std::int64_t groups) {
  const std::vector<KvGroup> chosen = workloads::sample_groups(workload, groups);
  const Rows outputs = rows_of(workload, chosen, "output", output, {workload.geometry.value_dim});
  std::optional<Rows> lses;
  if (lse) lses = rows_of(workload, chosen, "lse", *lse, {});
  const workloads::Tensors tensors = workloads::make_sampled_tensors(workload, chosen, base::available_memory_bytes());
  cpu_reference::Verification result =
      cpu_reference::verify(workloads::sampled_workload(workload, chosen), tensors, outputs.view,
                            lses ? std::optional(lses->view) : std::nullopt, lse_base_two, options);
  result.heads.clear();
  result.requests.clear();
  if (result.worst) {
    const KvGroup& group = chosen[static_cast<std::size_t>(result.worst->at.request)];
    result.worst->at.request = group.request;
    result.worst->at.head += group.kv_head * workload.geometry.group();
  }
  return result;
}

}  // namespace splitwave::studies
