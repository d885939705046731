// SPDX-License-Identifier: Apache-2.0
// From what was written down to a timeline.
#include "schedules/recording.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace splitwave::schedules {
namespace {

constexpr std::int64_t kStart = 1'763'800'000'000'000'000;  ///< a clock does not begin at 0

Stretch stretch(std::int32_t cta, std::int32_t sm, std::int32_t item, std::int64_t begin, std::int64_t end) {
  return {cta, sm, item, kStart + begin, kStart + end};
}

TEST(Recording, TimeBeginsWithTheFirstCta) {
  const Recording recording{{stretch(1, 0, -1, 100, 900), stretch(0, 1, -1, 40, 700)},
                            {stretch(0, 1, 0, 60, 700), stretch(1, 0, 1, 100, 800)}};
  const Timeline timeline = timeline_of(recording);
  ASSERT_EQ(timeline.spans.size(), 2U);
  EXPECT_NEAR(timeline.spans[0].begin_seconds, 20e-9, 1e-15);
  EXPECT_NEAR(timeline.spans[0].end_seconds, 660e-9, 1e-15);
  EXPECT_NEAR(timeline.spans[1].begin_seconds, 60e-9, 1e-15);
  EXPECT_NEAR(timeline.seconds, 860e-9, 1e-15) << "to the end of the last CTA, which waited after its work";
  EXPECT_EQ(timeline.spans[1].cta, 1);
  EXPECT_EQ(timeline.spans[1].sm, 0);
  EXPECT_EQ(timeline.spans[1].item, 1);
}

TEST(Recording, CtasTakeTheLeastSlotThatIsFree) {
  // Two to an SM: CTA 2 follows CTA 1, though CTA 0 has ended when CTA 3 begins.
  const Recording recording{{stretch(3, 7, -1, 110, 200), stretch(0, 7, -1, 0, 105), stretch(1, 7, -1, 10, 50),
                             stretch(2, 7, -1, 50, 150), stretch(4, 8, -1, 20, 30)},
                            {stretch(0, 7, 0, 0, 105), stretch(1, 7, 1, 10, 50), stretch(2, 7, 2, 50, 150),
                             stretch(3, 7, 3, 110, 200), stretch(4, 8, 4, 20, 30)}};
  const Timeline timeline = timeline_of(recording);
  const std::int32_t expected[] = {0, 1, 1, 0, 0};
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(timeline.spans[i].slot, expected[i]) << "CTA " << i;
  EXPECT_EQ(slots_per_sm(timeline), 2);
}

TEST(Recording, CtasThatBeginAtOnceGoByNumber) {
  const Recording recording{{stretch(1, 0, -1, 0, 10), stretch(0, 0, -1, 0, 10)},
                            {stretch(0, 0, 0, 0, 10), stretch(1, 0, 1, 0, 10)}};
  const Timeline timeline = timeline_of(recording);
  EXPECT_EQ(timeline.spans[0].slot, 0);
  EXPECT_EQ(timeline.spans[1].slot, 1);
}

TEST(Recording, EmptyItemsAndMergesAreSpansToo) {
  const Recording recording{{stretch(0, 0, -1, 0, 100)},
                            {stretch(0, 0, 0, 0, 32), stretch(0, 0, 1, 32, 32), stretch(0, 0, -1, 64, 96)}};
  const Timeline timeline = timeline_of(recording);
  ASSERT_EQ(timeline.spans.size(), 3U);
  EXPECT_EQ(timeline.spans[1].begin_seconds, timeline.spans[1].end_seconds);
  EXPECT_EQ(timeline.spans[2].item, -1);
}

TEST(Recording, OfNothingIsEmpty) {
  const Timeline timeline = timeline_of({});
  EXPECT_TRUE(timeline.spans.empty());
  EXPECT_EQ(timeline.seconds, 0);
  EXPECT_EQ(slots_per_sm(timeline), 1);
  EXPECT_EQ(clock_step_nanoseconds({}), 0);
  EXPECT_EQ(timeline_of({{stretch(0, 0, -1, 0, 10)}, {}}).seconds, 10e-9) << "a CTA without an item";
}

TEST(Recording, WorkOfNobodyIsABug) {
  EXPECT_THROW(timeline_of({{stretch(0, 0, -1, 0, 10)}, {stretch(1, 0, 0, 0, 10)}}), std::logic_error);
}

TEST(Recording, StepsOfTheClockShow) {
  const Recording recording{{stretch(0, 0, -1, 0, 3200)}, {stretch(0, 0, 0, 96, 1056), stretch(0, 0, 1, 1056, 3168)}};
  EXPECT_EQ(clock_step_nanoseconds(recording), 32);
}

TEST(Recording, FirstSpansOfAPredictionCanBeginAtZero) {
  Timeline predicted;
  predicted.seconds = 5e-6;
  predicted.spans = {{1, 0, 0, 1, 3e-6, 4e-6}, {0, 0, 0, 0, 1e-6, 3e-6}};
  const Timeline moved = from_first_span(predicted);
  EXPECT_DOUBLE_EQ(moved.seconds, 4e-6);
  EXPECT_DOUBLE_EQ(moved.spans[0].begin_seconds, 2e-6);
  EXPECT_DOUBLE_EQ(moved.spans[1].begin_seconds, 0);
  EXPECT_DOUBLE_EQ(moved.spans[1].end_seconds, 2e-6);
  EXPECT_EQ(from_first_span({}).seconds, 0);
}

}  // namespace
}  // namespace splitwave::schedules
