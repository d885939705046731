// SPDX-License-Identifier: Apache-2.0
// What the places of a device's records mean.
#include "gpu/records.h"

#include <gtest/gtest.h>

#include <string>

#include "base/error.h"
#include "gpu/decode.h"

namespace splitwave::gpu {
namespace {

TimelineRecord record(std::int32_t cta, std::uint64_t begin, std::uint64_t end) {
  return {begin, end, cta, 100 + cta};
}

/// 4 CTAs in clusters of 2; a table of 3 items, of which the plan's are 2 and 0; 2 slots.
RecorderShape small_shape() {
  RecorderShape shape;
  shape.ctas = 4;
  shape.items = 3;
  shape.slots = 2;
  shape.ctas_per_item = 2;
  shape.places = {{0, 2}, {1, 0}};
  return shape;
}

std::vector<TimelineRecord> small_records() {
  std::vector<TimelineRecord> records(static_cast<std::size_t>(small_shape().size()));
  for (std::int32_t cta = 0; cta < 4; ++cta) records[static_cast<std::size_t>(cta)] = record(cta, 1, 99);
  records[4] = record(0, 10, 20);  // table item 0, by ranks
  records[5] = record(1, 10, 21);
  records[8] = record(2, 30, 40);   // table item 2; its second rank has written nothing
  records[10] = record(0, 50, 60);  // the merge at slot 0, by ranks
  records[11] = record(3, 50, 61);
  return records;
}

TEST(Records, ItemsComeInThePlansOrderThenMerges) {
  const schedules::Recording recording = recording_of(small_shape(), small_records());
  ASSERT_EQ(recording.ctas.size(), 4U);
  ASSERT_EQ(recording.work.size(), 5U);
  const std::int32_t items[] = {0, 1, 1, -1, -1};
  const std::int32_t ctas[] = {2, 0, 1, 0, 3};
  const std::int64_t ends[] = {40, 20, 21, 60, 61};
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(recording.work[i].item, items[i]);
    EXPECT_EQ(recording.work[i].cta, ctas[i]);
    EXPECT_EQ(recording.work[i].sm, 100 + ctas[i]);
    EXPECT_EQ(recording.work[i].end_nanoseconds, ends[i]);
  }
}

TEST(Records, MergesOfAKernelAreCtasBehindTheOthers) {
  RecorderShape shape = small_shape();
  shape.merge_kernel = true;
  const schedules::Recording recording = recording_of(shape, small_records());
  ASSERT_EQ(recording.ctas.size(), 6U);
  EXPECT_EQ(recording.ctas[4].cta, 4 + 0);
  EXPECT_EQ(recording.ctas[5].cta, 4 + 3);
  EXPECT_EQ(recording.work[4].cta, 4 + 3);
  EXPECT_EQ(recording.ctas[5].begin_nanoseconds, 50);
}

TEST(Records, SaysHowKernelsThatRecordAreBuilt) {
  constexpr bool kRecords = SPLITWAVE_BUILT_WITH_TIMELINE;
  std::string message;
  try {
    require_recording();
  } catch (const base::MissingError& error) {
    message = error.what();
  }
  EXPECT_EQ(message.empty(), kRecords) << message;
  EXPECT_TRUE(kRecords || message.find("-DSPLITWAVE_TIMELINE=ON") != std::string::npos) << message;
}

}  // namespace
}  // namespace splitwave::gpu
