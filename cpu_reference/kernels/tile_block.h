// SPDX-License-Identifier: Apache-2.0
// What passes between run_plan and its hot loop. Translation units that are compiled for other instruction sets include
// this, so there is only plain data here: no inline function that the linker could take from the wrong one.
#pragma once

#include <cstddef>
#include <cstdint>

namespace splitwave::cpu_reference {

/// Most tokens of one block.
inline constexpr std::int32_t kBlockTokens = 128;
/// Tokens that one softmax takes at a time. More would push what is fetched ahead out of a 32 KiB L1 cache.
inline constexpr std::int32_t kStepTokens = 32;
/// Rows are padded to a multiple of this many elements, the widest vector.
inline constexpr std::int32_t kPadElements = 16;

/// One block of KV tokens for some query rows, and the running softmax of these rows.
struct TileBlock {
  // Inputs. The dimensions are multiples of kPadElements; elements that the geometry does not have are 0.
  const float* q;  ///< as PackFunction writes it
  std::int32_t rows;
  std::int32_t tokens;  ///< 1..kBlockTokens
  std::int32_t head_dim;
  std::int32_t value_dim;
  float scale;  ///< softmax scale
  /// Address of each token's K and V row, and as many more addresses of rows as fill up kPadElements.
  const std::byte* const* k_rows;
  const std::byte* const* v_rows;
  bool k_contiguous;  ///< K rows of consecutive tokens follow each other in memory
  bool v_contiguous;
  /// Rows that the next block will read, to be fetched meanwhile: kStepTokens + kPadElements addresses each, of which
  /// any may be stale, because nothing is read there; next_k_rows is null if there are none.
  const std::byte* const* next_k_rows;
  const std::byte* const* next_v_rows;
  // State of each row: greatest score, sum of e^(score - greatest), sum of e^(score - greatest) * v.
  float* row_max;
  float* row_weight;
  float* sums;                ///< row r begins at sums + r * sum_stride
  std::ptrdiff_t sum_stride;  ///< floats
};

/// Folds the block into the state of its rows: one step of online softmax in fp32. A row whose scores are all -inf
/// keeps weight 0. A score of NaN or +inf makes the weight and all sums of its row NaN.
using TileFunction = void (*)(const TileBlock& block);

/// Converts `row_count` stored query rows of `elements` elements to floats for TileBlock::q, which takes row_count *
/// head_dim of them.
using PackFunction = void (*)(const std::byte* const* rows, std::int32_t row_count, std::int32_t elements,
                              std::int32_t head_dim, float* to);

struct TileKernel {
  TileFunction attend;
  PackFunction pack_query;
};

/// The kernels of one instruction set, by element type.
struct TileKernels {
  TileKernel f16;
  TileKernel bf16;
  TileKernel f32;
};

TileKernels baseline_kernels();
TileKernels avx2_kernels();
TileKernels avx512_kernels();

}  // namespace splitwave::cpu_reference
