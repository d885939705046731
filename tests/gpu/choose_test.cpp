// SPDX-License-Identifier: Apache-2.0
// Every plan that the choice considers keeps the contract, and its name says all of it. No device is needed: the
// occupancy is estimated.
#include "gpu/choose.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "gpu/compiled_kernels.h"
#include "gpu/encode.h"
#include "schedules/schedules.h"
#include "schedules/validate.h"
#include "tests/support/battery.h"

namespace splitwave::gpu {
namespace {

using workloads::Workload;

/// An H200's as far as shared memory and registers for 16 warps per SM decide; the runtime knows the rest.
Residency estimated_residency(const Workload& w, const KernelConfig& v) {
  constexpr std::int32_t kSms = 132;
  constexpr std::int32_t kSharedBytesPerSm = 228 * 1024;
  constexpr std::int32_t kSharedBytesReserved = 1024;
  const DecodeKernel* single_item = v.stages == 1 ? find_single_item_kernel(w, v) : nullptr;
  const DecodeKernel& kernel = single_item != nullptr ? *single_item : find_kernel(w, v);
  Residency where;
  where.ctas_per_sm =
      std::min(16 / kernel.warps, kSharedBytesPerSm / (shared_bytes(kernel, v.cluster) + kSharedBytesReserved));
  where.workers = where.ctas_per_sm * kSms / v.cluster;
  return where;
}

DeviceFacts h200() {
  Device limits;
  limits.sms = 132;
  limits.compute_capability = 90;
  limits.shared_bytes_per_cta = 227 * 1024;
  return {limits, estimated_residency};
}

std::vector<Workload> shapes() {
  std::vector<Workload> all;
  for (const Workload& w : testing::planning_battery()) {
    const auto& g = w.geometry;
    const bool served = g.kind != workloads::AttentionKind::mla && (g.head_dim == 64 || g.head_dim == 128);
    const bool huge = std::any_of(w.requests.begin(), w.requests.end(),
                                  [](const workloads::Request& r) { return r.context_len > (1 << 20); });
    if (served && !huge && !w.requests.empty()) all.push_back(w);
  }
  for (const auto& [query_heads, kv_heads, head_dim] :
       {std::array{8, 1, 128}, {32, 8, 128}, {64, 8, 64}, {16, 2, 256}}) {
    const workloads::Geometry g = testing::geometry(query_heads, kv_heads, head_dim);
    for (const std::int32_t batch : {1, 3, 32}) {
      for (const std::int32_t length : {1, 63, 577, 2000, 8192, 100'000}) {
        const auto size = static_cast<std::size_t>(batch);
        const std::string name = std::to_string(length) + "_batch_" + std::to_string(batch);
        all.push_back(testing::decode("uniform_" + name, g, std::vector<std::int32_t>(size, length)));
        all.push_back(testing::decode("ragged_" + name, g, testing::scattered(batch, 0, length)));
      }
    }
  }
  return all;
}

TEST(Choose, EveryCandidateKeepsTheContractAndItsName) {
  std::size_t padded = 0;
  for (const Workload& w : shapes()) {
    for (const PlannedLaunch& choice : candidates(w, h200())) {
      const std::vector<std::string> problems = schedules::violations(w, choice.plan);
      ASSERT_TRUE(problems.empty()) << w.name << " " << choice.plan.schedule << ": " << problems.front();
      EXPECT_NE(choice.plan.merge, schedules::MergeKind::kernel) << w.name << " " << choice.plan.schedule;
      schedules::Grid grid = grid_of(estimated_residency(w, choice.config), choice.config);
      grid.tile_q = 8 * choice.config.row_tiles;
      grid.tile_kv = choice.plan.tile_kv;
      ASSERT_EQ(choice.plan, schedules::make_plan(choice.plan.schedule, w, grid)) << w.name;
      if (choice.plan.reason.find("empty items left out") != std::string::npos) ++padded;
    }
  }
  EXPECT_GT(padded, 100U) << "splits that leave CTAs without work are among them";
}

TEST(Choose, TheChoiceSaysWhatItIs) {
  for (const Workload& w : shapes()) {
    const PlannedLaunch choice = choose(w, {}, h200());
    const std::vector<std::string> problems = schedules::violations(w, choice.plan);
    ASSERT_TRUE(problems.empty()) << w.name << " " << choice.plan.schedule << ": " << problems.front();
    EXPECT_EQ(choice.plan.reason.rfind(choice.plan.schedule + " with kernel " + to_string(choice.config), 0), 0U)
        << choice.plan.reason;
    const bool says_merge = choice.plan.schedule.ends_with("+last_arriver");
    EXPECT_TRUE(choice.plan.merge == schedules::MergeKind::none || says_merge) << choice.plan.schedule;
  }
}

TEST(Choose, AKernelForAScheduleLeavesItsPlanAlone) {
  for (const Workload& w : shapes()) {
    for (const char* name : {"fa2", "fixed-split:3", "fa3", "lean", "flashinfer", "fixed-split:5+last_arriver"}) {
      const PlannedLaunch choice = choose_kernel(name, w, {}, h200());
      const schedules::Grid grid = grid_of(estimated_residency(w, choice.config), choice.config);
      ASSERT_EQ(choice.plan, schedules::make_plan(name, w, grid)) << w.name << " " << name;
      EXPECT_EQ(choice.config.row_tiles, row_tiles_for(w.geometry, size_of(choice.plan).most_rows));
    }
  }
}

}  // namespace
}  // namespace splitwave::gpu
