// SPDX-License-Identifier: Apache-2.0
#include "schedules/sample.h"

#include <map>
#include <vector>

namespace splitwave::schedules {
namespace {

constexpr std::int32_t kNone = -1;

/// The sample's outputs; new_output[o] is the place that output o of the whole plan has among them, or kNone.
std::vector<OutputTile> sampled_outputs(const workloads::Workload& workload, const Plan& plan,
                                        std::span<const workloads::KvGroup> groups,
                                        std::vector<std::int32_t>& new_output) {
  std::map<workloads::KvGroup, std::int32_t> request_of;
  for (const workloads::KvGroup& group : groups) {
    request_of.emplace(group, static_cast<std::int32_t>(request_of.size()));
  }
  std::vector<OutputTile> outputs;
  new_output.assign(plan.outputs.size(), kNone);
  for (std::size_t o = 0; o < plan.outputs.size(); ++o) {
    OutputTile tile = plan.outputs[o];
    const auto found = request_of.find({tile.request, kv_head(workload, tile)});
    if (found == request_of.end()) continue;
    new_output[o] = static_cast<std::int32_t>(outputs.size());
    tile.request = found->second;
    tile.head_begin %= workload.geometry.group();
    outputs.push_back(tile);
  }
  return outputs;
}

}  // namespace

Plan sampled_plan(const workloads::Workload& workload, const Plan& plan, std::span<const workloads::KvGroup> groups) {
  Plan sample = plan;
  sample.items.clear();
  sample.cta_begin = {0};
  sample.merges.clear();
  std::vector<std::int32_t> new_output;
  sample.outputs = sampled_outputs(workload, plan, groups, new_output);
  // Slots of an output stay side by side and in order, since its merge's are.
  std::map<std::int32_t, std::int32_t> slots_down;  // output of the whole plan -> by how much its slots move
  std::int32_t next_slot = 0;
  for (const Merge& merge : plan.merges) {
    const std::int32_t output = new_output[static_cast<std::size_t>(merge.output)];
    if (output == kNone) continue;
    const std::int32_t down = merge.slot_begin - next_slot;
    slots_down[merge.output] = down;
    sample.merges.push_back({output, next_slot, merge.slot_end - down});
    next_slot = merge.slot_end - down;
  }
  for (std::int32_t list = 0; list < plan.lists(); ++list) {
    for (Item item : plan.list(list)) {
      const std::int32_t output = new_output[static_cast<std::size_t>(item.output)];
      if (output == kNone) continue;
      if (item.slot >= 0) item.slot -= slots_down.at(item.output);
      item.output = output;
      sample.items.push_back(item);
    }
    const auto items = static_cast<std::int32_t>(sample.items.size());
    if (items > sample.cta_begin.back()) sample.cta_begin.push_back(items);
  }
  return sample;
}

}  // namespace splitwave::schedules
