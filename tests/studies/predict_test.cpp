// SPDX-License-Identifier: Apache-2.0
#include "studies/predict.h"

#include <gtest/gtest.h>

#include "studies/target.h"
#include "tests/studies/target.h"
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

/// No less than the memory takes for K and V, and no more than five times that (many query heads are arithmetic).
TEST(Predict, TheLargestWorkloadsTakeTheTimeOfTheirBytes) {
  const Target h200 = target("h200");
  workloads::Workload ragged = workloads::parse_spec("h=32/8,d=128:100000q1s10000000");
  for (std::size_t i = 0; i < ragged.requests.size(); ++i) {
    ragged.requests[i].context_len = static_cast<std::int32_t>(i * 7919 % 10'000 * 1000);
  }
  for (const workloads::Workload& workload :
       {workloads::parse_spec("h=1024/1024,d=128:1q1s10000000"), workloads::parse_spec("h=1024/8,d=128:4q1s1024k"),
        workloads::parse_spec("h=32/8,d=128:100000q1s10000000"), ragged}) {
    const double least = static_cast<double>(workloads::kv_bytes(workload)) / h200.machine.dram_peak_bytes_per_second;
    for (const char* const name : {"lean", "flashinfer", "fixed-split:fa2"}) {
      const double seconds = predict(workload, name, h200).timeline.seconds;
      EXPECT_GT(seconds, least) << workload.requests.size() << " requests by " << name;
      EXPECT_LT(seconds, 5 * least) << workload.requests.size() << " requests by " << name;
    }
  }
}

/// Of latent attention alone, by LeanAttention alone, and only where all requests have as many queries.
TEST(Predict, LeanTilesHaveAllRowsOfLatentAttention) {
  const schedules::Grid given{132, 1, 32, 64};
  const workloads::Workload latent = workloads::parse_spec("h=100/1,d=576,dv=512,kind=mla:3q1s4k");
  for (const char* const name : {"lean", "lean+kernel"}) {
    const schedules::Grid grid = with_whole_rows(given, name, latent, 32);
    EXPECT_EQ(grid.tile_q, 128);
    EXPECT_EQ(grid.row_blocks, 4);
    EXPECT_EQ(grid.resident(), 33);
    EXPECT_EQ(grid.sms, 132);
  }
  EXPECT_EQ(with_whole_rows(given, "lean", latent, 128), given) << "a CTA takes them";
  EXPECT_EQ(with_whole_rows(given, "flashmla", latent, 32), given);
  EXPECT_EQ(with_whole_rows(given, "lean", workloads::parse_spec("h=100/1,d=128:3q1s4k"), 32), given);
  workloads::Workload uneven = latent;
  uneven.requests.front().query_len = 4;
  EXPECT_EQ(with_whole_rows(given, "lean", uneven, 32), given);
}

/// Whichever way a prediction is asked for, the schedule has the same grid.
TEST(Predict, OfTheConfigThatIsFastestIsTheSchedules) {
  const Target own = tests::own_kernels();
  for (const char* const spec : {"h=100/1,d=576,dv=512,kind=mla:40q1s4k", "h=32/8,d=128:8q4s4k"}) {
    const workloads::Workload workload = workloads::parse_spec(spec);
    for (const char* const name : {"lean", "fa3"}) {
      const Prediction fastest = predict(workload, name, own);
      const Prediction same = predict_on_config(workload, name, fastest.kernel.config, own);
      EXPECT_EQ(same.grid, fastest.grid) << spec << " by " << name;
      EXPECT_EQ(same.timeline.seconds, fastest.timeline.seconds) << spec << " by " << name;
      EXPECT_EQ(grid_for(workload, name, own), fastest.grid) << spec << " by " << name;
    }
  }
}

}  // namespace
}  // namespace splitwave::studies
