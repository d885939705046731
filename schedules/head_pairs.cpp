// SPDX-License-Identifier: Apache-2.0
#include "schedules/head_pairs.h"

#include <algorithm>
#include <cstddef>

namespace splitwave::schedules {

using workloads::Workload;

bool has_head_pairs(const Workload& workload) {
  const workloads::Geometry& g = workload.geometry;
  return g.kind != workloads::AttentionKind::mla && g.head_dim == g.value_dim && g.kv_heads % kHeadsOfPair == 0 &&
         workload.kv.layout != workloads::KvLayout::bhsd && workloads::max_query_len(workload) == 1;
}

Workload with_head_pairs(const Workload& workload) {
  Workload result = workload;
  workloads::Geometry& g = result.geometry;
  g.softmax_scale = g.scale();
  g.kv_heads /= kHeadsOfPair;
  g.head_dim *= kHeadsOfPair;
  g.value_dim *= kHeadsOfPair;
  g.kind = g.kv_heads == 1 ? workloads::AttentionKind::mqa : workloads::AttentionKind::gqa;
  return result;
}

namespace {

/// Makes the outputs of the pairs. False if they are not side by side.
bool pair_outputs(const Workload& workload, const Plan& plan, Plan& result) {
  const std::int32_t group = workload.geometry.group();
  if (plan.outputs.size() % kHeadsOfPair != 0) return false;
  for (std::size_t i = 0; i < plan.outputs.size(); i += kHeadsOfPair) {
    OutputTile tile = plan.outputs[i];
    const OutputTile& other = plan.outputs[i + 1];
    const bool whole = tile.head_count == group && tile.row_begin == 0 && tile.row_end == group &&
                       tile.head_begin % (kHeadsOfPair * group) == 0;
    OutputTile expected = tile;
    expected.head_begin += group;
    if (!whole || other != expected) return false;
    tile.head_count *= kHeadsOfPair;
    tile.row_end *= kHeadsOfPair;
    result.outputs.push_back(tile);
  }
  return true;
}

/// Makes the merges of the pairs, whose partial results are half as many. False if the heads of a pair have different
/// numbers of them, or not one after the other.
bool pair_merges(const Plan& plan, Plan& result) {
  if (plan.merges.size() % kHeadsOfPair != 0) return false;
  for (std::size_t i = 0; i < plan.merges.size(); i += kHeadsOfPair) {
    const Merge& one = plan.merges[i];
    const Merge& other = plan.merges[i + 1];
    const std::int32_t slots = result.slots();
    const std::int32_t parts = one.slot_end - one.slot_begin;
    if (one.output % kHeadsOfPair != 0 || one.slot_begin != kHeadsOfPair * slots) return false;
    if (other != Merge{one.output + 1, one.slot_end, one.slot_end + parts}) return false;
    result.merges.push_back({one.output / kHeadsOfPair, slots, slots + parts});
  }
  return true;
}

}  // namespace

std::optional<HeadPairs> head_pairs(const Workload& workload, const Plan& plan) {
  const auto lists = static_cast<std::size_t>(plan.lists());
  if (plan.dispatch == Dispatch::queue || lists != plan.items.size() || !has_head_pairs(workload)) return std::nullopt;
  HeadPairs result{with_head_pairs(workload), plan, {}};
  Plan& pairs = result.plan;
  pairs.outputs.clear();
  pairs.items.clear();
  pairs.merges.clear();
  pairs.cta_begin = {0};
  if (!pair_outputs(workload, plan, pairs) || !pair_merges(plan, pairs)) return std::nullopt;
  std::vector<std::int32_t> first_slot(plan.outputs.size(), 0);
  for (const Merge& merge : plan.merges) first_slot[static_cast<std::size_t>(merge.output)] = merge.slot_begin;
  const auto part_of = [&](const Item& item) {
    return item.slot < 0 ? -1 : item.slot - first_slot[static_cast<std::size_t>(item.output)];
  };
  std::size_t second = 0;  // index of the next item of a pair's second head
  for (std::size_t i = 0; i < lists; ++i) {
    if (plan.cta_begin[i] != static_cast<std::int32_t>(i)) return std::nullopt;
    const Item& item = plan.items[i];
    if (item.output % kHeadsOfPair != 0) continue;
    while (second < lists && plan.items[second].output % kHeadsOfPair == 0) ++second;
    if (second == lists) return std::nullopt;
    const Item& other = plan.items[second++];
    const bool alike = other.output == item.output + 1 && other.kv_begin == item.kv_begin &&
                       other.kv_end == item.kv_end && part_of(other) == part_of(item);
    if (!alike) return std::nullopt;
    const std::int32_t first = first_slot[static_cast<std::size_t>(item.output)] / kHeadsOfPair;
    const std::int32_t slot = item.slot < 0 ? -1 : first + part_of(item);
    pairs.items.push_back({item.output / kHeadsOfPair, item.kv_begin, item.kv_end, slot});
    pairs.cta_begin.push_back(static_cast<std::int32_t>(pairs.items.size()));
    result.first_item.push_back(static_cast<std::int32_t>(i));
  }
  if (kHeadsOfPair * pairs.items.size() != lists) return std::nullopt;
  return result;
}

}  // namespace splitwave::schedules
