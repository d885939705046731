// SPDX-License-Identifier: Apache-2.0
#include "simulator/work.h"

#include <algorithm>
#include <cstddef>
#include <unordered_map>

namespace splitwave::simulator {
namespace {

using schedules::Item;
using schedules::OutputTile;
using schedules::Plan;
using workloads::Workload;

/// True if no two outputs read the same K and V: every tile holds the whole group and all queries of its request.
bool reads_once(const Workload& workload, const Plan& plan) {
  const std::int32_t group = workload.geometry.group();
  return std::all_of(plan.outputs.begin(), plan.outputs.end(), [&](const OutputTile& output) {
    const workloads::Request& request = workload.requests[static_cast<std::size_t>(output.request)];
    return output.head_count == group && output.rows() == group * request.query_len;
  });
}

/// Share of the item's tokens that DRAM delivers: a range that another item read fewer than `window` lists ago, or at
/// any time if all of K and V fits in L2, comes from L2.
double unique_share(const Workload& workload, const Plan& plan, std::int64_t window) {
  struct Key {
    std::uint64_t head = 0;
    std::int32_t begin = 0;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const {
      return static_cast<std::size_t>((key.head * 0x9e3779b97f4a7c15ULL) ^
                                      (static_cast<std::uint64_t>(key.begin) * 0xbf58476d1ce4e5b9ULL));
    }
  };
  std::unordered_map<Key, std::int64_t, Hash> last_list;
  double total = 0;
  double from_dram = 0;
  for (std::int32_t list = 0; list < plan.lists(); ++list) {
    for (const Item& item : plan.list(list)) {
      const OutputTile& output = plan.outputs[static_cast<std::size_t>(item.output)];
      const auto head = static_cast<std::uint64_t>(output.request) << 32 |
                        static_cast<std::uint32_t>(schedules::kv_head(workload, output));
      const auto [found, fresh] = last_list.try_emplace(Key{head, item.kv_begin}, list);
      total += item.tokens();
      if (fresh || list - found->second >= window) from_dram += item.tokens();
      found->second = list;
    }
  }
  return total > 0 ? from_dram / total : 1;
}

double dram_share(const Workload& workload, const Plan& plan, const Machine& machine, L2State l2,
                  std::int32_t resident) {
  // A cyclic read of more than the cache keeps a part of it at best; below its capacity it keeps all.
  if (l2 == L2State::warm && workloads::kv_bytes(workload) <= machine.l2_bytes) return 0;
  if (machine.cpu || reads_once(workload, plan)) return 1;
  const bool fits = workloads::kv_bytes(workload) <= machine.l2_bytes;
  return unique_share(workload, plan, fits ? plan.lists() + 1 : resident);
}

}  // namespace

Work make_work(const Workload& workload, const Plan& plan, const Machine& machine, const Kernel& kernel,
               const SimulateOptions& options, std::int32_t resident) {
  Work work;
  work.bytes_per_token = static_cast<double>(workloads::kv_bytes_per_token(workload.geometry));
  std::vector<std::int32_t> heights;
  const bool mixed = std::any_of(plan.outputs.begin(), plan.outputs.end(), [&](const OutputTile& output) {
    return output.rows() != plan.outputs.front().rows();
  });
  if (mixed) work.cost_of_output.reserve(plan.outputs.size());
  for (const OutputTile& output : plan.outputs) {
    auto found = std::find(heights.begin(), heights.end(), output.rows());
    if (found == heights.end()) {
      // More heights than classes fit: the last class stands for the rest. Tiles of one plan have few heights.
      if (heights.size() == 64) {
        found = heights.end() - 1;
      } else {
        found = heights.insert(heights.end(), output.rows());
      }
    }
    if (!mixed) break;
    work.cost_of_output.push_back(static_cast<std::uint8_t>(found - heights.begin()));
  }
  if (heights.empty()) heights.push_back(1);
  for (const std::int32_t rows : heights) {
    if (machine.cpu) {
      work.seconds_per_byte.push_back({machine.cpu->seconds_per_kv_byte, machine.cpu->seconds_per_kv_byte});
      continue;
    }
    const TokenSeconds token = seconds_per_token(machine, kernel, workload.geometry, rows);
    work.seconds_per_byte.push_back({token.busy / work.bytes_per_token, token.lone / work.bytes_per_token});
  }
  const double share = dram_share(workload, plan, machine, options.l2, resident);
  work.law = memory_law(machine, static_cast<double>(kernel.bytes_in_flight), share);
  if (options.l2 == L2State::cold) work.cold_seconds = machine.cold_seconds * options.new_pages * kernel.cold_loads;
  return work;
}

}  // namespace splitwave::simulator
