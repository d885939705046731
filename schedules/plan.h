// SPDX-License-Identifier: Apache-2.0
// The contract of splitwave: a schedule is data. A schedule turns (workload, grid) into a Plan; every executor
// (simulator, CPU, GPU) carries it out and never cuts, joins, skips or reorders it.
//
// Invariants (schedules/validate.h checks each with a function of its own):
//  1. outputs partition the batch's output rows: every (request, query head, query) belongs to exactly one.
//  2. cta_begin starts at 0, never decreases and ends at items.size().
//  3. the items of an output partition its KV range; all inner cuts are multiples of tile_kv.
//  4. every output has an item; an empty item is the only one of its output, or padding (see Item): only in a grid or
//     queue whose merge is a kernel.
//  5. slot < 0 exactly if the output has one item; the slots of a split output are consecutive and ascend with
//     kv_begin, and slots over all outputs are dense from 0.
//  6. there is one merge per split output, over all of its slots, in ascending order of slots.
//  7. a queue has workers, and other dispatches have none; without a merge kind there are no merges. CTAs that wait
//     (host_cta) are all resident (fixed), and none has another's partial result to write after it waits.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/workload.h"

namespace splitwave::schedules {

/// One tile of output rows: rows [row_begin, row_end) of the heads [head_begin, head_begin + head_count) of one
/// request, which all share one KV head. Row r is query r / head_count of head head_begin + r % head_count. GQA
/// packing puts the whole group in head_count; an unpacked schedule has head_count 1.
struct OutputTile {
  std::int32_t request = 0;
  std::int32_t head_begin = 0;
  std::int32_t head_count = 1;
  std::int32_t row_begin = 0;
  std::int32_t row_end = 0;
  std::int32_t rows() const { return row_end - row_begin; }
  bool operator==(const OutputTile&) const = default;
};

/// One piece of work: the output tile over KV positions [kv_begin, kv_end). slot >= 0 names the partial result that it
/// writes (unnormalised or normalised with LSE, fp32); slot < 0: the item is alone and writes the output itself.
/// An item may be empty (kv_begin == kv_end): the one item of an empty context, or a CTA that a peer's schedule
/// launches for nothing. It writes output 0 and LSE -inf, and costs time.
struct Item {
  std::int32_t output = 0;
  std::int32_t kv_begin = 0;
  std::int32_t kv_end = 0;
  std::int32_t slot = -1;
  std::int32_t tokens() const { return kv_end - kv_begin; }
  bool operator==(const Item&) const = default;
};

/// Combine the partials [slot_begin, slot_end), in this order, into one output tile.
struct Merge {
  std::int32_t output = 0;
  std::int32_t slot_begin = 0;
  std::int32_t slot_end = 0;
  bool operator==(const Merge&) const = default;
};

/// How lists of items reach CTAs. hardware: list i is CTA i, started in order as slots free up. fixed: list i is CTA i
/// of a persistent grid, all resident at once. queue: `workers` persistent CTAs take the lists in order from a counter.
enum class Dispatch { hardware, fixed, queue };

/// Who merges. none: nothing is split. kernel: a second kernel (FlashDecoding). host_cta: the CTA with an output's
/// first item waits for the others (LeanAttention, Algorithm 1); on a GPU the CTAs of its first parts that end their
/// lists all wait and share the work (find_closing_parts). last_arriver: the CTA that finishes last.
enum class MergeKind { none, kernel, host_cta, last_arriver };

struct Plan {
  std::string schedule;      ///< name as given, for example "fixed-split:4"
  std::int32_t tile_q = 0;   ///< rows of an output tile that the kernel is built for (padding included)
  std::int32_t tile_kv = 0;  ///< KV tokens per tile; inner cuts are multiples of it
  std::int32_t num_splits =
      1;  ///< what the schedule's rule answers (FlashAttention's num_splits; an upper bound for fa3)
  Dispatch dispatch = Dispatch::hardware;
  std::int32_t workers = 0;  ///< persistent CTAs of a queue, else 0
  MergeKind merge = MergeKind::none;
  std::string reason;  ///< which rule fired, in words, with the library's file and line
  std::vector<OutputTile> outputs;
  std::vector<Item> items;
  std::vector<std::int32_t> cta_begin{0};  ///< list i is items [cta_begin[i], cta_begin[i + 1])
  std::vector<Merge> merges;

  std::int32_t lists() const { return static_cast<std::int32_t>(cta_begin.size()) - 1; }
  /// CTAs launched: the workers of a queue, else one per list.
  std::int32_t ctas() const { return dispatch == Dispatch::queue ? workers : lists(); }
  std::int32_t slots() const { return merges.empty() ? 0 : merges.back().slot_end; }
  std::span<const Item> list(std::int32_t index) const {
    return std::span<const Item>(items).subspan(static_cast<std::size_t>(cta_begin[index]),
                                                static_cast<std::size_t>(cta_begin[index + 1] - cta_begin[index]));
  }
  bool operator==(const Plan&) const = default;
};

/// Of the first so many lists, those up to the last one that has items, and one at least if there is any: a CTA behind
/// them has nothing to do.
inline std::int32_t working_lists(const Plan& plan, std::int32_t lists) {
  while (lists > 1 && plan.list(lists - 1).empty()) --lists;
  return lists;
}

/// KV positions that the rows of an output tile may attend to: the range its items partition.
workloads::KvRange kv_range(const workloads::Workload& workload, const OutputTile& output);

/// KV head that an output tile reads.
std::int32_t kv_head(const workloads::Workload& workload, const OutputTile& output);

/// Per split output, how many of its first parts end their CTAs' lists: these CTAs can wait for the other parts and
/// share the merge, and nobody waits for what they do next. What other outputs get means nothing.
void find_closing_parts(const Plan& plan, std::vector<std::int32_t>& per_output);

/// Most items that share one output, per request (0 for a request without query tokens).
std::vector<std::int32_t> splits_per_request(const workloads::Workload& workload, const Plan& plan);

/// KV tiles of an item, partial tiles counted whole; an empty item has none.
std::int64_t tiles(const Plan& plan, const Item& item);

std::string to_string(Dispatch dispatch);
std::string to_string(MergeKind merge);

/// What the order of a merge rests on, in words. All of them join the parts of an output in the order of their slots
/// (invariant 6): they differ in who does it, and when.
std::string_view merge_order(MergeKind merge);

}  // namespace splitwave::schedules
