// SPDX-License-Identifier: Apache-2.0
#include "workloads/sample.h"

#include <set>

#include "workloads/random.h"

namespace splitwave::workloads {
namespace {

constexpr std::uint64_t kSample = 0x73616d706c65;  // purpose of the random stream

}  // namespace

std::vector<KvGroup> sample_groups(const Workload& workload, std::int64_t count) {
  const std::int64_t heads = workload.geometry.kv_heads;
  const std::int64_t all = static_cast<std::int64_t>(workload.requests.size()) * heads;
  std::set<std::int64_t> chosen;
  if (count >= all) {
    for (std::int64_t group = 0; group < all; ++group) chosen.insert(group);
  } else {
    chosen.insert(all - 1);
    // Floyd's: each step adds one that is not there yet.
    RandomStream random(workload.seed, kSample);
    for (std::int64_t most = all - count; most < all - 1; ++most) {
      const auto group = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(most) + 1));
      chosen.insert(chosen.contains(group) ? most : group);
    }
  }
  std::vector<KvGroup> groups;
  for (const std::int64_t group : chosen) {
    groups.push_back({static_cast<std::int32_t>(group / heads), static_cast<std::int32_t>(group % heads)});
  }
  return groups;
}

Workload sampled_workload(const Workload& workload, std::span<const KvGroup> groups) {
  Workload sample = workload;
  Geometry& g = sample.geometry;
  g.query_heads = workload.geometry.group();
  g.kv_heads = 1;
  if (g.kind != AttentionKind::mla) g.kind = g.query_heads == 1 ? AttentionKind::mha : AttentionKind::mqa;
  sample.requests.clear();
  for (const KvGroup& group : groups) {
    sample.requests.push_back(workload.requests[static_cast<std::size_t>(group.request)]);
  }
  return sample;
}

}  // namespace splitwave::workloads
