// SPDX-License-Identifier: Apache-2.0
#include "schedules/rules/fa3.h"

#include <algorithm>
#include <cmath>

#include "schedules/cut.h"

namespace splitwave::schedules {
namespace {

constexpr std::int64_t kL2Bytes = std::int64_t{50} * 1024 * 1024;  // heuristics.h:31

/// The branches before and after the guard for short contexts; `guard` returns 0 to let the efficiency loop decide.
template <typename Guard>
SplitChoice choose(const Fa3SplitArguments& a, Guard guard) {
  if (static_cast<float>(a.total_mblocks) >= 0.8F * static_cast<float>(a.num_sms)) {
    if (a.size_one_kv_head > kL2Bytes && a.num_m_blocks >= 2 * std::int64_t{a.num_sms} && !a.is_causal_or_local) {
      const std::int64_t splits = std::min<std::int64_t>(ceil_div(a.size_one_kv_head, kL2Bytes), a.max_splits);
      return {static_cast<std::int32_t>(splits), "one KV head exceeds 50 MiB of L2 and is read many times"};
    }
    return {1, "the tiles fill 80 % of the SMs"};
  }
  const SplitChoice guarded = guard(a);
  if (guarded.num_splits > 0) return guarded;
  const std::int64_t most = std::min<std::int64_t>({a.max_splits, a.num_sms, a.num_n_blocks});
  return {most_efficient_splits(a.total_mblocks, a.num_sms, a.num_n_blocks, static_cast<std::int32_t>(most), false),
          "the fewest splits with 85 % of the best wave efficiency"};
}

}  // namespace

TileShape fa3_tile(const Fa3TileArguments& a) {
  const bool narrow = a.is_causal || a.is_local || a.paged_kv_non_tma;
  if (a.headdim <= 64) {
    if (a.headdim_v == 512) return {64, 64};
    if (a.headdim_v == 256) return {128, 96};
    return {192, narrow ? 128 : 192};
  }
  if (a.headdim <= 96) return {192, a.is_local || a.paged_kv_non_tma ? 128 : 144};
  if (a.headdim <= 128) return {128, narrow ? 128 : 176};
  if (a.headdim <= 192) {
    if (a.paged_kv_non_tma || a.is_local) return {128, 96};
    return {128, a.headdim_v <= 128 ? 128 : 112};
  }
  return {128, a.is_local ? 64 : 80};
}

bool fa3_should_pack_gqa(bool varlen_q, std::int64_t seqlen_q, std::int64_t qhead_per_khead, std::int32_t block_m) {
  if (varlen_q) return true;
  const auto efficiency = [block_m](std::int64_t rows) {
    return static_cast<float>(rows) / static_cast<float>(ceil_div(rows, block_m) * block_m);
  };
  return efficiency(seqlen_q) < 0.9 * efficiency(seqlen_q * qhead_per_khead);
}

SplitChoice fa3_num_splits(const Fa3SplitArguments& arguments) {
  return choose(arguments, [](const Fa3SplitArguments& a) -> SplitChoice {
    if (a.num_n_blocks <= 4) return {1, "a context of 4 KV blocks or fewer is not split"};
    return {0, ""};
  });
}

SplitChoice seq_aware_num_splits(const Fa3SplitArguments& arguments) {
  return choose(arguments, [](const Fa3SplitArguments& a) -> SplitChoice {
    if (a.num_n_blocks <= 3) return {1, "a context of 3 KV blocks or fewer is not split"};
    if (a.num_n_blocks <= 4 && a.total_mblocks >= 4) return {1, "4 KV blocks and 4 tiles or more: not split"};
    if (a.num_n_blocks == 4) return {3, "4 KV blocks and fewer than 4 tiles: 3 splits"};
    return {0, ""};
  });
}

std::vector<std::int32_t> fa3_dynamic_splits(std::span<const Fa3Row> rows, std::int32_t num_head, std::int32_t num_sm,
                                             std::int32_t num_splits_static) {
  std::vector<std::int32_t> splits(rows.size(), 1);
  if (num_splits_static <= 1 || rows.size() > static_cast<std::size_t>(kFa3RowsPerPrepareCta)) return splits;
  std::int64_t total_blocks = 0;
  for (const Fa3Row& row : rows) total_blocks += row.num_m_blocks * row.num_n_blocks;
  // In the source's single precision, so that a borderline batch falls on the same side. At least 1: a batch of empty
  // rows has no blocks to divide by.
  const float share =
      std::ceil(static_cast<float>(total_blocks) * 1.1F * static_cast<float>(num_head) / static_cast<float>(num_sm));
  const std::int64_t blocks_per_sm = std::max<std::int64_t>(1, static_cast<std::int64_t>(share));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::int64_t wanted =
        std::min<std::int64_t>(ceil_div(rows[i].num_n_blocks, blocks_per_sm), num_splits_static);
    splits[i] = static_cast<std::int32_t>(std::max<std::int64_t>(wanted, 1));
  }
  return splits;
}

std::int32_t fa3_heads_in_l2(std::int64_t num_n_blocks, std::int64_t max_kvblocks_in_l2,
                             std::int32_t unpacked_qhead_per_khead, std::int32_t num_head) {
  std::int64_t heads = 16;
  while (heads > 1 && num_n_blocks * heads > max_kvblocks_in_l2) heads /= 2;
  return static_cast<std::int32_t>(std::min<std::int64_t>(heads * unpacked_qhead_per_khead, num_head));
}

}  // namespace splitwave::schedules
