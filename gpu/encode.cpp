// SPDX-License-Identifier: Apache-2.0
#include "gpu/encode.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/error.h"

namespace splitwave::gpu {

using schedules::Item;
using schedules::OutputTile;
using schedules::Plan;
using workloads::Workload;

namespace {

std::int64_t checked(std::int64_t value, std::int64_t most, const char* what) {
  if (value < 0 || value > most) {
    throw base::InputError(fmt::format("plan: {} is {}; the CUDA kernels allow at most {}", what, value, most));
  }
  return value;
}

/// True if rows of the tile see different KV ranges. Divides only where it must: tiles are many.
bool rows_differ(const Workload& workload, const workloads::Request& request, const OutputTile& tile) {
  const workloads::Geometry& g = workload.geometry;
  if (request.query_len == 1 || (!g.causal && !g.window.has_value())) return false;
  return tile.row_begin / tile.head_count != (tile.row_end - 1) / tile.head_count;
}

std::uint32_t kv_base(const KvAddressing& addressing, std::int32_t request, std::int32_t kv_head) {
  const auto r = static_cast<std::size_t>(request);
  if (addressing.page_size > 0) {
    return static_cast<std::uint32_t>(
        checked(addressing.first_page[r], std::numeric_limits<std::uint32_t>::max(), "the block table's length"));
  }
  const std::int64_t offset = addressing.request_offset[r] + kv_head * addressing.head_stride[r];
  return static_cast<std::uint32_t>(
      checked(offset / 8, std::numeric_limits<std::uint32_t>::max(), "the offset of a KV row in units of 16 bytes"));
}

/// An item that does nothing: no rows, no positions.
DeviceItem idle_item() {
  DeviceItem item{};
  item.head_count = 1;
  item.parts = 1;
  item.pieces = 1;
  item.next = -1;
  return item;
}

}  // namespace

std::int32_t merge_warps_shift(std::int32_t parts) {
  std::int32_t shift = 0;
  while ((1 << shift) < kMostMergeWarps && parts > kPartsPerMergeWarp << shift) ++shift;
  return shift;
}

PlanSize size_of(const Plan& plan) {
  PlanSize size;
  size.lists = plan.lists();
  size.merges = static_cast<std::int64_t>(plan.merges.size());
  size.slots = plan.slots();
  for (const OutputTile& tile : plan.outputs) size.most_rows = std::max(size.most_rows, tile.rows());
  return size;
}

void Encoder::encode_outputs(const Workload& workload, const KvAddressing& addressing, const Plan& plan) {
  first_query_.assign(1, 0);
  for (const workloads::Request& request : workload.requests) {
    first_query_.push_back(first_query_.back() + request.query_len);
  }
  outputs_.resize(plan.outputs.size());
  const std::int32_t group = workload.geometry.group();
  for (std::size_t i = 0; i < plan.outputs.size(); ++i) {
    const OutputTile& tile = plan.outputs[i];
    const workloads::Request& request = workload.requests[static_cast<std::size_t>(tile.request)];
    const std::int32_t head = tile.head_begin / group;
    DeviceItem& item = outputs_[i];
    item = {};
    item.kv_base = kv_base(addressing, tile.request, head);
    item.kv_head = static_cast<std::uint16_t>(checked(head, kMost16, "a KV head"));
    item.head_count = static_cast<std::uint16_t>(checked(tile.head_count, kMost16, "a tile's heads"));
    item.query_row =
        first_query_[static_cast<std::size_t>(tile.request)] * workload.geometry.query_heads + tile.head_begin;
    item.row_begin = static_cast<std::uint16_t>(checked(tile.row_begin, kMost16, "a tile's first row"));
    item.rows = static_cast<std::uint16_t>(checked(tile.rows(), kMost16, "a tile's number of rows"));
    item.slot_begin = 0;
    item.parts = 1;
    item.next = -1;
    item.first_position = request.context_len - request.query_len;
    item.masked = rows_differ(workload, request, tile) ? 1 : 0;
  }
  for (const schedules::Merge& merge : plan.merges) {
    DeviceItem& item = outputs_[static_cast<std::size_t>(merge.output)];
    item.slot_begin = merge.slot_begin;
    item.parts =
        static_cast<std::uint16_t>(checked(merge.slot_end - merge.slot_begin, kMost16, "an output's number of parts"));
  }
  if (plan.merge != schedules::MergeKind::host_cta) return;
  schedules::find_closing_parts(plan, closing_parts_);
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    outputs_[i].mergers = static_cast<std::uint16_t>(std::max(1, closing_parts_[i]));  // no more than parts
  }
}

void Encoder::encode_merges(const Plan& plan, std::int32_t most_warps_shift, std::span<DeviceMerge> merges) const {
  std::fill(merges.begin(), merges.end(), DeviceMerge{});
  for (std::size_t i = 0; i < plan.merges.size() && i < merges.size(); ++i) {
    const DeviceItem& output = outputs_[static_cast<std::size_t>(plan.merges[i].output)];
    merges[i] = {output.slot_begin,
                 output.parts,
                 output.query_row,
                 output.row_begin,
                 output.rows,
                 output.head_count,
                 std::min(most_warps_shift, merge_warps_shift(output.parts)),
                 {}};
  }
}

std::int64_t Encoder::encode(const Workload& workload, const KvAddressing& addressing, const Plan& plan,
                             const ListShape& shape, std::int32_t spare_lists, std::int32_t most_warps_shift,
                             std::span<DeviceItem> items, std::span<DeviceMerge> merges) {
  encode_outputs(workload, addressing, plan);
  encode_merges(plan, most_warps_shift, merges);
  if (items.empty()) return 0;
  const std::int32_t firsts = std::max(plan.lists(), spare_lists) * shape.warps;
  std::fill_n(items.begin(), firsts, idle_item());
  for (const TableEntry& entry : order_.order(plan, shape, spare_lists)) {
    const Item& item = plan.items[static_cast<std::size_t>(entry.item)];
    DeviceItem& to = items[static_cast<std::size_t>(entry.at)];
    to = outputs_[static_cast<std::size_t>(item.output)];
    to.kv_begin = entry.kv_begin;
    to.kv_end = entry.kv_end;
    to.part = static_cast<std::uint16_t>(item.slot < 0 ? 0 : item.slot - to.slot_begin);
    to.next = entry.next;
    to.piece = static_cast<std::uint8_t>(entry.piece);
    to.pieces = static_cast<std::uint8_t>(entry.pieces);
  }
  return order_.places();
}

}  // namespace splitwave::gpu
