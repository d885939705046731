// SPDX-License-Identifier: Apache-2.0
#include "cli/progress.h"

#include <gtest/gtest.h>

#include "tests/cli/process.h"

namespace splitwave::cli {
namespace {

TEST(Progress, LineSaysShareAndTimeLeft) {
  EXPECT_EQ(progress_line(0, 10, 3, "first", 79), "[                    ]   0 % ETA --:-- first");
  EXPECT_EQ(progress_line(2.5, 10, 30, "w", 79), "[#####               ]  25 % ETA 01:30 w");
  EXPECT_EQ(progress_line(10, 10, 30, "w", 79), "[####################] 100 % ETA 00:00 w");
  EXPECT_EQ(progress_line(11, 10, 30, "w", 79), "[####################] 100 % ETA 00:00 w");
  EXPECT_EQ(progress_line(0, 0, 0, "w", 79), "[####################] 100 % ETA 00:00 w");
}

TEST(Progress, LineFitsTheTerminal) {
  EXPECT_EQ(progress_line(1, 2, 3, std::string(200, 'x'), 40).size(), 40U);
}

TEST(Progress, NothingIsShownWhereNobodyLooks) {
  EXPECT_EQ(tests::splitwave({"simulate", "-w", "llama-3-8b:1q1s256"}).err, "");
}

}  // namespace
}  // namespace splitwave::cli
