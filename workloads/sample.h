// SPDX-License-Identifier: Apache-2.0
// Parts of a workload that can be computed alone, for workloads whose tensors no memory holds.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "workloads/tensors.h"
#include "workloads/workload.h"

namespace splitwave::workloads {

/// One KV head of one request: the rows that read it are computed from it alone.
struct KvGroup {
  std::int32_t request = 0;
  std::int32_t kv_head = 0;
  bool operator==(const KvGroup&) const = default;
  auto operator<=>(const KvGroup&) const = default;
};

/// `count` (1 or more) different groups, sorted; all of them where there are no more. The last one, which lies at the
/// largest offsets, is always among them, the others are drawn by the workload's seed. The workload must be valid.
std::vector<KvGroup> sample_groups(const Workload& workload, std::int64_t count);

/// The groups as a workload: request i is group i, of the one KV head. Names and all that is not counted in heads or
/// requests stay.
Workload sampled_workload(const Workload& workload, std::span<const KvGroup> groups);

/// The tensors of sampled_workload(workload, groups), each element what make_tensors(workload) has in its place of the
/// whole. Throws InputError as make_tensors() does, by the sample's size.
Tensors make_sampled_tensors(const Workload& workload, std::span<const KvGroup> groups,
                             std::int64_t memory_limit_bytes);

}  // namespace splitwave::workloads
