// SPDX-License-Identifier: Apache-2.0
// The rules by which XQA's callers choose its sub-sequences. Sources: flashinfer-ai/flashinfer at fb28d7242,
// csrc/xqa/mha.cu; NVIDIA/TensorRT-LLM at 12453212b, cpp/tensorrt_llm/kernels/decoderMaskedMultiheadAttention/.
#pragma once

#include <cstdint>

namespace splitwave::schedules {

inline constexpr std::int32_t kXqaCtaTile = 256;      ///< KV tokens: four warps of 64 (mha.cu:76, :89, :100-102)
inline constexpr std::int32_t kXqaRowPadding = 16;    ///< a tile's rows are a multiple of it (mha.cu:89)
inline constexpr std::int32_t kXqaRowsPerBlock = 32;  ///< of several query tokens (M_TILESIZE, defines.h:75-77)
inline constexpr std::int32_t kXqaPageSize = 64;      ///< tokens, where a cache has no pages; the kernel knows no other

/// Sub-sequences of every (request, KV head) as FlashInfer's launcher chooses them (mha.cu:3123-3130): SMs / (requests
/// x KV heads), at least 1 and at most the tiles of cta_tile tokens in max_seq_len, which is the page table's width in
/// tokens (flashinfer/xqa.py:361-363).
std::int32_t xqa_num_sub_sequences(std::int64_t batch_size, std::int64_t num_kv_heads, std::int64_t max_seq_len,
                                   std::int32_t cta_tile, std::int32_t num_sms);

/// TensorRT-LLM's computeMultiBlockCount (decoderXQAImplCommon.h:360-395, decoderXQAConstants.h:27-44): at least 128
/// tokens each, no more than the square root of 8 x that many, eight waves of CTAs, 6,000 sub-sequences of all
/// requests. max_past_kv_length: tokens of the longest request, the new one included (its PyTorch attention passes
/// kv_lens).
std::int32_t trtllm_multi_block_count(std::int64_t batch_size, std::int64_t num_kv_heads,
                                      std::int64_t max_past_kv_length, std::int32_t num_sms);

}  // namespace splitwave::schedules
