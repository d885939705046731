// SPDX-License-Identifier: Apache-2.0
// What launches record: every item and every merge once for each CTA that works on it, within its CTA's time.
#include <gtest/gtest.h>

#include <algorithm>
#include <exception>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "gpu/decode.h"
#include "schedules/schedules.h"
#include "tests/gpu/device_fixture.h"
#include "tests/support/battery.h"
#include "workloads/tensors.h"

namespace splitwave::gpu {
namespace {

using schedules::MergeKind;
using schedules::Plan;
using schedules::Recording;
using schedules::Stretch;
using workloads::Workload;

bool kernels_record() {
  try {
    require_recording();
  } catch (const base::MissingError&) {
    return false;
  }
  return true;
}

class DeviceTimeline : public testing::DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (!IsSkipped() && !kernels_record()) GTEST_SKIP() << "built without SPLITWAVE_TIMELINE";
  }
};

struct Case {
  Workload workload;
  Plan plan;
  KernelConfig config;
  std::string name() const {
    return workload.name + ", plan " + plan.schedule + " (" + schedules::to_string(plan.dispatch) + ", " +
           std::to_string(plan.lists()) + " lists, " + std::to_string(plan.ctas()) + " workers), merge " +
           schedules::to_string(plan.merge) + ", config " + to_string(config) + ", cluster " +
           std::to_string(config.cluster);
  }
};

HostResult recorded_launch(Decoder& decoder, DeviceTensors& tensors) {
  tensors.poison_outputs();
  decoder.launch(tensors.pointers(0));
  decoder.synchronize();
  return tensors.download();
}

/// CTAs of a cluster times row blocks that have rows of the tile.
std::int64_t ctas_of(const Case& one, const schedules::OutputTile& tile) {
  const std::int32_t rows = 8 * one.config.row_tiles;
  return std::int64_t{one.config.cluster} * ((tile.rows() + rows - 1) / rows);
}

void expect_each_once(const Case& one, const Recording& recording) {
  std::map<std::int32_t, std::int64_t> seen;
  for (const Stretch& work : recording.work) ++seen[work.item];
  std::int64_t merges = 0;
  for (const schedules::Merge& merge : one.plan.merges) {
    // A merge kernel's CTA merges for the whole cluster.
    merges += ctas_of(one, one.plan.outputs[static_cast<std::size_t>(merge.output)]) /
              (one.plan.merge == MergeKind::kernel ? one.config.cluster : 1);
  }
  EXPECT_EQ(seen[-1], merges);
  for (std::size_t item = 0; item < one.plan.items.size(); ++item) {
    const auto output = static_cast<std::size_t>(one.plan.items[item].output);
    const std::int64_t times = seen[static_cast<std::int32_t>(item)];
    const std::int64_t ctas = ctas_of(one, one.plan.outputs[output]);
    if (one.config.team == Team::alone) {  // up to as many pieces as warps
      ASSERT_TRUE(times >= ctas && times <= ctas * one.config.warps) << "item " << item << ": " << times;
    } else {
      ASSERT_EQ(times, ctas) << "item " << item;
    }
  }
}

/// Work is within its CTA, begins before it ends, and does not overlap what else the CTA does; SMs exist.
void expect_ordered(const Recording& recording, std::int32_t sms) {
  std::map<std::int32_t, Stretch> ctas;
  for (const Stretch& cta : recording.ctas) {
    EXPECT_TRUE(ctas.emplace(cta.cta, cta).second) << "CTA " << cta.cta << " twice";
    EXPECT_GE(cta.sm, 0);
    EXPECT_LT(cta.sm, sms);
    EXPECT_LE(cta.begin_nanoseconds, cta.end_nanoseconds);  // a CTA without work may end within a step of the clock
  }
  std::vector<Stretch> work = recording.work;
  std::sort(work.begin(), work.end(), [](const Stretch& a, const Stretch& b) {
    return std::pair(a.cta, a.begin_nanoseconds) < std::pair(b.cta, b.begin_nanoseconds);
  });
  for (std::size_t i = 0; i < work.size(); ++i) {
    ASSERT_TRUE(ctas.contains(work[i].cta)) << "CTA " << work[i].cta;
    const Stretch& cta = ctas.at(work[i].cta);
    EXPECT_EQ(work[i].sm, cta.sm);
    EXPECT_LT(work[i].begin_nanoseconds, work[i].end_nanoseconds) << "item " << work[i].item;
    EXPECT_GE(work[i].begin_nanoseconds, cta.begin_nanoseconds);
    EXPECT_LE(work[i].end_nanoseconds, cta.end_nanoseconds);
    if (i > 0 && work[i - 1].cta == work[i].cta) {
      EXPECT_LE(work[i - 1].end_nanoseconds, work[i].begin_nanoseconds);
    }
  }
}

/// step: what is being done, for the message if that throws.
void expect_recorded(const Case& one, std::string& step) {
  step = "without recording";
  DeviceTensors tensors = DeviceTensors::generate(one.workload, 1);
  Decoder decoder(capacity_of(one.workload, one.plan, one.config));
  decoder.set_plan(one.workload, tensors.addressing(), one.plan, one.config);
  const HostResult expected = recorded_launch(decoder, tensors);
  step = "first recorded launch";
  LaunchOptions options;
  options.record = true;
  decoder.set_plan(one.workload, tensors.addressing(), one.plan, one.config, options);
  EXPECT_TRUE(testing::same_bits(recorded_launch(decoder, tensors), expected)) << "recording changes no result";
  const Recording first = decoder.recording();
  step = "second recorded launch";
  recorded_launch(decoder, tensors);
  const Recording second = decoder.recording();
  std::int64_t first_end = 0;
  for (const Stretch& cta : first.ctas) first_end = std::max(first_end, cta.end_nanoseconds);
  for (const Stretch& cta : second.ctas) EXPECT_GE(cta.begin_nanoseconds, first_end) << "the last launch's";
  const std::int32_t sms = current_device().sms;
  for (const Recording& recording : {first, second}) {
    expect_each_once(one, recording);
    expect_ordered(recording, sms);
  }
}

/// Stops at the first case that fails. Exceptions are caught within the trace, which they would leave otherwise.
void expect_recorded(const std::vector<Case>& cases) {
  for (const Case& one : cases) {
    SCOPED_TRACE(one.name());
    std::string step;
    try {
      expect_recorded(one, step);
    } catch (const std::exception& error) {
      ADD_FAILURE() << step << ": " << error.what();
    }
    if (::testing::Test::HasFailure()) return;
  }
}

/// The plans that the config can run: without rings only short ones, where CTAs wait all are resident, and no cluster
/// takes more than one list from a queue.
std::vector<Case> with_schedules(const Workload& w, const KernelConfig& config,
                                 std::initializer_list<const char*> names) {
  std::vector<Case> cases;
  for (const char* name : names) {
    schedules::Grid grid = grid_of(w, config);
    grid.tile_kv = 64;
    const Plan plan = schedules::make_plan(name, w, grid);
    if (config.stages == 1 && !fits_single_item_kernel(w, plan, config)) continue;
    if (plan.merge == MergeKind::host_cta && plan.ctas() > residency(w, config).workers) continue;
    const bool queue = plan.dispatch == schedules::Dispatch::queue;
    if (queue && config.cluster > 1 && plan.lists() > plan.workers) continue;
    cases.push_back({w, plan, config});
  }
  return cases;
}

TEST_F(DeviceTimeline, EveryItemAndMergeOnceInListKernels) {
  const Workload ragged = testing::decode("ragged", testing::geometry(8, 2, 64), {1500, 3, 700, 64, 0, 2049});
  for (const KernelConfig& config : kernel_configs(ragged)) {
    expect_recorded(with_schedules(
        ragged, config,
        {"fa2", "fixed-split:3", "fa3", "lean", "lean+last_arriver", "lean:ort", "flashinfer", "flashinfer-holistic"}));
    if (HasFailure()) return;
  }
}

TEST_F(DeviceTimeline, EveryItemOfTheListsThatAQueueHandsOut) {
  const Workload ragged = testing::decode("handed-out", testing::geometry(8, 2, 64), {1500, 3, 700, 64, 0, 2049});
  for (const KernelConfig& config : kernel_configs(ragged)) {
    if (config.cluster > 1) continue;
    schedules::Grid grid = grid_of(ragged, config);
    grid.tile_kv = 64;
    Plan plan = schedules::make_plan("fa3", ragged, grid);
    plan.workers = 5;
    expect_recorded({{ragged, plan, config}});
    if (HasFailure()) return;
  }
}

TEST_F(DeviceTimeline, EveryItemAndMergeOnceInSingleItemKernels) {
  const Workload alike = testing::decode("alike", testing::geometry(16, 2, 128), {900, 900, 900});
  for (const KernelConfig& config : kernel_configs(alike)) {
    expect_recorded(with_schedules(alike, config, {"fa2", "fixed-split:3", "fixed-split:3+last_arriver"}));
    if (HasFailure()) return;
  }
  const Workload small = testing::decode("small", testing::geometry(16, 2, 128), {60, 60, 60});
  for (const KernelConfig& config : whole_item_configs(small)) {
    expect_recorded(with_schedules(small, config, {"fixed-split:1"}));
    if (HasFailure()) return;
  }
}

TEST_F(DeviceTimeline, EveryRowBlockOfATallTileRecordsItsItems) {
  const Workload tall =
      testing::with_queries(testing::decode("tall", testing::geometry(16, 2, 64), {700, 300}), {9, 5}, /*causal=*/true);
  for (const KernelConfig& config : kernel_configs(tall)) {
    expect_recorded(with_schedules(tall, config, {"fa2", "fixed-split:3", "fixed-split:3+last_arriver"}));
    if (HasFailure()) return;
  }
}

TEST_F(DeviceTimeline, WithoutTheOptionNothingIsRecorded) {
  const Workload w = testing::decode("plain", testing::geometry(8, 2, 64), {500});
  const Case one = with_schedules(w, kernel_configs(w).front(), {"fa2"}).front();
  DeviceTensors tensors = DeviceTensors::generate(w, 1);
  Decoder decoder(capacity_of(w, one.plan, one.config));
  decoder.set_plan(w, tensors.addressing(), one.plan, one.config);
  recorded_launch(decoder, tensors);
  EXPECT_TRUE(decoder.recording().ctas.empty());
  EXPECT_TRUE(decoder.recording().work.empty());
}

class DeviceWithoutTimeline : public testing::DeviceTest {};

TEST_F(DeviceWithoutTimeline, RefusesToRecordAndKeepsThePlan) {
  if (kernels_record()) GTEST_SKIP() << "built with SPLITWAVE_TIMELINE";
  const Workload w = testing::decode("refused", testing::geometry(8, 2, 64), {500});
  const Case one = with_schedules(w, kernel_configs(w).front(), {"fa2"}).front();
  DeviceTensors tensors = DeviceTensors::generate(w, 1);
  Decoder decoder(capacity_of(w, one.plan, one.config));
  decoder.set_plan(w, tensors.addressing(), one.plan, one.config);
  const HostResult expected = recorded_launch(decoder, tensors);
  LaunchOptions options;
  options.record = true;
  EXPECT_THROW(decoder.set_plan(w, tensors.addressing(), one.plan, one.config, options), base::MissingError);
  EXPECT_TRUE(testing::same_bits(recorded_launch(decoder, tensors), expected));
}

}  // namespace
}  // namespace splitwave::gpu
