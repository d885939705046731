// SPDX-License-Identifier: Apache-2.0
#include "schedules/validate.h"

#include <fmt/core.h>

#include <algorithm>
#include <stdexcept>
#include <tuple>

namespace splitwave::schedules {
namespace {

using Problems = std::vector<std::string>;

/// Indices of the items, by output and then by slot (KV position for items without one), as offsets into `item`.
struct ItemsByOutput {
  std::vector<std::int32_t> begin;  ///< per output and one more
  std::vector<std::int32_t> item;
};

ItemsByOutput group_items(const Plan& plan) {
  ItemsByOutput by;
  by.begin.assign(plan.outputs.size() + 1, 0);
  for (const Item& item : plan.items) ++by.begin[static_cast<std::size_t>(item.output) + 1];
  for (std::size_t o = 0; o < plan.outputs.size(); ++o) by.begin[o + 1] += by.begin[o];
  by.item.resize(plan.items.size());
  std::vector<std::int32_t> next(by.begin.begin(), by.begin.end() - 1);
  for (std::size_t i = 0; i < plan.items.size(); ++i) {
    by.item[static_cast<std::size_t>(next[static_cast<std::size_t>(plan.items[i].output)]++)] =
        static_cast<std::int32_t>(i);
  }
  for (std::size_t o = 0; o < plan.outputs.size(); ++o) {
    std::stable_sort(by.item.begin() + by.begin[o], by.item.begin() + by.begin[o + 1],
                     [&](std::int32_t a, std::int32_t b) {
                       const Item& x = plan.items[static_cast<std::size_t>(a)];
                       const Item& y = plan.items[static_cast<std::size_t>(b)];
                       return x.kv_begin != y.kv_begin ? x.kv_begin < y.kv_begin : x.kv_end < y.kv_end;
                     });
  }
  return by;
}

std::string words(const Item& item) {
  return fmt::format("[{}, {}) of output {}", item.kv_begin, item.kv_end, item.output);
}

/// The items of one output in KV order, one after another.
template <typename Function>
void for_each_output(const Plan& plan, Function function) {
  const ItemsByOutput by = group_items(plan);
  std::vector<Item> pieces;
  for (std::size_t o = 0; o < plan.outputs.size(); ++o) {
    pieces.clear();
    for (std::int32_t i = by.begin[o]; i < by.begin[o + 1]; ++i) {
      pieces.push_back(plan.items[static_cast<std::size_t>(by.item[static_cast<std::size_t>(i)])]);
    }
    function(o, pieces);
  }
}

}  // namespace

void check_indices(const workloads::Workload& workload, const Plan& plan, Problems& problems) {
  if (plan.tile_q <= 0 || plan.tile_kv <= 0) {
    problems.push_back(fmt::format("tiles of {} x {}, allowed are positive sizes", plan.tile_q, plan.tile_kv));
  }
  const workloads::Geometry& g = workload.geometry;
  for (std::size_t o = 0; o < plan.outputs.size(); ++o) {
    const OutputTile& tile = plan.outputs[o];
    const bool request_exists = tile.request >= 0 && static_cast<std::size_t>(tile.request) < workload.requests.size();
    const bool heads_exist = tile.head_begin >= 0 && tile.head_count >= 1 && tile.head_count <= g.query_heads &&
                             tile.head_begin <= g.query_heads - tile.head_count;
    if (!request_exists || !heads_exist || tile.row_begin < 0 || tile.row_begin >= tile.row_end) {
      problems.push_back(fmt::format("output {}: request {}, heads [{}, +{}), rows [{}, {}) do not exist", o,
                                     tile.request, tile.head_begin, tile.head_count, tile.row_begin, tile.row_end));
    }
  }
  for (std::size_t i = 0; i < plan.items.size(); ++i) {
    const Item& item = plan.items[i];
    const bool output_exists = item.output >= 0 && static_cast<std::size_t>(item.output) < plan.outputs.size();
    if (!output_exists || item.kv_begin < 0 || item.kv_begin > item.kv_end) {
      problems.push_back(fmt::format("item {}: {} does not exist", i, words(item)));
    }
  }
  for (std::size_t m = 0; m < plan.merges.size(); ++m) {
    const Merge& merge = plan.merges[m];
    if (merge.output < 0 || static_cast<std::size_t>(merge.output) >= plan.outputs.size() || merge.slot_begin < 0 ||
        merge.slot_begin > merge.slot_end) {
      problems.push_back(fmt::format("merge {}: slots [{}, {}) of output {} do not exist", m, merge.slot_begin,
                                     merge.slot_end, merge.output));
    }
  }
}

void check_outputs(const workloads::Workload& workload, const Plan& plan, Problems& problems) {
  const workloads::Geometry& g = workload.geometry;
  std::vector<std::int32_t> order(plan.outputs.size());
  for (std::size_t o = 0; o < order.size(); ++o) order[o] = static_cast<std::int32_t>(o);
  const auto key = [&](std::int32_t o) {
    const OutputTile& t = plan.outputs[static_cast<std::size_t>(o)];
    return std::tuple(t.request, t.head_begin, t.row_begin);
  };
  std::sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) { return key(a) < key(b); });
  // Walks the rows that a partition must cover next, in the sorted order: requests, heads, rows.
  std::size_t request = 0;
  std::int32_t head = 0;
  std::int32_t row = 0;
  for (const std::int32_t o : order) {
    const OutputTile& tile = plan.outputs[static_cast<std::size_t>(o)];
    if (static_cast<std::size_t>(tile.request) != request || tile.head_begin != head || tile.row_begin != row) {
      problems.push_back(fmt::format("output {}: request {}, head {}, row {} where request {}, head {}, row {} is next",
                                     o, tile.request, tile.head_begin, tile.row_begin, request, head, row));
      return;
    }
    if (tile.head_begin / g.group() != (tile.head_begin + tile.head_count - 1) / g.group()) {
      problems.push_back(
          fmt::format("output {}: heads [{}, +{}) have more than one KV head", o, tile.head_begin, tile.head_count));
    }
    const std::int64_t rows = std::int64_t{workload.requests[request].query_len} * tile.head_count;
    if (tile.row_end > rows || tile.rows() > plan.tile_q) {
      problems.push_back(
          fmt::format("output {}: rows [{}, {}) of {}, tile_q {}", o, tile.row_begin, tile.row_end, rows, plan.tile_q));
      return;
    }
    row = tile.row_end;
    if (row == rows) {
      row = 0;
      head += tile.head_count;
    }
    if (head == g.query_heads) {
      head = 0;
      ++request;
    }
  }
  if (request != workload.requests.size() || head != 0 || row != 0) {
    problems.push_back(fmt::format("no output for request {}, head {}, row {}", request, head, row));
  }
}

void check_lists(const workloads::Workload& /*workload*/, const Plan& plan, Problems& problems) {
  if (plan.cta_begin.empty() || plan.cta_begin.front() != 0 ||
      plan.cta_begin.back() != static_cast<std::int64_t>(plan.items.size())) {
    problems.push_back(fmt::format("cta_begin does not run from 0 to {} items", plan.items.size()));
  }
  if (!std::is_sorted(plan.cta_begin.begin(), plan.cta_begin.end())) problems.push_back("cta_begin decreases");
}

void check_partition(const workloads::Workload& workload, const Plan& plan, Problems& problems) {
  for_each_output(plan, [&](std::size_t o, const std::vector<Item>& pieces) {
    const workloads::KvRange range = kv_range(workload, plan.outputs[o]);
    std::int32_t next = range.begin;
    for (const Item& piece : pieces) {
      if (piece.kv_begin != next) {
        problems.push_back(fmt::format("item {}: {} is next", words(piece), next));
        return;
      }
      next = piece.kv_end;
      if (next % plan.tile_kv != 0 && next != range.begin && next != range.end) {
        problems.push_back(fmt::format("item {}: cut off the multiples of {}", words(piece), plan.tile_kv));
      }
    }
    if (next != range.end) {
      problems.push_back(fmt::format("output {}: items end at {}, its range at {}", o, next, range.end));
    }
  });
}

void check_empty_items(const workloads::Workload& /*workload*/, const Plan& plan, Problems& problems) {
  const bool may_pad = plan.merge == MergeKind::kernel && plan.dispatch != Dispatch::fixed;
  for_each_output(plan, [&](std::size_t o, const std::vector<Item>& pieces) {
    if (pieces.empty()) problems.push_back(fmt::format("output {}: no item", o));
    if (may_pad || pieces.size() < 2) return;
    for (const Item& piece : pieces) {
      if (piece.tokens() == 0) problems.push_back(fmt::format("item {}: empty beside others", words(piece)));
    }
  });
}

void check_slots(const workloads::Workload& /*workload*/, const Plan& plan, Problems& problems) {
  std::vector<bool> taken(plan.items.size(), false);
  std::int64_t slots = 0;
  for_each_output(plan, [&](std::size_t /*output*/, const std::vector<Item>& pieces) {
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      const std::int32_t slot = pieces[i].slot;
      if (pieces.size() == 1) {
        if (slot >= 0) problems.push_back(fmt::format("item {}: slot {} of an unsplit output", words(pieces[i]), slot));
        continue;
      }
      ++slots;
      if (slot < 0 || static_cast<std::size_t>(slot) >= taken.size() || taken[static_cast<std::size_t>(slot)]) {
        problems.push_back(fmt::format("item {}: slot {} is missing, taken or too large", words(pieces[i]), slot));
        continue;
      }
      taken[static_cast<std::size_t>(slot)] = true;
      // Empty pieces at one position may stand in any order among themselves.
      if (i > 0 && pieces[i - 1].slot + 1 != slot && pieces[i].tokens() + pieces[i - 1].tokens() > 0) {
        problems.push_back(fmt::format("item {}: slot {} after slot {}", words(pieces[i]), slot, pieces[i - 1].slot));
      }
    }
  });
  for (std::int64_t slot = 0; slot < slots; ++slot) {
    if (!taken[static_cast<std::size_t>(slot)]) {
      problems.push_back(fmt::format("slot {} of {} is not used", slot, slots));
      return;
    }
  }
}

void check_merges(const workloads::Workload& /*workload*/, const Plan& plan, Problems& problems) {
  std::vector<const Merge*> merge_of(plan.outputs.size(), nullptr);
  std::int32_t next_slot = 0;
  for (const Merge& merge : plan.merges) {
    if (merge.slot_begin != next_slot) {
      problems.push_back(
          fmt::format("merge of output {}: slots from {} where {} is next", merge.output, merge.slot_begin, next_slot));
    }
    next_slot = merge.slot_end;
    const Merge*& known = merge_of[static_cast<std::size_t>(merge.output)];
    if (known != nullptr) problems.push_back(fmt::format("output {}: two merges", merge.output));
    known = &merge;
  }
  for_each_output(plan, [&](std::size_t o, const std::vector<Item>& pieces) {
    const Merge* const merge = merge_of[o];
    if (pieces.size() < 2) {
      if (merge != nullptr) problems.push_back(fmt::format("output {}: a merge without a split", o));
      return;
    }
    const auto [first, last] =
        std::minmax_element(pieces.begin(), pieces.end(), [](const Item& a, const Item& b) { return a.slot < b.slot; });
    if (merge == nullptr || merge->slot_begin != first->slot || merge->slot_end != last->slot + 1) {
      problems.push_back(fmt::format("output {}: no merge of its slots [{}, {}]", o, first->slot, last->slot));
    }
  });
}

void check_dispatch(const workloads::Workload& /*workload*/, const Plan& plan, Problems& problems) {
  const bool queue = plan.dispatch == Dispatch::queue;
  if (queue ? plan.workers <= 0 : plan.workers != 0) {
    problems.push_back(fmt::format("{} workers with {} dispatch", plan.workers, to_string(plan.dispatch)));
  }
  if (plan.merge == MergeKind::none && !plan.merges.empty()) problems.push_back("merges, but nobody merges");
  if (plan.merge != MergeKind::host_cta) return;
  if (plan.dispatch != Dispatch::fixed) problems.push_back("a CTA that waits needs all CTAs resident: fixed dispatch");
  std::vector<bool> is_host(static_cast<std::size_t>(plan.slots()), false);
  for (const Merge& merge : plan.merges) {
    if (merge.slot_begin < plan.slots()) is_host[static_cast<std::size_t>(merge.slot_begin)] = true;
  }
  for (std::int32_t list = 0; list < plan.lists(); ++list) {
    bool waits = false;
    for (const Item& item : plan.list(list)) {
      if (item.slot < 0 || item.slot >= plan.slots()) continue;
      if (is_host[static_cast<std::size_t>(item.slot)]) {
        waits = true;
      } else if (waits) {
        problems.push_back(fmt::format("item {}: its CTA {} waits before it", words(item), list));
      }
    }
  }
}

std::vector<std::string> violations(const workloads::Workload& workload, const Plan& plan) {
  Problems problems;
  check_indices(workload, plan, problems);
  check_lists(workload, plan, problems);
  if (!problems.empty()) return problems;
  static constexpr Invariant kInvariants[] = {check_outputs, check_partition, check_empty_items,
                                              check_slots,   check_merges,    check_dispatch};
  for (const Invariant invariant : kInvariants) invariant(workload, plan, problems);
  return problems;
}

void validate(const workloads::Workload& workload, const Plan& plan) {
  const Problems problems = violations(workload, plan);
  if (!problems.empty()) throw std::logic_error(fmt::format("plan {}: {}", plan.schedule, problems.front()));
}

}  // namespace splitwave::schedules
