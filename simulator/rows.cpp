// SPDX-License-Identifier: Apache-2.0
#include "simulator/rows.h"

#include <cstddef>
#include <span>

namespace splitwave::simulator {

using schedules::Item;
using schedules::OutputTile;
using schedules::Plan;
using workloads::Workload;

namespace {

/// Whether two lists of one item read the same tokens of one request by different KV heads.
bool share_rows(const Workload& workload, const Plan& plan, std::int32_t list, std::int32_t other) {
  const std::span<const Item> one = plan.list(list);
  const std::span<const Item> two = plan.list(other);
  if (one.size() != 1 || two.size() != 1) return false;
  const Item& a = one.front();
  const Item& b = two.front();
  const OutputTile& output = plan.outputs[static_cast<std::size_t>(a.output)];
  const OutputTile& beside = plan.outputs[static_cast<std::size_t>(b.output)];
  return a.kv_begin == b.kv_begin && a.kv_end == b.kv_end && output.request == beside.request &&
         schedules::kv_head(workload, output) != schedules::kv_head(workload, beside);
}

/// How far behind its list number 0 a plan has the first that shares rows with it; 1 if none does.
std::int32_t distance_of_sharers(const Workload& workload, const Plan& plan) {
  for (std::int32_t other = 1; other < plan.lists(); ++other) {
    if (share_rows(workload, plan, 0, other)) return other;
  }
  return 1;
}

}  // namespace

double row_share(const Workload& workload, const Machine& machine) {
  const workloads::Geometry& g = workload.geometry;
  const bool contiguous = g.kv_heads == 1 || workload.kv.layout == workloads::KvLayout::bhsd;
  if (machine.row_shares.empty() || contiguous) return 1;
  const std::int64_t bytes = std::int64_t{g.head_dim} * workloads::bytes_per_element(g.dtype);
  std::size_t i = 0;
  for (std::int64_t row = 256; row <= bytes; row *= 2) ++i;
  return i < machine.row_shares.size() ? machine.row_shares[i] : 1;
}

double together_share(const Streaming& streaming, double list_bytes) {
  const double apart = streaming.drift * list_bytes;
  return apart > streaming.bytes_in_flight ? streaming.bytes_in_flight / apart : 1;
}

double in_step_share(const Workload& workload, const Plan& plan, const Streaming& streaming) {
  const std::int32_t lists = plan.lists();
  const std::int32_t distance = lists <= streaming.resident ? distance_of_sharers(workload, plan) : 1;
  std::int32_t in_step = 0;
  for (std::int32_t list = 0; list < lists; ++list) {
    const bool next = list + distance < lists && share_rows(workload, plan, list, list + distance);
    if (next || (list >= distance && share_rows(workload, plan, list - distance, list))) ++in_step;
  }
  if (in_step == 0) return 0;
  std::int64_t tokens = 0;
  for (const Item& item : plan.items) tokens += item.tokens();
  return together_share(streaming, static_cast<double>(tokens) * streaming.bytes_per_token / lists) * in_step / lists;
}

}  // namespace splitwave::simulator
