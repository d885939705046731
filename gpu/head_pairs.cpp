// SPDX-License-Identifier: Apache-2.0
#include "gpu/head_pairs.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/error.h"

namespace splitwave::gpu {

namespace {

bool side_by_side(const workloads::Geometry& geometry, const KvAddressing& addressing) {
  if (addressing.page_size > 0) return addressing.page_head_stride == geometry.head_dim;
  return std::all_of(addressing.head_stride.begin(), addressing.head_stride.end(),
                     [&](std::int64_t stride) { return stride == geometry.head_dim; });
}

}  // namespace

schedules::HeadPairs head_pairs(const workloads::Workload& workload, const schedules::Plan& plan,
                                const KernelConfig& config, KvAddressing& addressing) {
  std::optional<schedules::HeadPairs> pairs = schedules::head_pairs(workload, plan);
  if (!pairs || !side_by_side(workload.geometry, addressing)) {
    throw base::InputError(
        fmt::format("plan {}: kernel {} takes pairs of KV heads that lie side by side and are cut alike, one item of "
                    "single queries per list",
                    plan.schedule, to_string(config)));
  }
  for (std::int64_t& stride : addressing.head_stride) stride *= schedules::kHeadsOfPair;
  addressing.page_head_stride *= schedules::kHeadsOfPair;
  return std::move(*pairs);
}

}  // namespace splitwave::gpu
