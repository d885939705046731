// SPDX-License-Identifier: Apache-2.0
// Merges that wait: the CTAs whose lists end with an output's first parts share it.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/error.h"
#include "gpu/decode.h"
#include "schedules/schedules.h"
#include "tests/gpu/judged_run.h"
#include "tests/support/battery.h"
#include "workloads/tensors.h"

namespace splitwave::gpu {
namespace {

using schedules::Plan;
using testing::expect_exact;
using testing::same_bits;
using workloads::Workload;

class SharedMerge : public testing::DeviceTest {};

/// Right, and the same bits whoever is late. Not if there are more CTAs than are resident.
void expect_steady(const Workload& w, const KernelConfig& v, const std::string& name, int& runs) {
  Plan plan;
  try {
    plan = testing::plan_of(w, v, name + "+host_cta");
  } catch (const base::InputError&) {
    return;
  }
  const std::int32_t row_blocks = (size_of(plan).most_rows + 8 * v.row_tiles - 1) / (8 * v.row_tiles);
  if (plan.ctas() * row_blocks > residency(w, v).workers) return;
  const workloads::Tensors tensors = workloads::make_tensors(w, testing::kTensorBytes);
  expect_exact(w, tensors, cpu_reference::attend(w, tensors), plan, v);
  const HostResult first = run(w, tensors, plan, v);
  for (std::uint32_t seed = 1; seed <= 5; ++seed) {
    LaunchOptions options;
    options.delay_seed = seed;
    EXPECT_TRUE(same_bits(run(w, tensors, plan, v, options), first)) << plan.schedule << " " << to_string(v);
  }
  ++runs;
}

/// Of fewer and more parts than there are fragments, and than a warp combines alone.
TEST_F(SharedMerge, IsRightAndSteady) {
  int runs = 0;
  for (const workloads::Geometry& g :
       {testing::geometry(16, 2, 128), testing::geometry(3, 1, 64), testing::geometry(40, 1, 128)}) {
    const Workload w = testing::decode("shared", g, {9000, 700});
    for (const std::int32_t cluster : {1, 4}) {
      for (const KernelConfig& v : testing::one_of_each_kind(w, cluster)) {
        for (const char* name : {"fixed-split:2", "fixed-split:5", "fixed-split:17", "fixed-split:66", "lean"}) {
          expect_steady(w, v, name, runs);
        }
      }
    }
  }
  EXPECT_GT(runs, 25);
}

TEST_F(SharedMerge, OfLatentAttentionToo) {
  int runs = 0;
  for (const std::int32_t heads : {16, 37, 128}) {
    const Workload w = testing::decode("shared", testing::mla(heads), {9000, 700});
    for (const KernelConfig& v : kernel_configs(w)) {
      for (const char* name : {"fixed-split:3", "fixed-split:33", "lean"}) expect_steady(w, v, name, runs);
    }
  }
  EXPECT_GE(runs, 6);
}

}  // namespace
}  // namespace splitwave::gpu
