// SPDX-License-Identifier: Apache-2.0
// The keys of a latent cache in boxes of a tensor map. One thread asks for them, with nine instructions a tile, where
// copies of 16 bytes are four warps' work, and energy, of which the device has no more than enough (docs/kernels.md).
#pragma once

#include "gpu/kernels/key_map.h"
#include "gpu/kernels/latent.cuh"

namespace splitwave::gpu {

/// Asks for tiles of 64 tokens, over the ends of items. Behind an item's last token it brings whatever lies there.
template <class Config>
class BoxLoader {
 public:
  __device__ __forceinline__ BoxLoader(const DecodeParams& params, const KeyMap& keys, std::uint32_t ring,
                                       int row_block)
      : params_(params), keys_(keys), ring_(ring), row_block_(row_block) {}

  __device__ __forceinline__ void start(const DeviceItem& item) {
    const ChunkRange range = chunk_range<Config>(item, 0, 0, 0, row_block_);
    tiles_left_ = (range.end - range.first + Config::kChunks - 1) / Config::kChunks;
    next_ = item.next;
    token_ = item.kv_begin;
    if constexpr (Config::kPaged) {
      table_ = params_.block_table + item.kv_base;
      last_token_ = item.kv_end - 1;
      if (tiles_left_ == 0) return;
      page_ = look_up(token_);
      next_page_ = look_up(token_ + kBoxTokens);
    } else {
      first_row_ = static_cast<int>(item.kv_base / (static_cast<std::uint32_t>(params_.token_stride) / 16));
    }
  }

  /// Goes on to the list's next item if this one is used up. Whether there are tiles to ask for.
  __device__ __forceinline__ bool has_more() {
    while (tiles_left_ == 0 && next_ >= 0) start(load_item(params_, next_));
    return tiles_left_ > 0;
  }

  /// Asks for a half of the next tile, to lie in `stage`, as Loader::fill_half() does. filled: the half's barrier.
  template <bool kLast>
  __device__ __forceinline__ void fill_half(int stage, std::uint32_t filled) {
    const int first = (stage == 1) != kLast ? 4 : 0;
    ptx::expect_bytes(filled, (kLast ? 4 : 5) * Config::kBlockBytes);
#pragma unroll
    for (int block = 0; block < 4; ++block) copy(stage, filled, first + block);
    if (!kLast) copy(stage, filled, 8);
    if (kLast) advance();
  }

 private:
  __device__ __forceinline__ int look_up(int token) const {
    return __ldg(table_ + (min(token, last_token_) >> params_.page_shift));
  }

  __device__ __forceinline__ void advance() {
    --tiles_left_;
    token_ += kBoxTokens;
    if constexpr (Config::kPaged) {
      page_ = next_page_;
      next_page_ = look_up(token_ + kBoxTokens);
    }
  }

  __device__ __forceinline__ int row() const {
    if constexpr (Config::kPaged) return page_ * params_.page_size + (token_ & (params_.page_size - 1));
    return first_row_ + token_;
  }

  __device__ __forceinline__ void copy(int stage, std::uint32_t filled, int block) const {
    ptx::copy_box(ring_ + stage * Config::kStageBytes + block * Config::kBlockBytes, &keys_, block * kBoxElements,
                  row(), filled, params_.l2_policy);
  }

  const DecodeParams& params_;
  const KeyMap& keys_;
  std::uint32_t ring_;
  int row_block_;
  int tiles_left_ = 0;
  int next_ = -1;
  int token_ = 0;
  int first_row_ = 0;  // contiguous
  // paged
  const std::int32_t* table_ = nullptr;
  int last_token_ = 0;
  int page_ = 0;       ///< of the tile
  int next_page_ = 0;  ///< of the one after it
};

/// Asks for the keys of a list's items. One thread.
template <class Config>
__device__ __forceinline__ void load_boxes(const Cta<Config>& cta, int list, BoxLoader<Config>& loader,
                                           LatentStage<Config>& next) {
  const DecodeParams& params = cta.params;
  loader.start(params.uniform.parts > 0 ? uniform_item<Config>(params, list) : load_item(params, list));
#pragma unroll 1
  while (loader.has_more()) {
    const std::uint32_t freed = ptx::shared_address(cta.control().freed) + next.stage * 16;
    const std::uint32_t filled = ptx::shared_address(cta.control().filled) + next.stage * 16;
    ptx::wait_own_barrier(freed, next.round ^ 1);
    loader.template fill_half<false>(next.stage, filled);
    ptx::wait_own_barrier(freed + 8, next.round ^ 1);
    loader.template fill_half<true>(next.stage, filled + 8);
    next.next();
  }
}

}  // namespace splitwave::gpu
