// SPDX-License-Identifier: Apache-2.0
// Each warp fills a ring of stages of its own with 16-byte asynchronous copies, so that the main loop needs no barrier
// of the CTA. The loader runs ahead of the arithmetic, over the ends of items.
#pragma once

#include "gpu/kernels/config.cuh"
#include "gpu/kernels/pages.cuh"
#include "gpu/kernels/params.h"
#include "gpu/kernels/ptx.cuh"

namespace splitwave::gpu {

/// log2 of the CTAs that share an item.
template <class Config>
__device__ __forceinline__ int cluster_shift(const DecodeParams& params) {
  if constexpr (Config::kSingleItem) {
    return Config::kSingleItemCluster == 16  ? 4
           : Config::kSingleItemCluster == 8 ? 3
           : Config::kSingleItemCluster == 4 ? 2
           : Config::kSingleItemCluster == 2 ? 1
                                             : 0;
  } else {
    return params.cluster_shift;
  }
}

__device__ __forceinline__ DeviceItem load_item(const DecodeParams& params, int index) {
  DeviceItem item;
  const auto* from = reinterpret_cast<const int4*>(params.items + index);
  auto* to = reinterpret_cast<int4*>(&item);
#pragma unroll
  for (int i = 0; i < 3; ++i) to[i] = __ldg(from + i);
  return item;
}

/// Chunks of kTokens tokens of an item that a warp of a CTA of the cluster works on: first, first + kChunks, ... < end;
/// none if the item has no rows for the CTA's row block. Where warps work together each has as many.
struct ChunkRange {
  int first;
  int end;
};

template <class Config>
__device__ __forceinline__ ChunkRange chunk_range(const DeviceItem& item, int cluster_shift, int rank, int warp,
                                                  int row_block) {
  if (!Config::kSingleItem && item.rows <= row_block * Config::kRows) return {0, 0};
  if constexpr (Config::kGroup) {
    const int stages = static_cast<int>(
        static_cast<std::uint32_t>(item.kv_end - item.kv_begin + Config::kGroupTokens - 1) / Config::kGroupTokens);
    return {(stages * rank >> cluster_shift) * Config::kChunks + warp,
            (stages * (rank + 1) >> cluster_shift) * Config::kChunks};
  }
  const int chunks =
      static_cast<int>(static_cast<std::uint32_t>(item.kv_end - item.kv_begin + Config::kTokens - 1) / Config::kTokens);
  if constexpr (Config::kAlone) return {0, chunks};
  return {(chunks * rank >> cluster_shift) + warp, chunks * (rank + 1) >> cluster_shift};
}

/// Byte offset of 16-byte chunk `column` of token `token` in a K or V tile: 128-byte rows of 64 elements, one block of
/// kTokens rows after another, chunks exclusive-ored with the row so that ldmatrix meets no bank twice.
template <class Config>
__device__ __forceinline__ std::uint32_t tile_offset(int token, int column) {
  return (column >> 3) * Config::kBlockBytes + token * 128 + (((column & 7) ^ (token & 7)) << 4);
}

/// What a loader brings of a chunk.
enum class Part { both, keys, values };

template <class Config>
class Loader {
 public:
  /// 16-byte chunks of a row that a copy of the warp takes. Rows that no power of two of lanes holds come block by
  /// block of 64 elements.
  static constexpr int kColumns = Config::kHeadDim % 512 == 64 ? 8 : Config::kHeadDim / 8;
  static constexpr int kBlocks = Config::kHeadDim / 8 / kColumns;
  static constexpr int kRowsPerCopy = 32 / kColumns;
  static constexpr int kCopies = Config::kTokens / kRowsPerCopy;
  static constexpr int kStep = Config::kChunks * Config::kTokens;  ///< tokens from a chunk of the warp to its next

  __device__ __forceinline__ Loader(const DecodeParams& params, std::uint32_t ring, int rank, int warp, int row_block,
                                    int lane)
      : params_(params), rank_(rank), warp_(warp), row_block_(row_block), lane_(lane), policy_(params.l2_policy) {
    shared_ = ring + tile_offset<Config>(lane / kColumns, lane % kColumns);
  }

  /// Continues with the chunks of `item`, `range` of them.
  __device__ __forceinline__ void start(const DeviceItem& item, const ChunkRange& range) {
    begin(item, range);
    settle();
  }

  /// Asks for what the pages of an item's first chunks are, to be given to begin(). Not paged: nothing.
  __device__ __forceinline__ int look_up_first(const DeviceItem& item, const ChunkRange& range) const {
    if constexpr (!Config::kPaged) return 0;
    if (range.first >= range.end) return 0;
    return look_up(params_.block_table + item.kv_base, item.kv_end, in_whole_tiles(item),
                   item.kv_begin + range.first * Config::kTokens);
  }

  /// start() in two parts, between which what is looked up is on its way. first_pages: what look_up_first() gave
  /// before; null: asked for now.
  __device__ __forceinline__ void begin(const DeviceItem& item, const ChunkRange& range,
                                        const int* first_pages = nullptr) {
    chunks_left_ = range.first < range.end ? (range.end - range.first + Config::kChunks - 1) / Config::kChunks : 0;
    next_ = item.next;
    // Asked for now, needed when this item is used up: nobody waits for it then.
    if (kKeepsFollowing && next_ >= 0) following_ = load_item(params_, next_);
    token_ = item.kv_begin + range.first * Config::kTokens;
    tokens_left_ = item.kv_end - token_ - lane_ / kColumns;
    if constexpr (Config::kPaged) {
      table_ = params_.block_table + item.kv_base;
      column_offset_ = item.kv_head * params_.head_stride + column();
      kv_end_ = item.kv_end;
      whole_tiles_ = in_whole_tiles(item);
      if (chunks_left_ > 0) {
        chunks_looked_up_ = chunks_per_batch();
        pages_ = first_pages != nullptr ? *first_pages : look_up(token_);
        next_pages_ = look_up(token_ + chunks_looked_up_ * kStep);
      }
    } else {
      const std::int64_t offset = static_cast<std::int64_t>(item.kv_base) * 16 +
                                  std::int64_t{token_ + lane_ / kColumns} * params_.token_stride + column();
      k_ = static_cast<const char*>(params_.k) + offset;
      v_ = static_cast<const char*>(params_.v) + offset;
    }
  }
  __device__ __forceinline__ void settle() {
    if constexpr (Config::kPaged) {
      if (chunks_left_ > 0) broadcast_pages();
    }
  }

  /// Requests the next chunk into the stage, going on to the list's next item if this one is used up. One group of
  /// copies per call, an empty one at the end of the list; without a ring K's and V's, or one of both if paged.
  __device__ __forceinline__ void fill(std::uint32_t stage_offset) { fill_place(shared_ + stage_offset); }

  /// The same for the ring's stages in turn, from rewind() on. Where the place was a stage's number times its bytes,
  /// the same for all lanes, ptxas 13.0 made copies of it that the device called illegal.
  __device__ __forceinline__ void fill_next() {
    fill_place(place_);
    next_place();
  }

  /// The same for the next chunk in two halves, with has_more() before: first four blocks of each row and its last one,
  /// then, with kLast, its other four. Of the ring's second stage the second four blocks come first.
  template <bool kLast>
  __device__ __forceinline__ void fill_half() {
    const bool upper = (place_ != shared_) != kLast;
    copy_chunk<Part::keys, kLast>(place_, [&](std::uint32_t shared, const char* from, bool valid) {
      copy_blocks<4>(shared + (upper ? 4 * Config::kBlockBytes : 0), from + (upper ? 512 : 0), valid);
      if (!kLast) copy_blocks<1>(shared + 8 * Config::kBlockBytes, from + 1024, valid);
    });
    if (!kLast) return;
    --chunks_left_;
    next_place();
  }

  /// The keys of the current item's next chunk, if it has one, and after them its values: not a group of copies yet.
  __device__ __forceinline__ void copy_keys() {
    if (chunks_left_ > 0) copy_part<Part::keys, false>(place_);
  }
  __device__ __forceinline__ void copy_values() {
    if (chunks_left_ == 0) return;
    copy_part<Part::values, true>(place_);
    --chunks_left_;
  }

  /// The stage that comes next is the one after this, or the first one again.
  __device__ __forceinline__ void next_place() {
    place_ += Config::kStageBytes;
    if (place_ == shared_ + Config::kStages * Config::kStageBytes) place_ = shared_;
  }
  __device__ __forceinline__ void rewind() { place_ = shared_; }

  /// Bytes from the ring's begin to that stage. The compiler does not see that all lanes have the same: see
  /// fill_next().
  __device__ __forceinline__ std::uint32_t place_offset() const { return ptx::opaque(place_) - shared_; }

  /// The current item needs no more copies.
  __device__ __forceinline__ bool item_done() const { return chunks_left_ == 0; }

  /// Goes on to the list's next item if this one is used up. Whether there are chunks to ask for.
  __device__ __forceinline__ bool has_more() {
    while (chunks_left_ == 0 && next_ >= 0) {
      const DeviceItem item = kKeepsFollowing ? following_ : load_item(params_, next_);
      start(item, chunk_range<Config>(item, cluster_shift<Config>(params_), rank_, warp_, row_block_));
    }
    return chunks_left_ > 0;
  }

 private:
  /// Group kernels ask for items otherwise (group_loader.cuh), or have few registers.
  static constexpr bool kKeepsFollowing = !Config::kSingleItem && !Config::kGroup;

  __device__ __forceinline__ void fill_place(std::uint32_t place) {
    if constexpr (!Config::kSingleItem) has_more();
    if (chunks_left_ > 0) {
      copy_part<Config::kGroup ? Part::keys : Part::both, true>(place);
      --chunks_left_;
    }
    ptx::commit_copies();
  }

  template <Part kPart, bool kAdvance>
  __device__ __forceinline__ void copy_part(std::uint32_t place) {
    copy_chunk<kPart, kAdvance>(
        place, [&](std::uint32_t shared, const char* from, bool valid) { copy_blocks<kBlocks>(shared, from, valid); });
  }

  /// copy_row: asks for what this lane takes of a row, (shared, from, valid).
  template <Part kPart, bool kAdvance, class CopyRow>
  __device__ __forceinline__ void copy_chunk(std::uint32_t place, const CopyRow& copy_row) {
    if constexpr (Config::kPaged) {
      copy_paged<kPart, kAdvance>(place, copy_row);
    } else {
      copy_contiguous<kPart, kAdvance>(place, copy_row);
    }
  }

  /// Bytes from a row's begin to what this lane copies first.
  __device__ __forceinline__ int column() const { return lane_ % kColumns * 16; }

  template <int kCount>
  __device__ __forceinline__ void copy_blocks(std::uint32_t shared, const char* from, bool valid) const {
#pragma unroll
    for (int block = 0; block < kCount; ++block) {
      ptx::copy_16(shared + block * Config::kBlockBytes, from + block * 128, valid, policy_);
    }
  }

  /// Where copy i of a tile goes: kRowsPerCopy rows further each, so the exclusive-or pattern of the first repeats.
  __device__ __forceinline__ static std::uint32_t destination(std::uint32_t first, int i) {
    const int row = i * kRowsPerCopy;  // a multiple of kRowsPerCopy: flips only bits that the lane's row has clear
    return (first ^ static_cast<std::uint32_t>((row & 7) << 4)) + row * 128;
  }

  template <Part kPart, bool kAdvance, class CopyRow>
  __device__ __forceinline__ void copy_contiguous(std::uint32_t shared, const CopyRow& copy_row) {
    // Each address by itself, of one multiplication: a chain of additions would be waited for.
    const auto row = [&](int i) { return std::int64_t{i * kRowsPerCopy} * params_.token_stride; };
#pragma unroll
    for (int i = 0; i < kCopies; ++i) {
      if (kPart != Part::values) copy_row(destination(shared, i), k_ + row(i), tokens_left_ > i * kRowsPerCopy);
    }
    if constexpr (Config::kWholeItem) ptx::commit_copies();  // K is waited for first
#pragma unroll
    for (int i = 0; i < kCopies; ++i) {
      if (kPart == Part::keys) continue;
      copy_row(destination(shared, i) + Config::kTileBytes, v_ + row(i), tokens_left_ > i * kRowsPerCopy);
    }
    if (!kAdvance) return;
    const std::int64_t advance = std::int64_t{kStep} * params_.token_stride;
    k_ += advance;
    v_ += advance;
    tokens_left_ -= kStep;
  }

  template <Part kPart, bool kAdvance, class CopyRow>
  __device__ __forceinline__ void copy_paged(std::uint32_t shared, const CopyRow& copy_row) {
    const int token = token_;
    int page[Config::kTokenTiles];
#pragma unroll
    for (int tile = 0; tile < Config::kTokenTiles; ++tile) page[tile] = tile_pages_[tile];
    const int row_pages = pages_;
    // The next chunk's pages first: they are there when they are needed, and nobody waits for them.
    if (kAdvance) look_ahead();
    if (whole_tiles_) {
      copy_paged_tiles<kPart>(shared, token, page, copy_row);
    } else {
      copy_paged_rows<kPart>(shared, token, row_pages, copy_row);
    }
    if (kAdvance) tokens_left_ -= kStep;
  }

  /// Goes on to the pages of the chunk after this one.
  __device__ __forceinline__ void look_ahead() {
    token_ += kStep;
    if (--chunks_looked_up_ == 0) {
      chunks_looked_up_ = chunks_per_batch();
      pages_ = next_pages_;
      next_pages_ = look_up(token_ + chunks_looked_up_ * kStep);
    }
    broadcast_pages();
  }

  /// Whether no tile of 16 tokens crosses the end of a page.
  __device__ __forceinline__ bool in_whole_tiles(const DeviceItem& item) const {
    return item.kv_begin % 16 == 0 && params_.page_shift >= 4;
  }

  /// Chunks whose pages the warp looks up with one load: one page per tile of 16 tokens, or one per row.
  __device__ __forceinline__ int chunks_per_batch() const {
    return whole_tiles_ ? 32 / Config::kTokenTiles : 1;
  }

  /// Asks for the page of this lane's tile or row of the batch of chunks that begins with the token.
  __device__ __forceinline__ int look_up(int token) const {
    return look_up(table_, kv_end_, whole_tiles_, token);
  }
  __device__ __forceinline__ int look_up(const std::int32_t* table, int kv_end, bool whole_tiles, int token) const {
    static_assert(Config::kTokens <= 32);
    token +=
        whole_tiles ? lane_ / Config::kTokenTiles * kStep + lane_ % Config::kTokenTiles * 16 : lane_ % Config::kTokens;
    token = min(token, kv_end - 1);
    if constexpr (Config::kWholeItem) token = max(token, 0);  // a CTA may have no tokens
    return __ldg(table + page_of(params_, token));
  }

  /// Tells all lanes the pages of the next chunk's tiles.
  __device__ __forceinline__ void broadcast_pages() {
    const int first = (chunks_per_batch() - chunks_looked_up_) * Config::kTokenTiles;
#pragma unroll
    for (int tile = 0; tile < Config::kTokenTiles; ++tile) {
      tile_pages_[tile] = __shfl_sync(~0U, pages_, (first + tile) % 32);
    }
  }

  /// Each tile of 16 tokens lies in one page: one address per tile, then steps as in a contiguous cache.
  template <Part kPart, class CopyRow>
  __device__ __forceinline__ void copy_paged_tiles(std::uint32_t shared, int token,
                                                   const int (&page)[Config::kTokenTiles], const CopyRow& copy_row) {
    constexpr int kTileCopies = 16 / kRowsPerCopy;
    const std::int64_t step = std::int64_t{kRowsPerCopy} * params_.token_stride;
#pragma unroll
    for (int tile = 0; tile < Config::kTokenTiles; ++tile) {
      const int slot = ((token + tile * 16) & (params_.page_size - 1)) + lane_ / kColumns;
      const std::int64_t offset =
          page[tile] * params_.page_stride + std::int64_t{slot} * params_.token_stride + column_offset_;
      const char* k = static_cast<const char*>(params_.k) + offset;
      const char* v = static_cast<const char*>(params_.v) + offset;
#pragma unroll
      for (int j = 0; j < kTileCopies; ++j, k += step) {
        const int i = tile * kTileCopies + j;
        if (kPart != Part::values) copy_row(destination(shared, i), k, tokens_left_ > i * kRowsPerCopy);
      }
#pragma unroll
      for (int j = 0; j < kTileCopies; ++j, v += step) {
        const int i = tile * kTileCopies + j;
        if (kPart == Part::keys) continue;
        copy_row(destination(shared, i) + Config::kTileBytes, v, tokens_left_ > i * kRowsPerCopy);
      }
    }
  }

  /// Any page size, any first token: one address per row.
  template <Part kPart, class CopyRow>
  __device__ __forceinline__ void copy_paged_rows(std::uint32_t shared, int first, int pages, const CopyRow& copy_row) {
#pragma unroll
    for (int i = 0; i < kCopies; ++i) {
      const int row = i * kRowsPerCopy + lane_ / kColumns;
      const int page = __shfl_sync(~0U, pages, row);
      const std::int64_t offset = offset_in_cache(params_, page, first + row) + column_offset_;
      const bool valid = tokens_left_ > i * kRowsPerCopy;
      if (kPart != Part::values) copy_row(destination(shared, i), static_cast<const char*>(params_.k) + offset, valid);
      if (kPart == Part::keys) continue;
      copy_row(destination(shared, i) + Config::kTileBytes, static_cast<const char*>(params_.v) + offset, valid);
    }
  }

  const DecodeParams& params_;
  int rank_;
  int warp_;
  int row_block_;
  int lane_;
  std::uint64_t policy_;
  std::uint32_t shared_;  ///< the lane's first place in the first stage
  std::uint32_t place_;   ///< in that of fill_next()
  int chunks_left_ = 0;
  int next_ = -1;
  DeviceItem following_;  ///< item next_ of the list
  int token_ = 0;
  int tokens_left_ = 0;  ///< from this lane's first row of the chunk to the item's end
  // contiguous
  const char* k_ = nullptr;
  const char* v_ = nullptr;
  // paged
  const std::int32_t* table_ = nullptr;
  std::int64_t column_offset_ = 0;
  int kv_end_ = 0;
  int chunks_looked_up_ = 0;                  ///< chunks left whose pages are in pages_
  int pages_ = 0;                             ///< this lane's of the batch
  int next_pages_ = 0;                        ///< of the batch after it
  int tile_pages_[Config::kTokenTiles] = {};  ///< of the next chunk
  bool whole_tiles_ = false;                  ///< in_whole_tiles()
};

}  // namespace splitwave::gpu
