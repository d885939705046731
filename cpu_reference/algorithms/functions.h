// SPDX-License-Identifier: Apache-2.0
// The attention algorithms of the papers, each as its pseudocode has it and nothing else, in double: to be read, to be
// run beside each other, and to be tested against the oracle. None of them is fast. Sizes and counts of blocks, tiles,
// splits and CTAs are at least 1; nothing throws but for memory. Each comes with its IO model, ..._io.
#pragma once

#include <cstdint>

#include "cpu_reference/algorithms/head.h"

namespace splitwave::cpu_reference::algorithms {

/// Standard attention: S = Q K^T, P = softmax(S), O = P V, with S and P in slow memory. FlashAttention (arXiv
/// 2205.14135), Algorithm 0.
HeadResult standard_attention(const Head& head);
/// An algorithm's IO model, here and below: the elements that its loads and stores move, by what they are, as a formula
/// of the head's shape and the block sizes that the algorithm is given (docs/algorithms.md derives it). What the
/// algorithm counts while its loops run, HeadResult::traffic, is the same.
Traffic standard_attention_io(const HeadShape& shape);

/// Safe softmax in three passes over a row's scores (largest score, denominator, weights), the last with the weighted
/// sum of V. Lecture "Online Safe Softmax", Alg1.
HeadResult three_pass_attention(const Head& head);
/// Elements that three_pass_attention() moves.
Traffic three_pass_attention_io(const HeadShape& shape);

/// Online softmax (arXiv 1805.02867, Algorithm 3): the first pass keeps the largest score and a denominator rescaled to
/// it, the second adds up weighted rows of V.
HeadResult two_pass_attention(const Head& head);
/// Elements that two_pass_attention() moves.
Traffic two_pass_attention_io(const HeadShape& shape);

/// The recurrence behind FlashAttention: one pass that also keeps the output of the tokens so far, normalised. Lecture
/// "One-pass Attention".
HeadResult one_pass_attention(const Head& head);
/// Elements that one_pass_attention() moves.
Traffic one_pass_attention_io(const HeadShape& shape);

/// FlashAttention (arXiv 2205.14135), Algorithm 1: outer loop over blocks of K and V, inner over blocks of Q; output,
/// largest score and denominator are read and written back in every step. Blocks are as large as `sram_elements`
/// elements of on-chip memory allow, at least one row.
HeadResult flash_attention_1(const Head& head, std::int64_t sram_elements);
/// Elements that flash_attention_1() moves.
Traffic flash_attention_1_io(const HeadShape& shape, std::int64_t sram_elements);

/// FlashAttention-2 (arXiv 2307.08691), Algorithm 1: outer loop over blocks of Q; the output is normalised once, at the
/// end.
HeadResult flash_attention_2(const Head& head, std::int64_t block_rows, std::int64_t block_tokens);
/// Elements that flash_attention_2() moves.
Traffic flash_attention_2_io(const HeadShape& shape, std::int64_t block_rows, std::int64_t block_tokens);

/// Flash-Decoding (PyTorch blog, October 2023): the context in `splits` parts of equally many blocks (the last ones may
/// be shorter or empty), FlashAttention-2 on each, then a separate reduction of the normalised outputs weighted by
/// their LSE.
HeadResult flash_decoding(const Head& head, std::int64_t block_tokens, std::int64_t splits);
/// Elements that flash_decoding() moves.
Traffic flash_decoding_io(const HeadShape& shape, std::int64_t block_tokens, std::int64_t splits);

/// LeanAttention (arXiv 2405.10480), Algorithms 1 and 2, each of the `grid` CTAs a thread: equal shares of all
/// LeanTiles, partials through memory with a flag each, and the CTA with an output tile's first LeanTile as the host
/// that waits and reduces.
HeadResult lean_attention(const Head& head, std::int64_t tile_rows, std::int64_t tile_tokens, std::int64_t grid);
/// Elements that lean_attention() moves.
Traffic lean_attention_io(const HeadShape& shape, std::int64_t tile_rows, std::int64_t tile_tokens, std::int64_t grid);

/// ETAP (arXiv 2506.01969), Algorithm 1: everything transposed, S^T = K Q^T and O^T = V^T P^T, with the context on the
/// M side of the matrix instruction; the output in two halves of its elements, one per warpgroup.
HeadResult etap_attention(const Head& head, std::int64_t block_rows, std::int64_t block_tokens);
/// Elements that etap_attention() moves.
Traffic etap_attention_io(const HeadShape& shape, std::int64_t block_rows, std::int64_t block_tokens);

}  // namespace splitwave::cpu_reference::algorithms
