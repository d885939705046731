// SPDX-License-Identifier: Apache-2.0
// Which keys come in boxes: where a kernel that took others so would read a wrong token, or one that does not exist.
#include "gpu/key_map.h"

#include <gtest/gtest.h>

#include "schedules/key_boxes.h"
#include "schedules/schedules.h"
#include "tests/support/battery.h"

namespace splitwave::gpu {
namespace {

using workloads::Workload;

Workload latent(std::int32_t heads, std::int32_t page) {
  const Workload w = testing::decode("latent", testing::mla(heads), {300, 0, 1000});
  return page > 0 ? testing::paged(w, page) : w;
}

KeyRows rows_of(const Workload& w, const KvAddressing& addressing, std::int32_t tile_kv = 64, bool replayable = false) {
  const schedules::Grid grid{5, 1, 64, tile_kv};
  return key_rows(w, addressing, schedules::make_plan("lean", w, grid), replayable);
}

std::int64_t count(const Workload& w, std::int32_t tile_kv = 64, bool replayable = false) {
  return rows_of(w, dense_addressing(w), tile_kv, replayable).count;
}

TEST(KeyRows, AreThoseOfAllRequests) {
  const Workload w = latent(128, 0);
  const KeyRows rows = rows_of(w, dense_addressing(w));
  EXPECT_EQ(rows.count, 1300) << "not one behind the last request's end";
  EXPECT_EQ(rows.bytes, 1152);
  EXPECT_EQ(rows.elements, 576);
}

TEST(KeyRows, OfPagesThatHoldWholeBoxes) {
  EXPECT_GT(count(latent(128, 64)), 0);
  EXPECT_GT(count(latent(128, 256)), 0);
  for (const std::int32_t page : {7, 16, 32, 96, 192}) EXPECT_EQ(count(latent(128, page)), 0) << page;
}

TEST(KeyRows, ItemsOfPagesBeginWithABox) {
  EXPECT_EQ(count(latent(128, 64), 16), 0) << "lean cuts at any multiple of 16";
  EXPECT_GT(count(latent(128, 0), 16), 0) << "a contiguous box begins anywhere";
}

TEST(KeyRows, PayWithMoreRowsThanACtaTakes) {
  EXPECT_FALSE(schedules::boxes_pay(latent(64, 64), 64));
  EXPECT_TRUE(schedules::boxes_pay(latent(65, 64), 64));
  EXPECT_TRUE(schedules::boxes_pay(testing::with_queries(latent(33, 64), {2, 1, 2}), 64));
}

TEST(KeyRows, OfOtherLengthsOnlyInPages) {
  EXPECT_EQ(count(latent(128, 0), 64, true), 0) << "the last request may become longer";
  EXPECT_GT(count(latent(128, 64), 64, true), 0);
}

TEST(KeyRows, LieWithoutGaps) {
  const Workload paged = latent(128, 64);
  KvAddressing addressing = dense_addressing(paged);
  addressing.page_stride += 8;
  EXPECT_EQ(rows_of(paged, addressing).count, 0);
  const Workload contiguous = latent(128, 0);
  addressing = dense_addressing(contiguous);
  addressing.request_offset.back() += 8;
  EXPECT_EQ(rows_of(contiguous, addressing).count, 0);
  addressing.request_offset.back() += addressing.token_stride - 8;
  EXPECT_EQ(rows_of(contiguous, addressing).count, 1301);
}

TEST(KeyRows, WithoutThemThereIsNoMap) {
  EXPECT_FALSE(map_keys(nullptr, KeyRows{}));
}

}  // namespace
}  // namespace splitwave::gpu
