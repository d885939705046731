// SPDX-License-Identifier: Apache-2.0
// How a cluster that holds all keys of an item (whole_latent.cuh) brings them: each CTA its 64 tokens' keys and, of its
// peers' tokens, its part of the values. In boxes one thread asks for all, else four warps each for keys and values,
// which takes 0.6 us longer, paged 1.2. A CTA alone (alone_latent.cuh) asks for its two tiles' keys.
#pragma once

#include "gpu/kernels/cta.cuh"
#include "gpu/kernels/wgmma.cuh"
#include "gpu/kernels/whole_latent_config.cuh"

namespace splitwave::gpu {

/// CTAs of the cluster that have tokens of the item: the first so many; or tiles of a CTA alone.
template <class Config>
__device__ __forceinline__ int ctas_with_tokens(const DeviceItem& item) {
  return (item.kv_end - item.kv_begin + Config::kGroupTokens - 1) / Config::kGroupTokens;
}

/// The peers in the order in which a CTA thinks of them, i from 1 on: all of them at once would ask the same one.
template <class Config>
__device__ __forceinline__ int peer_of(const Cta<Config>& cta, int i) {
  return (cta.rank + i) & (Config::kSingleItemCluster - 1);
}

/// Where the values of a CTA's tokens lie, from the CTA's shared memory on.
template <class Config>
__device__ __forceinline__ std::uint32_t value_place(const Cta<Config>& cta, int of) {
  return (of == cta.rank ? 0 : Config::kValueOffset) + of * Config::kValuePlaceBytes;
}

/// Barriers: of the parts of the keys, then of the values; of a CTA alone of those of its second tile.
template <class Config>
__device__ __forceinline__ std::uint32_t keys_filled(const Cta<Config>& cta, int part, int tile = 0) {
  return ptx::shared_address(tile == 0 ? &cta.control().filled[part] : &cta.control().freed[part]);
}
template <class Config>
__device__ __forceinline__ std::uint32_t values_filled(const Cta<Config>& cta) {
  return ptx::shared_address(&cta.control().filled[Config::kKeyParts]);
}

/// One thread asks for everything, in boxes.
template <class Config>
class BoxProducer {
 public:
  /// Looks up where the tokens of all CTAs lie.
  __device__ __forceinline__ BoxProducer(const Cta<Config>& cta, const DeviceItem& item, const KeyMap& keys)
      : cta_(cta), keys_(keys), ctas_(ctas_with_tokens<Config>(item)) {
#pragma unroll
    for (int i = 0; i < kTiles; ++i) {
      const int tile = Config::kCtaTiles > 1 ? i : peer_of(cta, i);
      rows_[i] = row_of(item, item.kv_begin + tile * Config::kGroupTokens);
    }
  }

  __device__ __forceinline__ void ask_for_keys() const {
#pragma unroll
    for (int part = 0; part < Config::kKeyParts; ++part) {
#pragma unroll
      for (int tile = 0; tile < Config::kCtaTiles; ++tile) {
        if (cta_.rank + tile >= ctas_) break;
        ptx::expect_bytes(keys_filled(cta_, part, tile), Config::kKeyBlocksAtOnce * Config::kBlockBytes);
#pragma unroll
        for (int i = 0; i < Config::kKeyBlocksAtOnce; ++i) {
          const int block = part * Config::kKeyBlocksAtOnce + i;
          copy(tile * Config::kTileBytes + block * Config::kBlockBytes, block, rows_[tile],
               keys_filled(cta_, part, tile));
        }
      }
    }
  }

  __device__ __forceinline__ void ask_for_values() const {
    ptx::expect_bytes(values_filled(cta_), (ctas_ - (cta_.rank < ctas_ ? 1 : 0)) * Config::kValuePlaceBytes);
#pragma unroll
    for (int i = 1; i < Config::kSingleItemCluster; ++i) {
      const int peer = peer_of(cta_, i);
      if (peer >= ctas_) continue;
#pragma unroll
      for (int d = 0; d < Config::kCtaBlocks; ++d) {
        copy(value_place(cta_, peer) + d * Config::kBlockBytes, cta_.rank * Config::kCtaBlocks + d, rows_[i],
             values_filled(cta_));
      }
    }
  }

 private:
  static constexpr int kTiles = Config::kSingleItemCluster * Config::kCtaTiles;

  __device__ __forceinline__ int row_of(const DeviceItem& item, int token) const {
    const DecodeParams& params = cta_.params;
    if constexpr (!Config::kPaged) {
      return static_cast<int>(item.kv_base / (static_cast<std::uint32_t>(params.token_stride) / 16)) + token;
    }
    const int page = __ldg(params.block_table + item.kv_base + (min(token, item.kv_end - 1) >> params.page_shift));
    return page * params.page_size + (token & (params.page_size - 1));
  }

  __device__ __forceinline__ void copy(std::uint32_t offset, int block, int row, std::uint32_t barrier) const {
    ptx::copy_box(ptx::shared_address(cta_.shared) + offset, &keys_, block * kBoxElements, row, barrier,
                  cta_.params.l2_policy);
  }

  const Cta<Config>& cta_;
  const KeyMap& keys_;
  int ctas_;
  int rows_[kTiles];  ///< of peer_of(i)'s first token, or of a tile's
};

/// Boxes bring what lies behind the item's end, too. Its values, if there are such in the last tile, become zeros: what
/// they were times a weight of 0 need not be 0. place: of that tile's. A warpgroup.
template <class Config>
__device__ __forceinline__ void clear_values_behind(const Cta<Config>& cta, const DeviceItem& item, int ctas,
                                                    std::uint32_t place) {
  if constexpr (!Config::kBoxes) return;
  const int valid = item.kv_end - item.kv_begin - (ctas - 1) * Config::kGroupTokens;
#pragma unroll 1
  for (int at = valid * 8 + static_cast<int>(threadIdx.x) % 128; at < Config::kGroupTokens * 8; at += 128) {
#pragma unroll
    for (int d = 0; d < Config::kCtaBlocks; ++d) {
      *reinterpret_cast<uint4*>(cta.shared + place + d * Config::kBlockBytes + at * 16) = make_uint4(0, 0, 0, 0);
    }
  }
}

/// The rows of 16 tokens of which this lane copies 16 bytes: four of them, from its eighth of a block on.
template <class Config>
class CopiedRows {
 public:
  __device__ __forceinline__ void find(const Cta<Config>& cta, const DeviceItem& item, int token) {
    const DecodeParams& params = cta.params;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int at = token + i * 4 + (cta.lane >> 3);
      std::int64_t offset = static_cast<std::int64_t>(item.kv_base) * 16 + std::int64_t{at} * params.token_stride;
      if constexpr (Config::kPaged) {
        const int there = min(at, item.kv_end - 1);
        const int page = __ldg(params.block_table + item.kv_base + page_of(params, there));
        offset = offset_in_cache(params, page, there) + item.kv_head * params.head_stride;
      }
      from_[i] = static_cast<const char*>(params.k) + offset + (cta.lane & 7) * 16;
      exists_[i] = at < item.kv_end;
    }
  }

  /// Asks for kBlocks blocks of 64 elements from `first` on. to: the place of the first token in the first of them.
  template <int kBlocks>
  __device__ __forceinline__ void copy(const Cta<Config>& cta, int first, std::uint32_t to) const {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const std::uint32_t at = to + wgmma::swizzled(i * 4 + (cta.lane >> 3), cta.lane & 7);
#pragma unroll
      for (int block = 0; block < kBlocks; ++block) {
        ptx::copy_16(at + block * Config::kBlockBytes, from_[i] + (first + block) * 128, exists_[i],
                     cta.params.l2_policy);
      }
    }
  }

 private:
  const char* from_[4];
  bool exists_[4];
};

/// Asks for the keys of the CTA's tokens. The threads that work.
template <class Config>
__device__ __forceinline__ void copy_own_keys(const Cta<Config>& cta, const DeviceItem& item) {
  const int tile = cta.warp / 4;
  const int tokens = cta.warp % 4 * Config::kTokens;
  CopiedRows<Config> rows;
  rows.find(cta, item, item.kv_begin + (cta.rank + tile) * Config::kGroupTokens + tokens);
  const std::uint32_t to = ptx::shared_address(cta.shared) + tile * Config::kTileBytes + tokens * 128;
  rows.template copy<Config::kKeyBlocks>(cta, 0, to);
}

/// Asks for the CTA's part of its peers' values. The loaders' threads.
template <class Config>
__device__ __forceinline__ void copy_peer_values(const Cta<Config>& cta, const DeviceItem& item) {
  constexpr int kPeers = Config::kSingleItemCluster - 1;
  const int tokens = (cta.warp - Config::kWarps) * Config::kTokens;
  CopiedRows<Config> rows[kPeers];  // all pages are looked up before the first is waited for
#pragma unroll
  for (int i = 0; i < kPeers; ++i) {
    rows[i].find(cta, item, item.kv_begin + peer_of(cta, i + 1) * Config::kGroupTokens + tokens);
  }
#pragma unroll
  for (int i = 0; i < kPeers; ++i) {
    const int peer = peer_of(cta, i + 1);
    if (peer >= ctas_with_tokens<Config>(item)) continue;
    rows[i].template copy<Config::kCtaBlocks>(cta, cta.rank * Config::kCtaBlocks,
                                              ptx::shared_address(cta.shared) + value_place(cta, peer) + tokens * 128);
  }
  ptx::arrive_after_copies(values_filled(cta));
}

}  // namespace splitwave::gpu
