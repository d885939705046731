// SPDX-License-Identifier: Apache-2.0
// Kernels that read two KV heads as one (docs/kernels.md, "Kernels for head pairs").
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "cpu_reference/oracle.h"
#include "gpu/decode.h"
#include "schedules/schedules.h"
#include "tests/gpu/device_fixture.h"
#include "tests/gpu/judged_run.h"
#include "tests/support/battery.h"
#include "workloads/tensors.h"

namespace splitwave::gpu {
namespace {

using cpu_reference::Result;
using schedules::Plan;
using testing::expect_exact;
using testing::grid_for;
using workloads::Tensors;
using workloads::Workload;

class HeadPairs : public testing::DeviceTest {};

/// Kernels that read two KV heads as one: whole and split outputs, from the grid and from tables.
void expect_pairs_exact(const Workload& w, std::size_t& runs) {
  const Tensors tensors = workloads::make_tensors(w, testing::kTensorBytes);
  const Result<double> exact = cpu_reference::attend(w, tensors);
  for (const KernelConfig& v : pair_configs(w)) {
    for (const char* name : {"fixed-split:1", "fixed-split:3+last_arriver", "fixed-size:256+last_arriver"}) {
      const Plan plan = schedules::make_plan(name, w, grid_for(w, v));
      if (!fits_single_item_kernel(w, plan, v)) continue;
      LaunchOptions options;
      options.overlap = runs++ % 2 == 0 ? Overlap::none : Overlap::prefetch;
      expect_exact(w, tensors, exact, plan, v, options);
    }
    if (::testing::Test::HasFailure()) return;
  }
}

TEST_F(HeadPairs, EveryKernel) {
  std::size_t runs = 0;
  for (const workloads::Dtype dtype : {workloads::Dtype::f16, workloads::Dtype::bf16}) {
    for (const std::int32_t group : {1, 2, 3, 4, 5, 8}) {
      for (const std::int32_t page : {0, 16, 7}) {
        for (const std::int32_t length : {1, 65, 1000, 2600}) {
          const std::int32_t heads = length == 65 ? 6 : 2;
          Workload w = testing::decode(
              "pairs_" + std::to_string(length) + "_group_" + std::to_string(group) + "_page" + std::to_string(page),
              testing::geometry(heads * group, heads, 64), {length, length, length});
          w.geometry.dtype = dtype;
          if (page > 0) w = testing::paged(w, page);
          expect_pairs_exact(w, runs);
          w.requests[1].context_len = length / 3;  // ragged, or empty: items from a table
          expect_pairs_exact(w, runs);
          if (HasFailure()) return;
        }
      }
    }
  }
  EXPECT_GT(runs, 2000U);
}

TEST_F(HeadPairs, OtherPlansAreRefused) {
  const Workload w = testing::decode("pairs", testing::geometry(8, 4, 64), {700, 600});
  Workload head_major = w;
  head_major.kv.layout = workloads::KvLayout::bhsd;
  const Workload queries = testing::with_queries(w, {2});
  const Workload odd = testing::decode("odd", testing::geometry(3, 3, 64), {700, 600});
  const Workload wide = testing::decode("wide", testing::geometry(8, 4, 128), {700, 600});
  for (const Workload& other : {head_major, queries, odd, wide}) EXPECT_TRUE(pair_configs(other).empty());
  for (const KernelConfig& v : pair_configs(w)) {
    for (const auto& [other, name] : std::vector<std::pair<Workload, const char*>>{{head_major, "fixed-split:1"},
                                                                                   {queries, "fixed-split:1"},
                                                                                   {odd, "fixed-split:1"},
                                                                                   {wide, "fixed-split:1"},
                                                                                   {w, "lean"},
                                                                                   {w, "fa3"},
                                                                                   {w, "fixed-split:2"}}) {
      const Plan plan = schedules::make_plan(name, other, grid_for(w, v));
      EXPECT_FALSE(fits_single_item_kernel(other, plan, v)) << name;
      const DeviceTensors on_device = DeviceTensors::generate(other, 1);
      EXPECT_THROW(Decoder(capacity_of(other, plan, v)).set_plan(other, on_device.addressing(), plan, v),
                   base::InputError)
          << name << " " << to_string(v);
    }
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace splitwave::gpu
