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

/// Numbers the pairs' partial results, and makes their merges. False if the heads of a pair have different numbers.
bool pair_merges(const Plan& plan, Plan& result, std::vector<std::int32_t>& first_slot) {
  if (plan.merges.size() % kHeadsOfPair != 0) return false;
  first_slot.assign(result.outputs.size(), 0);
  std::int32_t slots = 0;
  for (std::size_t i = 0; i < plan.merges.size(); i += kHeadsOfPair) {
    const Merge& one = plan.merges[i];
    const Merge& other = plan.merges[i + 1];
    const std::int32_t parts = one.slot_end - one.slot_begin;
    if (one.output % kHeadsOfPair != 0 || other.output != one.output + 1) return false;
    if (other.slot_end - other.slot_begin != parts) return false;
    const std::int32_t pair = one.output / kHeadsOfPair;
    first_slot[static_cast<std::size_t>(pair)] = slots;
    result.merges.push_back({pair, slots, slots + parts});
    slots += parts;
  }
  return true;
}

}  // namespace

std::optional<PairedPlan> with_head_pairs(const Workload& workload, const Plan& plan) {
  const auto lists = static_cast<std::size_t>(plan.lists());
  if (plan.dispatch == Dispatch::queue || lists != plan.items.size() || !has_head_pairs(workload)) return std::nullopt;
  PairedPlan result;
  Plan& paired = result.plan;
  paired.schedule = plan.schedule;
  paired.tile_q = plan.tile_q;
  paired.tile_kv = plan.tile_kv;
  paired.num_splits = plan.num_splits;
  paired.dispatch = plan.dispatch;
  paired.merge = plan.merge;
  paired.reason = plan.reason;
  std::vector<std::int32_t> first_slot;
  if (!pair_outputs(workload, plan, paired) || !pair_merges(plan, paired, first_slot)) return std::nullopt;
  std::vector<std::int32_t> own_slot(plan.outputs.size(), 0);
  for (const Merge& merge : plan.merges) own_slot[static_cast<std::size_t>(merge.output)] = merge.slot_begin;
  const auto part_of = [&](const Item& item) {
    return item.slot < 0 ? -1 : item.slot - own_slot[static_cast<std::size_t>(item.output)];
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
    const std::int32_t pair = item.output / kHeadsOfPair;
    const std::int32_t slot = item.slot < 0 ? -1 : first_slot[static_cast<std::size_t>(pair)] + part_of(item);
    paired.items.push_back({pair, item.kv_begin, item.kv_end, slot});
    paired.cta_begin.push_back(static_cast<std::int32_t>(paired.items.size()));
    result.first_item.push_back(static_cast<std::int32_t>(i));
  }
  if (kHeadsOfPair * paired.items.size() != lists) return std::nullopt;
  return result;
}

}  // namespace splitwave::schedules
