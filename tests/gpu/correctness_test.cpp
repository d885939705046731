// SPDX-License-Identifier: Apache-2.0
// Every schedule's plan, on the device, gives the oracle's answer, visits every item once and repeats bit by bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/error.h"
#include "cpu_reference/compare.h"
#include "cpu_reference/oracle.h"
#include "gpu/decode.h"
#include "schedules/schedules.h"
#include "tests/gpu/device_fixture.h"
#include "tests/gpu/half_reference.h"
#include "tests/gpu/judged_run.h"
#include "tests/support/battery.h"
#include "workloads/tensors.h"

namespace splitwave::gpu {
namespace {

using cpu_reference::Result;
using schedules::MergeKind;
using schedules::Plan;
using testing::expect_exact;
using testing::first_config;
using testing::grid_for;
using testing::kSchedules;
using testing::may_be_refused;
using testing::one_of_each_kind;
using testing::same_bits;
using testing::worst_error;
using workloads::Tensors;
using workloads::Workload;

bool supported(const Workload& w) {
  const auto& g = w.geometry;
  if (g.kind == workloads::AttentionKind::mla) {
    return g.head_dim == 576 && g.value_dim == 512;
  }
  return g.head_dim == 64 || g.head_dim == 128 || g.head_dim == 256;
}

/// Each CTA of a cluster would take its further lists from the queue by itself.
bool takes_further_lists(const Plan& plan, const KernelConfig& v) {
  return plan.dispatch == schedules::Dispatch::queue && v.cluster > 1 && plan.lists() > plan.workers;
}

class Correctness : public testing::DeviceTest {};

TEST_F(Correctness, EveryScheduleOnTheBattery) {
  int runs = 0;
  for (const Workload& w : testing::battery()) {
    if (!supported(w)) continue;
    const Tensors tensors = workloads::make_tensors(w, testing::kTensorBytes);
    const Result<double> exact = cpu_reference::attend(w, tensors);
    const KernelConfig v = first_config(w);
    for (const char* name : kSchedules) {
      Plan plan;
      try {
        plan = schedules::make_plan(name, w, grid_for(w, v));
      } catch (const base::InputError&) {
        continue;  // outside the schedule's rule
      }
      try {
        expect_exact(w, tensors, exact, plan, v);
        ++runs;
      } catch (const base::InputError& error) {
        EXPECT_TRUE(may_be_refused(plan, v)) << error.what();
      }
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(runs, 150);
}

TEST_F(Correctness, EveryConfigGroupDtypeAndLayout) {
  for (const workloads::Dtype dtype : {workloads::Dtype::f16, workloads::Dtype::bf16}) {
    for (const std::int32_t head_dim : {64, 128, 256}) {
      for (const std::int32_t group : {1, 3, 8, 16, 40, 128}) {
        for (const std::int32_t page : {0, 16, 64, 7}) {
          Workload w = testing::decode(
              "group_" + std::to_string(group) + "_d" + std::to_string(head_dim) + "_page" + std::to_string(page),
              testing::geometry(2 * group, 2, head_dim), {700, 33, 0, 1});
          w.geometry.dtype = dtype;
          if (page > 0) w = testing::paged(w, page);
          if (page == 0 && group == 3) w.kv.layout = workloads::KvLayout::bhsd;
          const Tensors tensors = workloads::make_tensors(w, testing::kTensorBytes);
          const Result<double> exact = cpu_reference::attend(w, tensors);
          for (const KernelConfig& v : kernel_configs(w)) {
            if (page == 7 && v.cluster > 1) continue;
            for (const char* name : {"fixed-split:3", "lean+last_arriver"}) {  // single-item kernels, list kernels
              const Plan plan = schedules::make_plan(name, w, grid_for(w, v));
              expect_exact(w, tensors, exact, plan, v);
            }
            if (HasFailure()) return;
          }
        }
      }
    }
  }
}

TEST_F(Correctness, MasksOnEveryConfig) {
  for (const std::int32_t head_dim : {64, 128, 256}) {
    for (const std::int32_t group : {1, 5, 16}) {
      for (const std::int32_t page : {0, 16}) {
        for (const std::int32_t window : {0, 100}) {
          Workload w =
              testing::with_queries(testing::decode("masked_" + std::to_string(group) + "_d" + std::to_string(head_dim),
                                                    testing::geometry(2 * group, 2, head_dim), {700, 33, 8, 129}),
                                    {3, 8, 8, 1});
          if (page > 0) w = testing::paged(w, page);
          if (window > 0) w.geometry.window = window;
          const Tensors tensors = workloads::make_tensors(w, testing::kTensorBytes);
          const Result<double> exact = cpu_reference::attend(w, tensors);
          for (const KernelConfig& v : kernel_configs(w)) {
            for (const char* name : {"fixed-split:3", "lean+last_arriver"}) {
              expect_exact(w, tensors, exact, schedules::make_plan(name, w, grid_for(w, v)), v);
            }
            if (HasFailure()) return;
          }
        }
      }
    }
  }
}

TEST_F(Correctness, AnyScale) {
  for (const double scale : {0.0, -0.5, 3.0}) {
    Workload w = testing::decode("scaled", testing::geometry(16, 2, 64), {300, 70});
    w.geometry.softmax_scale = scale;
    const Tensors tensors = workloads::make_tensors(w, testing::kTensorBytes);
    const Result<double> exact = cpu_reference::attend(w, tensors);
    for (const KernelConfig& v : one_of_each_kind(w)) {
      expect_exact(w, tensors, exact, schedules::make_plan("fixed-split:3", w, grid_for(w, v)), v);
    }
  }
}

TEST_F(Correctness, UniformPlansNeedNoTable) {
  for (const std::int32_t length : {1, 16, 640, 5000}) {
    const Workload w =
        testing::decode("uniform_" + std::to_string(length), testing::geometry(32, 8, 128), {length, length, length});
    const Tensors tensors = workloads::make_tensors(w, testing::kTensorBytes);
    const Result<double> exact = cpu_reference::attend(w, tensors);
    for (const KernelConfig& v : kernel_configs(w)) {
      for (const char* name : {"fixed-split:1", "fixed-split:5+last_arriver"}) {
        const Plan plan = schedules::make_plan(name, w, grid_for(w, v));
        expect_exact(w, tensors, exact, plan, v);
        DeviceTensors on_device = DeviceTensors::upload(w, tensors);
        Decoder decoder(capacity_of(w, plan, v));
        decoder.set_plan(w, on_device.addressing(), plan, v);
        const bool computed = v.row_tiles * 8 >= 4 && v.team != Team::alone;  // whose warps' lists come from a table
        EXPECT_EQ(decoder.uniform(), computed) << name << " " << to_string(v);
        // And the same plan through the tables.
        Capacity roomy = capacity_of(w, plan, v);
        roomy.items *= 2;
        Decoder other(roomy);
        const LaunchOptions table = testing::replayable();
        other.set_plan(w, on_device.addressing(), plan, v, table);
        EXPECT_FALSE(other.uniform());
        on_device.poison_outputs();
        other.launch(on_device.pointers(0));
        other.synchronize();
        const HostResult out = on_device.download();
        const cpu_reference::Errors errors =
            cpu_reference::compare(cpu_reference::Result<float>{out.output, out.lse}, exact);
        EXPECT_TRUE(cpu_reference::acceptable(errors, cpu_reference::tolerance(w.geometry.dtype))) << name;
        if (HasFailure()) return;
      }
    }
  }
}

/// The kernels without rings: they hold an item's tokens at once, so lengths around what each holds.
void expect_whole_item_exact(const Workload& w) {
  const Tensors tensors = workloads::make_tensors(w, testing::kTensorBytes);
  const Result<double> exact = cpu_reference::attend(w, tensors);
  testing::expect_held_exact(w, tensors, exact, "fixed-split:1");
}

TEST_F(Correctness, KernelsWithoutRings) {
  for (const workloads::Dtype dtype : {workloads::Dtype::f16, workloads::Dtype::bf16}) {
    for (const std::int32_t head_dim : {64, 128, 256}) {
      for (const std::int32_t group : {1, 3, 8, 13}) {
        for (const std::int32_t page : {0, 16, 7}) {
          for (const std::int32_t length : {1, 17, 64, 200, 1000}) {
            Workload w = testing::decode("whole_item_" + std::to_string(length) + "_group_" + std::to_string(group) +
                                             "_d" + std::to_string(head_dim) + "_page" + std::to_string(page),
                                         testing::geometry(2 * group, 2, head_dim), {length, length, length});
            w.geometry.dtype = dtype;
            if (page > 0) w = testing::paged(w, page);
            if (page == 0 && group == 3) w.kv.layout = workloads::KvLayout::bhsd;
            expect_whole_item_exact(w);
            w.requests[1].context_len = 1 + length / 3;  // ragged: items from a table
            expect_whole_item_exact(w);
            if (HasFailure()) return;
          }
        }
      }
    }
  }
}

TEST_F(Correctness, KernelsWithoutRingsRefuseOtherPlans) {
  const workloads::Geometry g = testing::geometry(8, 2, 128);
  const Workload too_long = testing::decode("too_long", g, {40'000, 40'000});
  const Workload empty = testing::decode("empty", g, {60, 0});
  const Workload queries = testing::with_queries(testing::decode("queries", g, {60, 60}), {2});
  for (const Workload& w : {too_long, empty, queries}) {
    const DeviceTensors on_device = DeviceTensors::generate(w, 1);
    for (const KernelConfig& v : whole_item_configs(too_long)) {
      const Plan plan = schedules::make_plan("fa2", w, grid_for(too_long, v));
      Decoder decoder(capacity_of(w, plan, v));
      EXPECT_THROW(decoder.set_plan(w, on_device.addressing(), plan, v), base::InputError) << w.name;
    }
  }
}

/// One launch of each single-item kernel, small enough for compute-sanitizer.
void run_each_single_item_kernel(const Workload& w) {
  const Tensors tensors = workloads::make_tensors(w, testing::kTensorBytes);
  const Result<double> exact = cpu_reference::attend(w, tensors);
  std::vector<KernelConfig> all = kernel_configs(w);
  for (const KernelConfig& v : whole_item_configs(w)) all.push_back(v);
  for (const KernelConfig& v : pair_configs(w)) all.push_back(v);
  for (const KernelConfig& v : all) {
    if (v.row_tiles != 1) continue;
    for (const char* name : {"fixed-split:1", "fixed-split:2+last_arriver"}) {
      const Plan plan = schedules::make_plan(name, w, grid_for(w, v));
      if (v.stages > 1 && plan.merges.empty()) continue;  // with rings one kernel takes both
      if (fits_single_item_kernel(w, plan, v)) expect_exact(w, tensors, exact, plan, v);
    }
  }
}

TEST_F(Correctness, EverySingleItemKernelOnce) {
  run_each_single_item_kernel(testing::decode("uniform", testing::geometry(16, 2, 128), {150, 150}));
  run_each_single_item_kernel(testing::decode("ragged", testing::geometry(16, 2, 128), {150, 131}));
  run_each_single_item_kernel(testing::decode("pairs", testing::geometry(8, 2, 64), {150, 131}));
}

/// What FlashAttention's own tests ask: at most twice the error of attention with every intermediate in the dtype.
TEST_F(Correctness, AtMostTwiceTheErrorOfAPlainReference) {
  for (const workloads::Dtype dtype : {workloads::Dtype::f16, workloads::Dtype::bf16}) {
    for (const std::int32_t head_dim : {64, 128, 256}) {
      for (const std::int32_t length : {33, 500, 3000}) {
        Workload w = testing::decode("plain_" + std::to_string(length) + "_d" + std::to_string(head_dim),
                                     testing::geometry(16, 2, head_dim), {length, length});
        w.geometry.dtype = dtype;
        const Tensors tensors = workloads::make_tensors(w, testing::kTensorBytes);
        const Result<double> exact = cpu_reference::attend(w, tensors);
        const double plain = worst_error(testing::half_reference(w, tensors), exact.output);
        std::vector<KernelConfig> all = kernel_configs(w);
        for (const KernelConfig& v : whole_item_configs(w)) all.push_back(v);
        for (const KernelConfig& v : pair_configs(w)) all.push_back(v);
        for (const KernelConfig& v : all) {
          for (const char* name : {"fixed-split:1", v.stages == 1 ? "fixed-split:3+last_arriver" : "fixed-split:3"}) {
            const Plan plan = schedules::make_plan(name, w, grid_for(w, v));
            if (v.single_items_only() && !fits_single_item_kernel(w, plan, v)) continue;
            EXPECT_LE(worst_error(run(w, tensors, plan, v).output, exact.output), 2 * plain)
                << w.name << " " << to_string(dtype) << " " << name << " " << to_string(v);
          }
        }
      }
    }
  }
}

TEST_F(Correctness, EveryMergeGivesTheSameBits) {
  const Workload w = testing::decode("ragged", testing::geometry(8, 2, 128), {1500, 3, 700, 64, 0, 2049});
  const Tensors tensors = workloads::make_tensors(w, testing::kTensorBytes);
  const Result<double> exact = cpu_reference::attend(w, tensors);
  std::vector<KernelConfig> all = one_of_each_kind(w);
  for (const KernelConfig& v : one_of_each_kind(w, 4)) all.push_back(v);
  for (const KernelConfig& v : all) {
    int compared = 0;
    for (const char* name : {"fixed-split:7", "lean", "fixed-size:256"}) {
      std::map<MergeKind, HostResult> results;
      for (const MergeKind merge : {MergeKind::kernel, MergeKind::host_cta, MergeKind::last_arriver}) {
        Plan plan;
        try {
          plan = schedules::make_plan(std::string(name) + '+' + to_string(merge), w, grid_for(w, v));
        } catch (const base::InputError&) {  // CTAs that wait are not all resident
          EXPECT_EQ(merge, MergeKind::host_cta);
          continue;
        }
        expect_exact(w, tensors, exact, plan, v);
        results[merge] = run(w, tensors, plan, v);
      }
      const HostResult* first = nullptr;
      for (const MergeKind merge : testing::merges_alike(schedules::make_plan(name, w, grid_for(w, v)))) {
        const auto found = results.find(merge);
        if (found == results.end()) continue;
        if (first == nullptr) {
          first = &found->second;
          continue;
        }
        EXPECT_TRUE(same_bits(found->second, *first)) << schedules::to_string(merge);
        ++compared;
      }
    }
    EXPECT_GE(compared, 1) << to_string(v);  // seven parts are merged alike by the kernel and the last arriver
  }
}

TEST_F(Correctness, HundredRunsAreBitwiseEqual) {
  const Workload w = testing::decode("repeat", testing::geometry(16, 2, 128), {3000, 17, 800});
  const Tensors tensors = workloads::make_tensors(w, testing::kTensorBytes);
  for (const KernelConfig& v : one_of_each_kind(w)) {
    const Plan plan = schedules::make_plan("lean+last_arriver", w, grid_for(w, v));
    testing::expect_repeatable(w, tensors, plan, v, 100);
    if (HasFatalFailure()) return;
  }
}

TEST_F(Correctness, EveryItemIsVisitedOnce) {
  const Workload w = testing::decode("visits", testing::geometry(8, 2, 64), {1500, 3, 700, 64, 0, 2049});
  const Tensors tensors = workloads::make_tensors(w, testing::kTensorBytes);
  std::vector<KernelConfig> all = one_of_each_kind(w);
  for (const KernelConfig& v : one_of_each_kind(w, 2)) all.push_back(v);
  for (const char* name : kSchedules) {
    for (const KernelConfig& v : all) {
      const Plan plan = schedules::make_plan(name, w, grid_for(w, v));
      if (plan.merge == MergeKind::host_cta && plan.ctas() > residency(w, v).workers) continue;
      if (takes_further_lists(plan, v)) continue;
      DeviceTensors on_device = DeviceTensors::upload(w, tensors);
      Decoder decoder(capacity_of(w, plan, v));
      LaunchOptions options;
      options.count_visits = true;
      decoder.set_plan(w, on_device.addressing(), plan, v, options);
      decoder.launch(on_device.pointers(0));
      decoder.synchronize();
      const std::vector<std::uint64_t> visits = decoder.visits();
      ASSERT_EQ(visits.size(), plan.items.size());
      for (const std::uint64_t count : visits) EXPECT_EQ(count, 1U) << name << " " << to_string(v);
    }
  }
}

/// More merges than a CTA keeps in mind until its list ends, whoever does them, with items that warps share between
/// them.
TEST_F(Correctness, ListsThatOweManyMerges) {
  const Workload w = testing::decode("merges", testing::geometry(40, 40, 128), {700});
  const Tensors tensors = workloads::make_tensors(w, testing::kTensorBytes);
  const Result<double> exact = cpu_reference::attend(w, tensors);
  for (const KernelConfig& v : kernel_configs(w)) {
    if (v.row_tiles > 1) continue;
    for (const MergeKind merge : {MergeKind::last_arriver, MergeKind::host_cta, MergeKind::kernel}) {
      Plan plan = schedules::make_plan("fixed-split:2+last_arriver", w, grid_for(w, v));
      plan.merge = merge;
      ASSERT_EQ(plan.items.size(), 80U);
      // All first parts in one list, all second ones in the other.
      std::stable_partition(plan.items.begin(), plan.items.end(),
                            [](const schedules::Item& item) { return item.kv_begin == 0; });
      plan.cta_begin = {0, 40, 80};
      expect_exact(w, tensors, exact, plan, v);
      if (HasFailure()) return;
    }
  }
}

TEST_F(Correctness, ClustersTakeOneListEachFromAQueue) {
  const Workload w = testing::decode("queue", testing::geometry(8, 2, 128), {1500, 3, 700, 64, 0, 2049});
  const Tensors tensors = workloads::make_tensors(w, testing::kTensorBytes);
  const Result<double> exact = cpu_reference::attend(w, tensors);
  for (const KernelConfig& v : kernel_configs(w)) {
    Plan plan = schedules::make_plan("fa3:1", w, grid_for(w, v));
    for (const std::int32_t workers : {plan.lists() + 1, plan.lists(), plan.lists() - 1, 1}) {
      plan.workers = workers;
      if (v.cluster > 1 && workers < plan.lists()) {
        EXPECT_THROW(run(w, tensors, plan, v), base::InputError) << workers << " " << to_string(v);
      } else {
        expect_exact(w, tensors, exact, plan, v);
      }
      if (HasFailure()) return;
    }
  }
}

TEST_F(Correctness, RefusesWhatNoKernelIsCompiledFor) {
  for (const Workload& w : testing::battery()) {
    if (supported(w) || w.requests.empty()) continue;
    EXPECT_THROW(kernel_configs(w), base::InputError) << w.name;
  }
}

}  // namespace
}  // namespace splitwave::gpu
