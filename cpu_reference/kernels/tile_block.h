// SPDX-License-Identifier: Apache-2.0
// What passes between run_plan and its hot loop. Translation units that are compiled for other instruction sets include
// this, so there is only plain data here: no inline function that the linker could take from the wrong one.
#pragma once

#include <cstddef>
#include <cstdint>

namespace splitwave::cpu_reference {

/// Most tokens of one block. More would push the next block out of a 48 KiB L1 cache while it is being fetched; fewer
/// would spend more time between blocks.
inline constexpr std::int32_t kBlockTokens = 32;
/// Rows are padded to a multiple of this many elements, the widest vector.
inline constexpr std::int32_t kPadElements = 16;

/// One block of KV tokens for some query rows, and the running softmax of these rows.
struct TileBlock {
  // Inputs. The dimensions are multiples of kPadElements; elements that the geometry does not have are 0.
  const float* q;           ///< row r begins at q + r * q_stride
  std::ptrdiff_t q_stride;  ///< floats
  std::int32_t rows;
  std::int32_t tokens;  ///< 1..kBlockTokens
  std::int32_t head_dim;
  std::int32_t value_dim;
  float scale;                     ///< softmax scale
  const std::byte* const* k_rows;  ///< address of each token's K row
  const std::byte* const* v_rows;
  // Rows that the next block will read, to be fetched meanwhile.
  const std::byte* const* next_k_rows;
  const std::byte* const* next_v_rows;
  std::int32_t next_tokens;
  std::int32_t k_row_bytes;
  std::int32_t v_row_bytes;  ///< 0 if V is a part of K
  // State of each row: greatest score, sum of e^(score - greatest), sum of e^(score - greatest) * v.
  float* row_max;
  float* row_weight;
  float* sums;                ///< row r begins at sums + r * sum_stride
  std::ptrdiff_t sum_stride;  ///< floats
};

/// Folds the block into the state of its rows: one step of online softmax in fp32. A row whose scores are all -inf
/// keeps weight 0. A score of NaN or +inf makes the weight and all sums of its row NaN.
using TileFunction = void (*)(const TileBlock& block);

/// Converts `count` stored elements to float.
using WidenFunction = void (*)(const std::byte* from, std::int32_t count, float* to);

struct TileKernel {
  TileFunction attend;
  WidenFunction widen;
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
