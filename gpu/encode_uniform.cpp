// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "gpu/encode.h"

namespace splitwave::gpu {

using schedules::Item;
using schedules::OutputTile;
using schedules::Plan;
using workloads::Workload;

namespace {

constexpr std::int32_t kMostGridYZ = 65535;

/// All requests alike, one query each, with K and V at equal distances.
bool requests_alike(const Workload& workload, const KvAddressing& addressing, UniformPlan& plan) {
  const bool paged = addressing.page_size > 0;
  const std::vector<std::int64_t>& offset = paged ? addressing.first_page : addressing.request_offset;
  const std::size_t requests = workload.requests.size();
  if (requests == 0 || requests > kMostGridYZ || offset[0] != 0) return false;
  const std::int64_t stride = requests > 1 ? offset[1] : 0;
  for (std::size_t r = 0; r < requests; ++r) {
    if (workload.requests[r] != workload.requests[0] || workload.requests[r].query_len != 1) return false;
    if (offset[r] != static_cast<std::int64_t>(r) * stride) return false;
    if (!paged && addressing.head_stride[r] != addressing.head_stride[0]) return false;
  }
  const std::int64_t unit = paged ? 1 : 8;
  const std::int64_t head_stride = paged ? 0 : addressing.head_stride[0];
  const std::int64_t most = std::int64_t{0xffffffff} * unit;
  if (stride * static_cast<std::int64_t>(requests) > most || head_stride * workload.geometry.kv_heads > most) {
    return false;
  }
  plan.request_stride = static_cast<std::uint32_t>(stride / unit);
  plan.head_stride = static_cast<std::uint32_t>(head_stride / unit);
  return true;
}

/// What all cuts have in common, from the first output's items.
void read_range(const Plan& plan, std::int32_t parts, UniformPlan& uniform) {
  uniform.parts = parts;
  uniform.tile_kv = plan.tile_kv;
  uniform.kv_begin = plan.items[0].kv_begin;
  uniform.kv_end = plan.items[static_cast<std::size_t>(parts) - 1].kv_end;
  uniform.first_tile = uniform.kv_begin / plan.tile_kv;
}

/// Parts of equal size, of which the last ones may be cut short or empty.
void read_equal_cuts(const Plan& plan, UniformPlan& uniform) {
  const std::int32_t first_cut = uniform.parts > 1 ? plan.items[1].kv_begin : uniform.kv_end;
  uniform.tiles_per_part = (first_cut + plan.tile_kv - 1) / plan.tile_kv - uniform.first_tile;
  uniform.longer_parts = 0;
}

/// Some parts of one tile more than the others, then the others.
void read_even_cuts(const Plan& plan, UniformPlan& uniform) {
  const auto size = [&](std::int32_t part) {
    const Item& item = plan.items[static_cast<std::size_t>(part)];
    return (item.kv_end + plan.tile_kv - 1) / plan.tile_kv - item.kv_begin / plan.tile_kv;
  };
  std::int32_t longer = 0;
  while (longer < uniform.parts && size(longer) == size(0)) ++longer;
  uniform.tiles_per_part = size(0) - 1;
  uniform.longer_parts = longer;
}

/// What the kernel computes for (part, tile of the request, request): decode.cuh, uniform_item.
Item expected_item(const UniformPlan& plan, std::int32_t output, std::int32_t part) {
  const std::int32_t begin = part * plan.tiles_per_part + std::min(part, plan.longer_parts);
  const std::int32_t end = begin + plan.tiles_per_part + (part < plan.longer_parts ? 1 : 0);
  Item item;
  item.output = output;
  item.kv_begin = part == 0 ? plan.kv_begin : std::min(plan.kv_end, (plan.first_tile + begin) * plan.tile_kv);
  item.kv_end = part == plan.parts - 1 ? plan.kv_end : std::min(plan.kv_end, (plan.first_tile + end) * plan.tile_kv);
  item.slot = plan.parts == 1 ? -1 : output * plan.parts + part;
  return item;
}

/// True if list i holds what CTA i of the uniform grid computes, for every i. Lists behind these have nothing to do:
/// they need no CTA.
bool matches(const Plan& plan, const UniformPlan& uniform) {
  const auto requests = static_cast<std::int32_t>(plan.outputs.size()) / uniform.tiles_per_request;
  for (std::size_t i = 0; i < plan.items.size(); ++i) {
    const auto index = static_cast<std::int32_t>(i);
    const std::int32_t place = index / uniform.parts;
    const std::int32_t output =
        uniform.requests_fastest != 0 ? place % requests * uniform.tiles_per_request + place / requests : place;
    if (plan.cta_begin[i] != index) return false;
    if (plan.items[i] != expected_item(uniform, output, index % uniform.parts)) return false;
  }
  return true;
}

}  // namespace

std::optional<UniformPlan> as_uniform(const Workload& workload, const KvAddressing& addressing, const Plan& plan) {
  UniformPlan uniform;
  const auto lists = static_cast<std::size_t>(plan.lists());
  if (plan.dispatch == schedules::Dispatch::queue || plan.items.empty() || lists < plan.items.size()) return {};
  if (plan.outputs.empty() || plan.items.size() % plan.outputs.size() != 0) return {};
  if (static_cast<std::int64_t>(plan.items.size() / plan.outputs.size()) > kMost16) return {};
  if (plan.outputs[0].head_count > kMost16) return {};
  if (plan.outputs.size() % std::max<std::size_t>(1, workload.requests.size()) != 0) return {};
  if (!requests_alike(workload, addressing, uniform)) return {};
  const auto tiles = static_cast<std::int32_t>(plan.outputs.size() / workload.requests.size());
  if (tiles > kMostGridYZ || tiles % workload.geometry.kv_heads != 0) return {};
  uniform.tiles_per_request = tiles;
  uniform.tiles_per_kv_head = tiles / workload.geometry.kv_heads;
  uniform.head_count = static_cast<std::uint32_t>(plan.outputs[0].head_count);
  for (std::size_t i = 0; i < plan.outputs.size(); ++i) {
    const auto index = static_cast<std::int32_t>(i);
    OutputTile expected;
    expected.request = index / tiles;
    expected.head_count = plan.outputs[0].head_count;
    expected.head_begin = index % tiles * expected.head_count;
    expected.row_end = expected.head_count;
    if (plan.outputs[i] != expected) return {};
  }
  read_range(plan, static_cast<std::int32_t>(plan.items.size() / plan.outputs.size()), uniform);
  for (const auto read : {read_equal_cuts, read_even_cuts}) {
    read(plan, uniform);
    for (const std::int32_t requests_fastest : {0, 1}) {
      uniform.requests_fastest = requests_fastest;
      if (matches(plan, uniform)) return uniform;
    }
  }
  return {};
}

}  // namespace splitwave::gpu
