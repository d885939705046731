// SPDX-License-Identifier: Apache-2.0
// What the host hands to the kernels. Plain structs, the same for g++ and nvcc.
#pragma once

#include <cstddef>
#include <cstdint>

namespace splitwave::gpu {

/// One work item as a CTA reads it: three 16-byte loads side by side, so that one trip to memory gives a worker all of
/// its first item. Items [0, lists) of the table are the lists' first items; `next` chains the others.
struct alignas(16) DeviceItem {
  std::int32_t kv_begin;
  std::int32_t kv_end;
  /// Contiguous: offset of position 0 of (request, KV head) in K and V, in units of 16 bytes. Paged: first entry of the
  /// request in the block table.
  std::uint32_t kv_base;
  std::uint16_t kv_head;
  std::uint16_t head_count;
  std::int32_t query_row;       ///< row of Q that holds (first query of the request, first head of the tile)
  std::uint16_t row_begin;      ///< packed rows of the tile: row r is query r / head_count, head r % head_count
  std::uint16_t rows;           ///< 0: nothing to do (an unused CTA of a plan with spare capacity)
  std::int32_t slot_begin;      ///< first partial slot of the output
  std::uint16_t part;           ///< this item's place among the output's items, in KV order
  std::uint16_t parts;          ///< items of the output; 1: the item writes the output itself
  std::int32_t next;            ///< next item of the list, -1 at its end
  std::int32_t first_position;  ///< KV position of the request's query 0
  std::uint32_t masked;         ///< 1: rows of the tile see different ranges
  std::uint16_t mergers;        ///< of a waiting merge: the output's first so many parts end their lists, and share it
  std::uint8_t piece;           ///< alone.cuh: which of the pieces that consecutive warps of the CTA have of the item
  std::uint8_t pieces;          ///< 1: a warp has all of it
};
static_assert(sizeof(DeviceItem) == 48);

/// Items that a kernel may ask for at once: so many less one behind the table's end are there to be read.
inline constexpr std::int32_t kMostItemsAhead = 4;

/// A plan that needs no table: every output is cut alike, list after list, so that a CTA computes its item from its
/// index. Grid: x = part, then output tile of a request and request as y and z, whichever the plan runs through faster
/// as y.
struct UniformPlan {
  std::int32_t parts = 0;  ///< 0: the plan is not uniform, read the table
  std::int32_t kv_begin = 0;
  std::int32_t kv_end = 0;
  std::int32_t first_tile = 0;  ///< index of the KV tile that holds kv_begin
  std::int32_t tile_kv = 0;
  std::int32_t tiles_per_part = 0;
  std::int32_t longer_parts = 0;  ///< the first so many parts have one tile more
  std::int32_t tiles_per_request = 1;
  std::int32_t tiles_per_kv_head = 1;
  std::int32_t requests_fastest = 0;  ///< 1: y = request, z = output tile
  std::uint32_t request_stride = 0;   ///< of K and V, in units of 16 bytes; paged: entries of the block table
  std::uint32_t head_stride = 0;      ///< of K and V, in units of 16 bytes; paged: 0
  std::uint32_t head_count = 0;
};

/// One merge of a separate merge kernel.
struct alignas(16) DeviceMerge {
  std::int32_t slot_begin;
  std::int32_t parts;  ///< 0: nothing to do
  std::int32_t query_row;
  std::uint16_t row_begin;
  std::uint16_t rows;
  std::int32_t head_count;
  std::int32_t warps_shift;  ///< log2 of the warps that share the parts of a fragment
  std::int32_t unused[2];
};
static_assert(sizeof(DeviceMerge) == 32);

/// A warp combines up to so many parts of a fragment; several share more, and the first of them adds up what they have.
inline constexpr std::int32_t kPartsPerMergeWarp = 16;

/// How partial results become outputs inside the decode kernel.
enum class InKernelMerge : std::int32_t { none, last_arriver, host_cta };

/// Programmatic dependent launch, a set of bits.
enum DependentLaunch : std::uint32_t {
  kWaitFirst = 1,      ///< wait for the previous kernel before any read
  kWaitAfterFill = 2,  ///< wait after the first K/V requests (legal only if the previous kernel writes neither)
  kTriggerFirst = 4,   ///< let the next kernel start at once
  kTriggerLate = 8,    ///< let it start when the last item's K and V are read
};

/// Counters for each slot: as many as its row blocks have ranks, and half of the tickets that an output may need, which
/// has two slots or more (packets.cuh).
inline constexpr std::int32_t kCountersPerSlot = 32;

/// Of a partial result in packets (packets.cuh), in bytes: for each fragment of 8 rows by 16 elements these, then the
/// maxima and sums of its pairs of rows, once for each quarter that a CTA may merge by itself.
inline constexpr std::int32_t kPacketSums = 512;
inline constexpr std::int32_t kQuarters = 4;
inline constexpr std::int32_t kPacketBytes = kPacketSums + kQuarters * 64;

/// What the tests ask for, a set of bits; 0 in normal use. A kernel looks at these before it reads where the rest
/// stands: that is in a line of the constant cache that nothing else needs.
enum TestHooks : std::uint32_t {
  kCountVisits = 1,  ///< DecodeParams::visits
  kDelay = 2,        ///< Injection::delay_seed
  kDrop = 4,         ///< Injection::drop_slot
};

/// What the stress tests inject.
struct Injection {
  std::uint32_t delay_seed = 0;  ///< each CTA spins for a pseudo-random time before its items
  std::uint32_t drop_slot = 0;   ///< 1 + the slot whose arrival is dropped
};

/// A stretch of a CTA's life as recorder.cuh writes it down. All zero: nothing was written.
struct TimelineRecord {
  std::uint64_t begin_nanoseconds;
  std::uint64_t end_nanoseconds;
  std::int32_t cta;  ///< its number in the grid
  std::int32_t sm;
};
static_assert(sizeof(TimelineRecord) == 24);

/// Where launches record. Every record has a place of its own, so that nobody waits for a free one, and each launch
/// writes over the one before. Null: nowhere.
struct TimelineArrays {
  TimelineRecord* ctas = nullptr;    ///< [CTA of the grid]
  TimelineRecord* items = nullptr;   ///< [item of the table][row block][cluster rank]
  TimelineRecord* merges = nullptr;  ///< [first slot][row block][cluster rank]
};

/// L2 policies as createpolicy.fractional gives them for a fraction of 1 (CUTLASS: CacheHintSm90). Made on the host,
/// they cost a CTA nothing.
inline constexpr std::uint64_t kEvictNormal = 0x16F0000000000000;
inline constexpr std::uint64_t kEvictFirst = 0x12F0000000000000;  ///< data that are read once

/// In lines of the constant cache, of 64 bytes with the first after 48: each line that a CTA is the first to read may
/// cost it a miss of a quarter of a microsecond. The first two are what a CTA of a uniform plan reads; with the third,
/// lists of contiguous K and V read no more; pages and masks have the fourth.
struct DecodeParams {
  const void* k = nullptr;
  const void* v = nullptr;
  const void* q = nullptr;        ///< [query token][query head][D]
  void* output = nullptr;         ///< [query token][query head][D]
  std::int32_t token_stride = 0;  ///< bytes from a token of a KV head to the next (paged: within a page)
  std::int32_t query_heads = 0;
  float scale_log2 = 0;  ///< softmax scale times log2(e)
  std::uint32_t dependent_launch = 0;
  UniformPlan uniform;
  std::uint32_t test_hooks = 0;            ///< TestHooks
  std::uint64_t l2_policy = kEvictNormal;  ///< of K and V

  float* lse = nullptr;  ///< [query token][query head], natural log; may be null
  InKernelMerge merge = InKernelMerge::none;
  std::int32_t cluster_shift = 0;  ///< log2 of the CTAs that share an item
  const DeviceItem* items = nullptr;
  float* partials = nullptr;          ///< [slot][row block][fragment][lane][4], unnormalised
  float* partial_sums = nullptr;      ///< [slot][row block][cluster rank][row][max, sum]
  std::uint32_t* arrivals = nullptr;  ///< [slot][row block][cluster rank] or tickets (packets.cuh), 0 between launches
  std::int32_t lists = 0;
  std::int32_t workers = 0;  ///< CTAs (clusters) that take lists from the queue; 0: list i is CTA i
  void* packets = nullptr;   ///< packets.cuh: [slot][fragment]; none is there between launches

  const std::int32_t* block_table = nullptr;
  std::int64_t head_stride = 0;  ///< bytes from a KV head to the next (paged only)
  std::int64_t page_stride = 0;  ///< bytes from a page to the next
  std::int32_t page_size = 0;
  std::int32_t page_shift = -1;  ///< log2(page_size) if that is whole, else -1
  std::int32_t causal = 0;
  std::int32_t window = 0;             ///< a query sees no position this far or farther; 0: no window
  std::uint64_t wait_nanoseconds = 0;  ///< most that a merge waits
  std::uint32_t* queue = nullptr;      ///< next list of a queue, 0 between launches
  std::uint32_t* error = nullptr;      ///< 0, or 1 + slot_begin of the merge that waited in vain
  std::uint64_t* visits = nullptr;     ///< [item of the table]: counts executions

  Injection injection;
  TimelineArrays timeline;
};
static_assert(offsetof(DecodeParams, lse) == 112 && offsetof(DecodeParams, block_table) == 176);

struct MergeParams {
  const DeviceMerge* merges = nullptr;
  const float* partials = nullptr;
  const float* partial_sums = nullptr;
  void* output = nullptr;
  float* lse = nullptr;
  std::int32_t query_heads = 0;
  std::int32_t cluster_shift = 0;
  std::uint32_t dependent_launch = 0;
  TimelineRecord* merges_recorded = nullptr;  ///< TimelineArrays::merges, with CTAs of this grid
};

}  // namespace splitwave::gpu
