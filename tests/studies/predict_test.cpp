// SPDX-License-Identifier: Apache-2.0
#include "studies/predict.h"

#include <gtest/gtest.h>

#include "studies/target.h"
#include "workloads/load.h"

namespace splitwave::studies {
namespace {

/// Bytes and seconds so many that a hundredth of a byte is below what a double can tell apart.
TEST(Predict, HoursOfSimulatedTimeEnd) {
  const Prediction lean = predict(workloads::parse_spec("h=8/2,d=64:67000q1s1048576k"), "lean", target("h200"));
  EXPECT_NEAR(lean.timeline.seconds, 8065, 5);
  const Prediction fa2 = predict(workloads::parse_spec("h=128/128,d=256:4000q1s1048576k"), "fa2", target("h200"));
  EXPECT_NEAR(fa2.timeline.seconds, 124'800, 100);
}

}  // namespace
}  // namespace splitwave::studies
