// SPDX-License-Identifier: Apache-2.0
// LeanAttention's tile and grid rules: the paper (arXiv 2405.10480, MLSys 2025) and its ONNX Runtime code.
#pragma once

#include <cstdint>

namespace splitwave::schedules {

/// Tokens of a LeanTile: 256 for head dim 64 and 128 for head dim 128 (section 4.2). The paper leaves other head dims
/// open; here the K tile stays within 32 KiB of 16-bit elements: 256 up to 64, 128 up to 128, else 64.
std::int32_t lean_tile_tokens(std::int32_t head_dim);

/// Query rows of a tile: the paper does not print T_m; its ONNX Runtime code has 64 (lean_fwd_launch_template.h:67).
inline constexpr std::int32_t kLeanTileRows = 64;

/// CTAs of the paper's grid for `total_tiles` LeanTiles: all that are resident (section 4.3, equation 2), fewer if a
/// CTA would get fewer than two tiles (appendix D, "at least two LeanTiles"). 0 if there is nothing to do.
std::int64_t lean_grid(std::int64_t total_tiles, std::int64_t outputs, std::int64_t resident_ctas);

/// ONNX Runtime's plan for a padded batch (onnxruntime/contrib_ops/cuda/bert/lean_attention/lean_api.cc:198-233).
struct OrtLeanGrid {
  std::int64_t grid = 0;       ///< CTAs
  std::int64_t max_tiles = 0;  ///< tiles of the first high_load CTAs; the others have one fewer
  std::int64_t high_load = 0;
  std::int64_t num_splits = 1;  ///< bound on CTAs per output; sizes its buffers
};
OrtLeanGrid ort_lean_grid(std::int64_t num_n_blocks, std::int64_t num_m_blocks, std::int64_t batch_size,
                          std::int64_t num_heads_k, std::int64_t num_sms);

}  // namespace splitwave::schedules
