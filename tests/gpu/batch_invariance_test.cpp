// SPDX-License-Identifier: Apache-2.0
// What studies/batch_invariance.h says of the device: cuts that stay give the same bits, on one config of the kernel.
#include "studies/batch_invariance.h"

#include <gtest/gtest.h>

#include "studies/measure_cuda.h"
#include "tests/gpu/device_fixture.h"
#include "tests/support/battery.h"

namespace splitwave::gpu {
namespace {

using BatchInvariance = testing::DeviceTest;

TEST_F(BatchInvariance, OfOneConfigGoesByTheCuts) {
  const workloads::Workload workload =
      testing::decode("ragged", testing::geometry(8, 2, 128), {1500, 3, 700, 64, 2049});
  const studies::Watcher silent{[](const std::string&) {}, [](double) {}, [](reports::Record) {}};
  const std::vector<studies::BatchInvariance> answers =
      studies::batch_invariance(workload, {"fixed-size:256", "fixed-size:256+last_arriver", "fa2", "lean"},
                                studies::device_target(), studies::cuda_batch_runner(), silent);
  ASSERT_EQ(answers.size(), 8U);
  for (const studies::BatchInvariance& answer : answers) {
    SCOPED_TRACE(answer.schedule + " on " + answer.kernel);
    EXPECT_EQ(answer.failure, "");
    EXPECT_EQ(answer.broken, 0);
    EXPECT_GT(answer.ran, 0);
    if (!answer.besides && answer.schedule.starts_with("fixed-size")) {
      EXPECT_TRUE(answer.invariant());
    }
  }
}

}  // namespace
}  // namespace splitwave::gpu
