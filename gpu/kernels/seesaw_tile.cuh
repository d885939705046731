// SPDX-License-Identifier: Apache-2.0
// One stage of a latent cache with the rows as M, as FlashMLA has them: S = Q K^T, 64 rows by the stage's 64 tokens,
// and O += P V. A warpgroup has the scores and weights of every second stage, which it hands to the other through
// shared memory, and half of the elements of O.
#pragma once

#include "gpu/kernels/group_tile.cuh"
#include "gpu/kernels/wgmma.cuh"

namespace splitwave::gpu {

/// Running result of a warpgroup: lane l of its warp w holds rows 16 w + l / 4 and + 8, elements 8 n + 2 (l % 4) and +
/// 1 of the warpgroup's half: o[n][0], [1] of the first row, [2], [3] of the second. The maxima are the same in both
/// warpgroups; each has the sums of its own stages.
template <class Config>
struct SeesawAccumulator {
  float o[Config::kValueDim / 16][4];
  float sum[2];
  float maximum[2];

  __device__ __forceinline__ void clear() {
    maximum[0] = maximum[1] = kNothingSeen;
    sum[0] = sum[1] = 0;
#pragma unroll
    for (int n = 0; n < Config::kValueDim / 16; ++n) {
#pragma unroll
      for (int j = 0; j < 4; ++j) o[n][j] = 0;
    }
  }

  /// Goes on with other maxima.
  __device__ __forceinline__ void raise(const float (&raised)[2]) {
    if (__any_sync(~0U, raised[0] != maximum[0] || raised[1] != maximum[1]) == 0) return;
    const float factor[2] = {ptx::exp2_approximate(maximum[0] - raised[0]),
                             ptx::exp2_approximate(maximum[1] - raised[1])};
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      maximum[i] = raised[i];
      sum[i] *= factor[i];
    }
#pragma unroll
    for (int n = 0; n < Config::kValueDim / 16; ++n) {
#pragma unroll
      for (int j = 0; j < 4; ++j) o[n][j] *= factor[j >> 1];
    }
  }
};

/// Scores of all rows and the stage's tokens: [n][j] of rows as in SeesawAccumulator, tokens 8 n + 2 (l % 4) and + 1.
template <class Config>
using SeesawScores = float[Config::kGroupTokens / 8][4];

/// What the scores of a stage become: the weights as A operand, by these maxima, and their sums before rounding.
template <class Config>
struct SeesawWeights {
  std::uint32_t p[Config::kGroupTokens / 16][4];
  float maximum[2];
  float sum[2];

  /// Keeps the compiler from making them later.
  __device__ __forceinline__ void hold() {
#pragma unroll
    for (auto& four : p) {
#pragma unroll
      for (std::uint32_t& pair : four) asm volatile("" : "+r"(pair)::"memory");
    }
  }
};

template <class Config>
__device__ __forceinline__ int warpgroup(const Cta<Config>& cta) {
  return cta.warp >> 2;
}

/// The lane's first row; the second is 8 later.
template <class Config>
__device__ __forceinline__ int first_row(const Cta<Config>& cta) {
  return member(cta) * 16 + (cta.lane >> 2);
}

/// Where a CTA's seesaw works on an item.
template <class Config>
struct Seesaw {
  const Cta<Config>& cta;
  const RowMask mask;
  int kv_end;
  int side;            ///< the warpgroup, which is also the stage whose scores it has
  std::uint32_t ring;  ///< first stage
  std::uint32_t queries;
  std::uint32_t weights;
  std::uint32_t filled;
  std::uint32_t freed;
  std::uint32_t weighed;

  __device__ __forceinline__ Seesaw(const Cta<Config>& of, const DeviceItem& item, const Rows& rows,
                                    std::uint32_t first_stage)
      : cta(of),
        mask(row_mask(of.params, item, rows)),
        kv_end(item.kv_end),
        side(static_cast<int>(wgmma::uniform(warpgroup(of)))),
        ring(first_stage),
        queries(first_stage + Config::kQueryOffset),
        weights(first_stage + Config::kWeightOffset),
        filled(ptx::shared_address(of.control().filled)),
        freed(ptx::shared_address(of.control().freed)),
        weighed(ptx::shared_address(of.control().weighed)) {}

  /// Starts the stage's scores, with the half of its keys that comes first.
  __device__ __forceinline__ void start_scores(std::uint32_t tile, SeesawScores<Config>& s) const {
#if __CUDA_ARCH__ >= 900
    wait_half(0, tile);
    multiply_keys<4>(side * 4, 0, s);
    multiply_keys<1>(8, 1, s);
    wgmma::commit();
#endif
  }

  /// The other half.
  __device__ __forceinline__ void complete_scores(std::uint32_t tile, SeesawScores<Config>& s) const {
#if __CUDA_ARCH__ >= 900
    wait_half(1, tile);
    multiply_keys<4>((side ^ 1) * 4, 1, s);
    wgmma::commit();
#endif
  }

  /// Whether some rows do not see all tokens of the tile.
  __device__ __forceinline__ bool at_edge(int position) const {
    return Config::kMasked && mask.at_edge(position, Config::kGroupTokens);
  }

  /// The warpgroup's half of a tile's values.
  __device__ __forceinline__ unsigned char* values_of(std::uint32_t tile) const {
    return cta.shared + (tile & 1) * Config::kStageBytes + side * (4 * Config::kBlockBytes);
  }

  /// Before add_values(): what lies behind the item is not added, and what must not be multiplied with zeros is added
  /// by hand. No values may be under way.
  __device__ __forceinline__ void add_edge(std::uint32_t tile, int position, SeesawAccumulator<Config>& acc) const {
    unsigned char* const values = values_of(tile);
    if (Config::kBoxes && kv_end - position < Config::kGroupTokens) clear(values, kv_end - position);
    if (!at_edge(position)) return;
    if (!ptx::any_of_warpgroup(2 + side, has_no_number(values))) return;
    multiply_seen(values, position, acc);
    clear(values, 0);
  }

  /// What the tile's values give: of the warpgroup's half of O. own: the weights, if they are this warpgroup's own.
  __device__ __forceinline__ void add_values(std::uint32_t tile, const SeesawWeights<Config>* own,
                                             SeesawAccumulator<Config>& acc) const {
    unsigned char* const values = values_of(tile);
    const std::uint64_t b = wgmma::descriptor<128, Config::kBlockBytes>(ptx::shared_address(values));
    const std::uint64_t a = wgmma::descriptor(weights);
    wgmma::fence();
#pragma unroll
    for (int k = 0; k < Config::kGroupTokens / 16; ++k) {
      if (own != nullptr) {
        wgmma::multiply_wide<typename Config::Element>(acc.o, own->p[k], wgmma::advance(b, k * 2048));
      } else {
        wgmma::multiply_wide<typename Config::Element>(acc.o, wgmma::advance(a, k * 32), wgmma::advance(b, k * 2048));
      }
    }
    wgmma::commit();
  }

  /// The other warpgroup's weights are there. They may have other maxima.
  __device__ __forceinline__ void wait_weights(std::uint32_t tile, SeesawAccumulator<Config>& acc) const {
#if __CUDA_ARCH__ >= 900
    ptx::wait_own_barrier(weighed + (side ^ 1) * 8, tile >> 1 & 1);
    const auto* maxima = reinterpret_cast<const float*>(cta.shared + Config::kMaximaOffset) + first_row(cta);
    const float raised[2] = {maxima[0], maxima[8]};
    acc.raise(raised);
#endif
  }

  /// This warpgroup needs a half of the stage no more: of its own the first, of the other's the second.
  __device__ __forceinline__ void free_half(int stage) const {
#if __CUDA_ARCH__ >= 900
    if (cta.lane == 0) ptx::arrive(freed + stage * 16 + (stage == side ? 0 : 8));
#endif
  }

  /// Scores become weights. A maximum is raised where the scores outgrow it.
  __device__ __forceinline__ void weigh(int position, SeesawScores<Config>& s, const float (&maximum)[2],
                                        SeesawWeights<Config>& to) const {
    using T = ptx::Traits<typename Config::Element>;
    float scale = cta.params.scale_log2;
    if (at_edge(position) || kv_end - position < Config::kGroupTokens || scale < 0) {
      hide(position, scale, s);
      scale = 1;
    }
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      float x = fmaxf(s[0][2 * i], s[0][2 * i + 1]);
#pragma unroll
      for (int n = 1; n < Config::kGroupTokens / 8; ++n) x = fmaxf(x, fmaxf(s[n][2 * i], s[n][2 * i + 1]));
      x = fmaxf(x, __shfl_xor_sync(~0U, x, 1));
      x = fmaxf(x, __shfl_xor_sync(~0U, x, 2)) * scale;
      to.maximum[i] = x > maximum[i] + kSlack ? x : maximum[i];
      to.sum[i] = 0;
    }
#pragma unroll
    for (int n = 0; n < Config::kGroupTokens / 8; ++n) {
      float x[4];
#pragma unroll
      for (int j = 0; j < 4; ++j) x[j] = ptx::exp2_approximate(__fmaf_rn(s[n][j], scale, -to.maximum[j >> 1]));
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        to.sum[i] += x[2 * i] + x[2 * i + 1];
        to.p[n >> 1][(n & 1) * 2 + i] = T::pack(x[2 * i], x[2 * i + 1]);
      }
    }
  }

  /// Goes on with the weights' maxima and leaves the weights for the other warpgroup.
  __device__ __forceinline__ void hand_over(const SeesawWeights<Config>& own, SeesawAccumulator<Config>& acc) const {
#if __CUDA_ARCH__ >= 900
    unsigned char* const to = cta.shared + Config::kWeightOffset + (cta.lane & 3) * 4;
#pragma unroll
    for (int n = 0; n < Config::kGroupTokens / 8; ++n) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        *reinterpret_cast<std::uint32_t*>(to + wgmma::swizzled(first_row(cta) + 8 * i, n)) =
            own.p[n >> 1][(n & 1) * 2 + i];
      }
    }
    if ((cta.lane & 3) == 0) {
      auto* maxima = reinterpret_cast<float*>(cta.shared + Config::kMaximaOffset) + first_row(cta);
      maxima[0] = own.maximum[0];
      maxima[8] = own.maximum[1];
    }
    wgmma::publish();
    __syncwarp();
    if (cta.lane == 0) ptx::arrive(weighed + side * 8);
    acc.raise(own.maximum);
    acc.sum[0] += own.sum[0];
    acc.sum[1] += own.sum[1];
#endif
  }

 private:
  /// The first or second half of this warpgroup's stage is there.
  __device__ __forceinline__ void wait_half(int half, std::uint32_t tile) const {
    ptx::wait_own_barrier(filled + side * 16 + half * 8, tile >> 1 & 1);
    if constexpr (!Config::kBoxes) wgmma::publish();
    wgmma::fence();
  }

  /// kBlocks of 64 elements of the head dimension, from block `first` on.
  template <int kBlocks>
  __device__ __forceinline__ void multiply_keys(int first, int add, SeesawScores<Config>& s) const {
    const std::uint64_t a = wgmma::descriptor(queries + first * Config::kQueryBlockBytes);
    const std::uint64_t b = wgmma::descriptor(ring + side * Config::kStageBytes + first * Config::kBlockBytes);
#pragma unroll
    for (int k = 0; k < 4 * kBlocks; ++k) {
      const int block = k >> 2;
      wgmma::multiply<typename Config::Element, wgmma::Major::k>(
          s, wgmma::advance(a, block * Config::kQueryBlockBytes + (k & 3) * 32),
          wgmma::advance(b, block * Config::kBlockBytes + (k & 3) * 32), add != 0 || k > 0 ? 1 : 0);
    }
  }

  /// What is masked must be -inf after it is scaled, by whatever number.
  __device__ __forceinline__ void hide(int position, float scale, SeesawScores<Config>& s) const {
    const bool edge = at_edge(position);
    const int query[2] = {mask.query(first_row(cta)), mask.query(first_row(cta) + 8)};
#pragma unroll
    for (int n = 0; n < Config::kGroupTokens / 8; ++n) {
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const int at = position + n * 8 + 2 * (cta.lane & 3) + (j & 1);
        const bool seen = at < kv_end && (!Config::kMasked || !edge || mask.sees(query[j >> 1], at));
        s[n][j] = seen ? s[n][j] * scale : -INFINITY;
      }
    }
  }

  /// Whether an element of the warpgroup's half of V is no number: as group_tile.cuh's, for 128 threads.
  __device__ __forceinline__ bool has_no_number(const unsigned char* values) const {
    NumberCheck<typename Config::Element> check;
#pragma unroll 4
    for (int at = static_cast<int>(threadIdx.x & 127) * 16; at < 4 * Config::kBlockBytes; at += 128 * 16) {
      check.add(*reinterpret_cast<const uint4*>(values + at));
    }
    return check.failed();
  }

  /// O += P V where a value that some row does not see is no number: each row adds what it sees, one after the other.
  __device__ __forceinline__ void multiply_seen(const unsigned char* values, int position,
                                                SeesawAccumulator<Config>& acc) const {
    using Element = typename Config::Element;
    const unsigned char* p = cta.shared + Config::kWeightOffset;
#pragma unroll 1
    for (int token = 0; token < Config::kGroupTokens; ++token) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const int row = first_row(cta) + 8 * i;
        if (!mask.sees(mask.query(row), position + token)) continue;
        const float weight = static_cast<float>(
            *reinterpret_cast<const Element*>(p + wgmma::swizzled(row, token >> 3) + (token & 7) * 2));
#pragma unroll
        for (int n = 0; n < Config::kValueDim / 16; ++n) {
          const auto* v = reinterpret_cast<const Element*>(values + (n >> 3) * Config::kBlockBytes +
                                                           wgmma::swizzled(token, n & 7) + (cta.lane & 3) * 4);
          acc.o[n][2 * i] += weight * static_cast<float>(v[0]);
          acc.o[n][2 * i + 1] += weight * static_cast<float>(v[1]);
        }
      }
    }
  }

  /// Tokens from `first` on add nothing to the product of all: they were multiplied by hand, or lie behind the item.
  __device__ __forceinline__ void clear(unsigned char* values, int first) const {
    ptx::sync_warpgroup(2 + side);
#pragma unroll 1
    for (int at = static_cast<int>(threadIdx.x & 127); at < 4 * Config::kGroupTokens * 8; at += 128) {
      if ((at >> 3 & (Config::kGroupTokens - 1)) >= first) {
        *reinterpret_cast<uint4*>(values + at * 16) = make_uint4(0, 0, 0, 0);
      }
    }
    wgmma::publish();
    ptx::sync_warpgroup(2 + side);
  }
};

}  // namespace splitwave::gpu
