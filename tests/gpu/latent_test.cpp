// SPDX-License-Identifier: Apache-2.0
// Multi-head latent attention on the device: one KV head of 576 elements whose first 512 are the value.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "base/error.h"
#include "tests/gpu/device_fixture.h"
#include "tests/gpu/half_reference.h"
#include "tests/gpu/judged_run.h"
#include "tests/support/battery.h"
#include "tests/support/tensors.h"

namespace splitwave::gpu {
namespace {

using cpu_reference::Result;
using schedules::MergeKind;
using schedules::Plan;
using testing::expect_exact;
using testing::grid_for;
using testing::may_be_refused;
using testing::same_bits;
using workloads::Tensors;
using workloads::Workload;

class Latent : public testing::DeviceTest {};

/// Every config and plan of these schedules, and what kernels that hold items of single queries take of them.
template <class Run>
void for_each_plan(const Workload& w, const std::vector<const char*>& schedules, const Run& run) {
  std::vector<KernelConfig> all = kernel_configs(w);
  if (workloads::max_query_len(w) == 1) {
    for (const KernelConfig& v : whole_item_configs(w)) all.push_back(v);
  }
  for (const KernelConfig& v : all) {
    for (const char* name : schedules) {
      const Plan plan = schedules::make_plan(name, w, grid_for(w, v));
      if (!v.single_items_only() || fits_single_item_kernel(w, plan, v)) run(plan, v);
    }
  }
}

Workload latent(std::int32_t heads, const std::vector<std::int32_t>& lengths, workloads::Dtype dtype,
                std::int32_t page) {
  Workload w =
      testing::decode("latent_" + std::to_string(heads) + "_page" + std::to_string(page), testing::mla(heads), lengths);
  w.geometry.dtype = dtype;
  return page > 0 ? testing::paged(w, page) : w;
}

/// Up to the first failure.
void expect_every_config_exact(const Workload& w) {
  const Tensors tensors = workloads::make_tensors(w, testing::kTensorBytes);
  const Result<double> exact = cpu_reference::attend(w, tensors);
  for (const KernelConfig& v : kernel_configs(w)) {
    for (const char* name : {"fixed-split:3", "lean+last_arriver"}) {
      expect_exact(w, tensors, exact, schedules::make_plan(name, w, grid_for(w, v)), v);
    }
    if (::testing::Test::HasFailure()) return;
  }
}

TEST_F(Latent, EveryConfigHeadsDtypeAndLayout) {
  for (const workloads::Dtype dtype : {workloads::Dtype::f16, workloads::Dtype::bf16}) {
    for (const std::int32_t heads : {1, 8, 16, 23, 32, 64, 100, 128}) {
      for (const std::int32_t page : {0, 16, 64, 7}) {
        const Workload w = latent(heads, {300, 33, 0, 1, 64, 129}, dtype, page);
        expect_every_config_exact(w);
        if (HasFailure()) return;
      }
    }
  }
}

TEST_F(Latent, EverySchedule) {
  const Workload w = latent(16, {1500, 3, 700, 64, 0, 2049}, workloads::Dtype::bf16, 64);
  const Tensors tensors = workloads::make_tensors(w, testing::kTensorBytes);
  const Result<double> exact = cpu_reference::attend(w, tensors);
  int runs = 0;
  for (const KernelConfig& v : kernel_configs(w)) {
    for (const char* name : testing::kSchedules) {
      const Plan plan = schedules::make_plan(name, w, grid_for(w, v));
      try {
        expect_exact(w, tensors, exact, plan, v);
        ++runs;
      } catch (const base::InputError& error) {
        EXPECT_TRUE(may_be_refused(plan, v)) << name << error.what();
      }
    }
  }
  EXPECT_GT(runs, 25);
}

/// Tiles of more rows than a CTA takes: each list is several CTAs side by side, as many as the device takes at once
/// where they wait for one another, more where they do not.
TEST_F(Latent, RowBlocksOfEachList) {
  const Workload w = latent(100, {1500, 3, 700, 0, 2049}, workloads::Dtype::f16, 64);
  const Tensors tensors = workloads::make_tensors(w, testing::kTensorBytes);
  const Result<double> exact = cpu_reference::attend(w, tensors);
  for (const KernelConfig& v : kernel_configs(w)) {
    schedules::Grid grid = grid_for(w, v);
    const std::int32_t blocks = (100 + 8 * v.row_tiles - 1) / (8 * v.row_tiles);
    grid.tile_q = 8 * v.row_tiles * blocks;
    grid.row_blocks = blocks;
    for (const char* name : {"lean", "lean+kernel", "lean+last_arriver", "fixed-size:256", "fixed-size:64"}) {
      expect_exact(w, tensors, exact, schedules::make_plan(name, w, grid), v);
      if (HasFailure()) return;
    }
  }
}

/// Keys in boxes, and where an item begins within a page's box, or a page is smaller, by copies: the same bits.
TEST_F(Latent, BoxesAndCopiesGiveTheSameBits) {
  for (const std::int32_t queries : {1, 3}) {
    const std::vector<std::int32_t> lengths = {1500, 3, 700, 5, 2049, 64};
    const Workload in_boxes = testing::with_queries(latent(100, lengths, workloads::Dtype::f16, 128), {queries});
    const Workload by_copies = testing::with_queries(latent(100, lengths, workloads::Dtype::f16, 16), {queries});
    const Tensors boxes = workloads::make_tensors(in_boxes, testing::kTensorBytes);
    const Tensors copies = workloads::make_tensors(by_copies, testing::kTensorBytes);
    const Result<double> exact = cpu_reference::attend(in_boxes, boxes);
    for (const KernelConfig& v : kernel_configs(in_boxes)) {
      if (v.team != Team::seesaw) continue;
      for (const char* name : {"lean+last_arriver", "fixed-split:3", "fixed-size:256"}) {
        schedules::Grid grid = grid_for(in_boxes, v);
        const Plan plan = schedules::make_plan(name, in_boxes, grid);
        expect_exact(in_boxes, boxes, exact, plan, v);
        EXPECT_TRUE(same_bits(run(in_boxes, boxes, plan, v), run(by_copies, copies, plan, v))) << name;
        grid.tile_kv = 16;
        expect_exact(in_boxes, boxes, exact, schedules::make_plan(name, in_boxes, grid), v);
      }
    }
  }
}

/// A captured launch takes whole tiles of pages, or it does not.
TEST_F(Latent, LaunchesWithBoxesAreNotReplayedForItemsWithinABox) {
  const Workload w = latent(128, {1500, 700}, workloads::Dtype::f16, 64);
  KernelConfig v;
  for (const KernelConfig& config : kernel_configs(w)) {
    if (config.team == Team::seesaw) v = config;
  }
  const DeviceTensors tensors = DeviceTensors::generate(w, 1);
  schedules::Grid grid = grid_for(w, v);
  const Plan plan = schedules::make_plan("lean+last_arriver", w, grid);
  grid.tile_kv = 16;
  const Plan within = schedules::make_plan("lean+last_arriver", w, grid);
  Decoder decoder = testing::captured(w, tensors, plan, v);
  decoder.replay();
  decoder.synchronize();
  const HostResult before = tensors.download();
  decoder.set_plan(w, tensors.addressing(), within, v, testing::replayable());
  EXPECT_THROW(decoder.replay(), base::InputError);
  decoder.capture({tensors.pointers(0)});
  decoder.replay();
  decoder.synchronize();
  decoder.set_plan(w, tensors.addressing(), plan, v, testing::replayable());
  decoder.replay();
  decoder.synchronize();
  EXPECT_TRUE(same_bits(before, tensors.download())) << "by copies";
}

TEST_F(Latent, MasksOfSeveralQueries) {
  for (const std::int32_t heads : {5, 16, 32, 128}) {
    for (const std::int32_t page : {0, 64}) {
      Workload w = latent(heads, {300, 33, 4, 129}, workloads::Dtype::f16, page);
      w = testing::with_queries(w, {2, 4, 4, 1});
      expect_every_config_exact(w);
      if (HasFailure()) return;
    }
  }
}

TEST_F(Latent, EveryMergeGivesTheSameBits) {
  const Workload w = latent(16, {1500, 3, 700, 64, 0, 2049}, workloads::Dtype::f16, 0);
  const Tensors tensors = workloads::make_tensors(w, testing::kTensorBytes);
  const Result<double> exact = cpu_reference::attend(w, tensors);
  for (const KernelConfig& v : kernel_configs(w)) {
    int compared = 0;
    for (const char* name : {"fixed-split:7", "lean", "fixed-size:256"}) {
      std::map<MergeKind, HostResult> results;
      for (const MergeKind merge : {MergeKind::kernel, MergeKind::host_cta, MergeKind::last_arriver}) {
        const Plan plan = schedules::make_plan(std::string(name) + '+' + to_string(merge), w, grid_for(w, v));
        expect_exact(w, tensors, exact, plan, v);
        results[merge] = run(w, tensors, plan, v);
      }
      for (const MergeKind merge : testing::merges_alike(schedules::make_plan(name, w, grid_for(w, v)))) {
        if (merge == MergeKind::host_cta) continue;  // what the others are compared with
        EXPECT_TRUE(same_bits(results.at(merge), results.at(MergeKind::host_cta))) << schedules::to_string(merge);
        ++compared;
      }
    }
    EXPECT_GE(compared, 2) << to_string(v);  // seven parts are merged alike by all
  }
}

TEST_F(Latent, ThousandRunsAreBitwiseEqual) {
  for (const std::int32_t heads : {16, 32, 64}) {
    const Workload w = latent(heads, {3000, 17, 800}, workloads::Dtype::f16, 64);
    const Tensors tensors = workloads::make_tensors(w, testing::kTensorBytes);
    for (const KernelConfig& v : testing::one_of_each_kind(w)) {
      const Plan plan = schedules::make_plan("lean+last_arriver", w, grid_for(w, v));
      testing::expect_repeatable(w, tensors, plan, v, 1000);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_F(Latent, AtMostTwiceTheErrorOfAPlainReference) {
  for (const workloads::Dtype dtype : {workloads::Dtype::f16, workloads::Dtype::bf16}) {
    for (const std::int32_t length : {33, 500, 3000}) {
      const Workload w = latent(16, {length, length}, dtype, 0);
      const Tensors tensors = workloads::make_tensors(w, testing::kTensorBytes);
      const Result<double> exact = cpu_reference::attend(w, tensors);
      const double plain = testing::worst_error(testing::half_reference(w, tensors), exact.output);
      int held = 0;
      for_each_plan(w, {"fixed-split:1", "fixed-split:3", "fixed-split:7+last_arriver", "fixed-split:7+host_cta"},
                    [&](const Plan& plan, const KernelConfig& v) {
                      EXPECT_LE(testing::worst_error(run(w, tensors, plan, v).output, exact.output), 2 * plain)
                          << length << " " << to_string(dtype) << " " << plan.schedule << " " << to_string(v);
                      held += v.single_items_only() ? 1 : 0;
                    });
      EXPECT_GT(held, 0) << length;
    }
  }
}

TEST_F(Latent, NonFiniteElementsReachOnlyTheRowsThatReadThem) {
  for (const std::int32_t query_len : {1, 4}) {
    const Workload w = testing::with_queries(latent(16, {300, 200}, workloads::Dtype::f16, 0), {query_len});
    for (const std::int32_t element : {5, 550}) {  // of key and value, of the key alone
      for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
        Tensors tensors = workloads::make_tensors(w, testing::kTensorBytes);
        workloads::store_element(w.geometry.dtype, tensors.k, k_row(w, tensors, 0, 299, 0) + element, bad);
        const Result<double> exact = cpu_reference::attend(w, tensors);
        for_each_plan(
            w, {"fa2", "fixed-split:3", "lean+last_arriver", "fixed-split:3+last_arriver", "fixed-split:3+host_cta"},
            [&](const Plan& plan, const KernelConfig& v) {
              const HostResult out = run(w, tensors, plan, v);
              for (std::size_t i = 0; i < out.output.size(); ++i) {
                ASSERT_EQ(std::isfinite(out.output[i]), std::isfinite(exact.output[i]))
                    << to_string(v) << " " << plan.schedule << " query_len " << query_len << " element " << element
                    << " bad " << bad << " at " << i;
              }
            });
      }
    }
  }
}

TEST_F(Latent, EveryItemIsVisitedOnce) {
  const Workload w = latent(32, {1500, 3, 700, 64, 0, 2049}, workloads::Dtype::f16, 16);
  const Tensors tensors = workloads::make_tensors(w, testing::kTensorBytes);
  const KernelConfig v = testing::first_config(w);
  for (const char* name : testing::kSchedules) {
    const Plan plan = schedules::make_plan(name, w, grid_for(w, v));
    DeviceTensors on_device = DeviceTensors::upload(w, tensors);
    Decoder decoder(capacity_of(w, plan, v));
    LaunchOptions options;
    options.count_visits = true;
    decoder.set_plan(w, on_device.addressing(), plan, v, options);
    decoder.launch(on_device.pointers(0));
    decoder.synchronize();
    for (const std::uint64_t count : decoder.visits()) EXPECT_EQ(count, 1U) << name;
  }
}

TEST_F(Latent, RefusesOtherShapes) {
  Workload w = latent(16, {300}, workloads::Dtype::f16, 0);
  w.geometry.head_dim = 320;
  w.geometry.value_dim = 256;
  EXPECT_THROW(kernel_configs(w), base::InputError);
}

}  // namespace
}  // namespace splitwave::gpu
