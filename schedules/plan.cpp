// SPDX-License-Identifier: Apache-2.0
#include "schedules/plan.h"

#include <algorithm>

namespace splitwave::schedules {

workloads::KvRange kv_range(const workloads::Workload& workload, const OutputTile& output) {
  if (output.rows() <= 0) return {};
  const workloads::Request& request = workload.requests[static_cast<std::size_t>(output.request)];
  return workloads::visible_to_queries(workload.geometry, request, output.row_begin / output.head_count,
                                       (output.row_end - 1) / output.head_count + 1);
}

std::int32_t kv_head(const workloads::Workload& workload, const OutputTile& output) {
  return output.head_begin / workload.geometry.group();
}

void find_closing_parts(const Plan& plan, std::vector<std::int32_t>& per_output) {
  // First the slot of the first part that has a part of another output behind it.
  per_output.assign(plan.outputs.size(), plan.slots());
  for (std::int32_t list = 0; list < plan.lists(); ++list) {
    const std::span<const Item> items = plan.list(list);
    for (std::size_t i = 0; i + 1 < items.size(); ++i) {
      std::int32_t& first = per_output[static_cast<std::size_t>(items[i].output)];
      if (items[i].slot >= 0) first = std::min(first, items[i].slot);
    }
  }
  for (const Merge& merge : plan.merges) {
    std::int32_t& count = per_output[static_cast<std::size_t>(merge.output)];
    count = std::min(count, merge.slot_end) - merge.slot_begin;
  }
}

std::vector<std::int32_t> splits_per_request(const workloads::Workload& workload, const Plan& plan) {
  std::vector<std::int32_t> items_of(plan.outputs.size(), 0);
  for (const Item& item : plan.items) ++items_of[static_cast<std::size_t>(item.output)];
  std::vector<std::int32_t> splits(workload.requests.size(), 0);
  for (std::size_t output = 0; output < plan.outputs.size(); ++output) {
    std::int32_t& most = splits[static_cast<std::size_t>(plan.outputs[output].request)];
    most = std::max(most, items_of[output]);
  }
  return splits;
}

std::int64_t tiles(const Plan& plan, const Item& item) {
  if (item.tokens() <= 0) return 0;
  // Tiles lie on multiples of tile_kv; a range that begins inside one still touches it (sliding windows).
  const std::int64_t first = item.kv_begin / plan.tile_kv;
  const std::int64_t last = (item.kv_end - 1) / plan.tile_kv;
  return last - first + 1;
}

std::string to_string(Dispatch dispatch) {
  switch (dispatch) {
    case Dispatch::hardware:
      return "hardware";
    case Dispatch::fixed:
      return "fixed";
    case Dispatch::queue:
      return "queue";
  }
  return "";
}

std::string to_string(MergeKind merge) {
  switch (merge) {
    case MergeKind::none:
      return "none";
    case MergeKind::kernel:
      return "kernel";
    case MergeKind::host_cta:
      return "host_cta";
    case MergeKind::last_arriver:
      return "last_arriver";
  }
  return "";
}

std::string_view merge_order(MergeKind merge) {
  switch (merge) {
    case MergeKind::none:
      return "each output is the sum of one CTA";
    case MergeKind::kernel:
      return "a second kernel joins the parts of an output in the order of their tokens";
    case MergeKind::host_cta:
      return "the CTA with an output's first part waits for the others and joins them in the order of their tokens";
    case MergeKind::last_arriver:
      return "the CTA that ends last joins the parts of an output in the order of their tokens, whatever the order in "
             "which they arrived";
  }
  return "";
}

}  // namespace splitwave::schedules
