// SPDX-License-Identifier: Apache-2.0
// What a group kernel asks for ahead: keys and values apart, each stage's keys and then its values, and of a list's
// further items their queries, in a stage before those of their tokens, and their places in the table, some items
// before. Whatever else a thread would load in the middle of a list comes behind all that it has asked for: a turn of
// the ring where the memory is full.
#pragma once

#include "gpu/kernels/cta.cuh"
#include "gpu/kernels/items.cuh"
#include "gpu/kernels/loader.cuh"

namespace splitwave::gpu {

/// Place of a packed row in [query token][query head].
__device__ __forceinline__ std::int64_t row_index(const Rows& rows, const HeadDivisor& heads, int row) {
  const int head = rows.row_begin + row;
  return rows.query_row + std::int64_t{heads.divide(head)} * (rows.query_heads - rows.head_count) + head;
}

/// Calls visit(row, column, byte offset) for the 16-byte columns of the query rows that fall to this thread. They lie
/// in blocks of 64 elements, swizzled as wgmma wants them.
template <class Config, class Visit>
__device__ __forceinline__ void for_each_query_column(const Visit& visit) {
  constexpr int kColumns = Config::kHeadDim / 8;
  // Unrolled, a latent cache's wide rows took registers for every place of theirs throughout the kernel.
#pragma unroll(Config::kLatent ? 1 : Config::kRows* kColumns / Config::kThreads)
  for (int first = 0; first < Config::kRows * kColumns; first += Config::kThreads) {
    const int index = first + static_cast<int>(threadIdx.x);
    const int row = index / kColumns;
    const int column = index % kColumns;
    visit(row, column, (column >> 3) * Config::kQueryBlockBytes + row * 128 + (((column & 7) ^ (row & 7)) << 4));
  }
}

/// Asks for the item's query rows, to lie `offset` bytes behind the CTA's first. Rows that do not exist are zeros: what
/// they give is not written (items.cuh, request_queries()).
template <class Config>
__device__ __forceinline__ void request_group_queries(const Cta<Config>& cta, const Rows& rows, std::uint32_t offset) {
  if (rows.count <= 0) return;
  const HeadDivisor heads(rows.head_count);
  for_each_query_column<Config>([&](int row, int column, int at) {
    const char* from = static_cast<const char*>(cta.params.q) +
                       row_index(rows, heads, min(row, rows.count - 1)) * (Config::kHeadDim * 2) + column * 16;
    ptx::copy_16(ptx::shared_address(cta.shared) + offset + at, from, row < rows.count, kEvictNormal);
  });
}

/// Brings the queries from a stage to their place: each thread what it asked for.
template <class Config>
__device__ __forceinline__ void move_group_queries(const Cta<Config>& cta, const unsigned char* stage) {
  for_each_query_column<Config>([&](int, int, int at) {
    *reinterpret_cast<uint4*>(cta.shared + Config::kQueryOffset + at) = *reinterpret_cast<const uint4*>(stage + at);
  });
}

template <class Config>
class GroupLoader {
 public:
  /// ring: of the CTA.
  __device__ __forceinline__ GroupLoader(const Cta<Config>& cta, std::uint32_t ring)
      : chunks_(cta.params, ring + cta.warp * Config::kTokens * 128, cta.rank, cta.warp, cta.row_block, cta.lane) {}

  /// Fills the ring from its first stage on, with `range` of a list's first item and what follows. wait: queries, which
  /// the previous kernel may write, are asked for once it has ended.
  __device__ __forceinline__ void start(const Cta<Config>& cta, const DeviceItem& item, const ChunkRange& range,
                                        bool wait) {
    chunks_.start(item, range);
    chunks_.rewind();
    next_ = item.next;
    begun_ = 0;
    queries_ = false;
    no_gaps_ = range.first < range.end;
    knows_pages_ = false;
    item_place_ = items_address(cta) + threadIdx.x * 16;
    if (next_ >= 0) {
#pragma unroll 1
      for (int i = 0; i < Config::kItemsAhead; ++i) ask_for_entry(cta, next_ + i);
    }
#pragma unroll 1
    for (int i = 0; i < Config::kStages; ++i) {
      if (wait && chunks_.item_done()) ptx::wait_for_previous_kernel();
      fill_keys(cta, true);
      fill_values();
    }
  }

  /// Asks for the keys of the next stage: a group of copies, an empty one at the end of the list. first_turn: no stage
  /// has been waited for yet.
  __device__ __forceinline__ void fill_keys(const Cta<Config>& cta, bool first_turn) {
    if (queries_) {
      queries_ = false;
      chunks_.settle();
    }
    if (chunks_.item_done() && next_ >= 0) {
      begin_next(cta, first_turn);
    } else {
      chunks_.copy_keys();
    }
    ptx::commit_copies();
  }

  /// The same for the values of the stage whose keys were asked for last.
  __device__ __forceinline__ void fill_values() {
    if (!queries_) chunks_.copy_values();
    chunks_.next_place();
    ptx::commit_copies();
  }

  /// Item `number` of the list, not the first one: if the stage that this was asked for with has been waited for.
  __device__ __forceinline__ static const DeviceItem& item(const Cta<Config>& cta, int number) {
    return reinterpret_cast<const DeviceItem*>(cta.shared + Config::kItemsOffset)[(number - 1) % Config::kItemPlaces];
  }

 private:
  /// Goes on to the list's next item, whose queries take the stage. Its place in the table came with a stage that lies
  /// at least a ring back: each item since then has a stage of queries.
  __device__ __forceinline__ void begin_next(const Cta<Config>& cta, bool first_turn) {
    ++begun_;
    const DeviceItem next = first_turn ? load_item(cta.params, next_) : item(cta, begun_);
    if (next.next >= 0) ask_for_entry(cta, next_ + Config::kItemsAhead);
    next_ = next.next;
    queries_ = true;
    request_group_queries(cta, rows_of<Config>(cta.params, next, cta.row_block), chunks_.place_offset());
    const ChunkRange range = range_of(cta, next);
    const int first_pages = knows_pages_ ? next_pages_ : chunks_.look_up_first(next, range);
    chunks_.begin(next, range, &first_pages);
    if constexpr (Config::kPaged) look_up_next(cta, range, first_turn);
  }

  /// Asks for the pages of the item after the one that has begun, which has `range`. Its place in the table is there if
  /// all items had tokens: each then has two stages at least.
  __device__ __forceinline__ void look_up_next(const Cta<Config>& cta, const ChunkRange& range, bool first_turn) {
    no_gaps_ = no_gaps_ && range.first < range.end;
    knows_pages_ = no_gaps_ && !first_turn && next_ >= 0;
    if (!knows_pages_) return;
    const DeviceItem& after = item(cta, begun_ + 1);
    next_pages_ = chunks_.look_up_first(after, range_of(cta, after));
  }

  __device__ __forceinline__ static ChunkRange range_of(const Cta<Config>& cta, const DeviceItem& item) {
    return chunk_range<Config>(item, cta.shift(), cta.rank, cta.warp, cta.row_block);
  }

  __device__ __forceinline__ static std::uint32_t items_address(const Cta<Config>& cta) {
    return ptx::shared_address(cta.shared) + Config::kItemsOffset;
  }

  /// Asks for the table's entry `index`, into the next place: a list's further items lie one behind the other. Entries
  /// behind the list's end, which there may be, nobody reads.
  __device__ __forceinline__ void ask_for_entry(const Cta<Config>& cta, int index) {
    constexpr int kBytes = sizeof(DeviceItem);
    if (threadIdx.x < kBytes / 16) {
      const auto* from = reinterpret_cast<const char*>(cta.params.items + index) + threadIdx.x * 16;
      ptx::copy_16(item_place_, from, true, kEvictNormal);
    }
    item_place_ += kBytes;
    if (item_place_ >= items_address(cta) + Config::kItemPlaces * kBytes + threadIdx.x * 16) {
      item_place_ -= Config::kItemPlaces * kBytes;
    }
  }

  Loader<Config> chunks_;
  int next_ = -1;         ///< place in the table of the list's item after the one that is asked for
  int begun_ = 0;         ///< which of the list's items that is
  bool queries_ = false;  ///< the stage that was begun last holds queries
  /// This thread's 16 bytes of the table's next entry. A register that goes on from entry to entry: see
  /// Loader::fill_next().
  std::uint32_t item_place_ = 0;
  // paged
  int next_pages_ = 0;        ///< of the list's next item, if
  bool knows_pages_ = false;  ///< ... they have been looked up
  bool no_gaps_ = true;       ///< no item so far was without tokens
};

}  // namespace splitwave::gpu
