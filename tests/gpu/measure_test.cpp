// SPDX-License-Identifier: Apache-2.0
#include "gpu/measure.h"

#include <gtest/gtest.h>

#include "workloads/load.h"

namespace splitwave::gpu {
namespace {

std::int32_t copies(const char* spec) {
  return copies_for(workloads::parse_spec(spec), {});
}

TEST(Measure, CopiesAreMoreThanAnL2Holds) {
  EXPECT_EQ(copies("h=8/8,d=128:64q1s4k"), 2) << "each has 1 GB";
  EXPECT_EQ(copies("h=8/1,d=128:16q1s1k"), 48) << "of 8 MB";
  EXPECT_EQ(copies("h=8/1,d=128:1q1s512"), 1024) << "of 256 KB: 268 MB";
  EXPECT_EQ(copies("h=8/1,d=128:1q1s64"), 3907) << "of 32 KB: 128 MB";
  EXPECT_EQ(copies("h=8/1,d=128:1q1s16"), 15625) << "of 8 KB: 128 MB";
  EXPECT_EQ(copies("h=8/1,d=128:1q1s4"), 32768) << "as many as a graph has launches";
  EXPECT_EQ(copies_for(workloads::parse_spec("h=8/1,d=128:1q1s16"), {.bytes_per_cycle = 0}), 1) << "warm";
}

}  // namespace
}  // namespace splitwave::gpu
