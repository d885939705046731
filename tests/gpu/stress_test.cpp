// SPDX-License-Identifier: Apache-2.0
// What checkers of races do not see: the flags between CTAs. Every run ends with the same bits or in a named error.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/error.h"
#include "gpu/decode.h"
#include "gpu/error.h"
#include "schedules/schedules.h"
#include "tests/gpu/device_fixture.h"
#include "tests/gpu/judged_run.h"
#include "tests/support/battery.h"
#include "workloads/tensors.h"

namespace splitwave::gpu {
namespace {

using schedules::MergeKind;
using schedules::Plan;
using testing::same_bits;
using workloads::Tensors;
using workloads::Workload;

constexpr MergeKind kMerges[] = {MergeKind::kernel, MergeKind::host_cta, MergeKind::last_arriver};

KernelConfig config_with(const Workload& w, std::int32_t cluster, Team team = Team::warps) {
  const std::int32_t row_tiles = row_tiles_for(w.geometry, w.geometry.group());
  for (const KernelConfig& v : kernel_configs(w)) {
    if (v.row_tiles == row_tiles && v.cluster == cluster && v.team == team) return v;
  }
  return kernel_configs(w).front();
}

/// Single CTAs, clusters, and warps with lists of their own.
std::vector<KernelConfig> kinds_of_workers(const Workload& w, std::int32_t cluster) {
  return {config_with(w, 1), config_with(w, cluster), config_with(w, 1, Team::alone)};
}

/// The schedule's plan with this merge.
Plan plan_for(const Workload& w, const KernelConfig& v, const char* name, MergeKind merge) {
  return testing::plan_of(w, v, std::string(name) + '+' + to_string(merge));
}

class Stress : public testing::DeviceTest {};

TEST_F(Stress, ReplaysUnderMemoryLoadOnTwoStreams) {
  const Workload w = testing::decode("stress", testing::geometry(16, 2, 128), {4000, 5, 900, 64});
  const Workload noise = testing::decode("noise", testing::geometry(32, 8, 128), std::vector<std::int32_t>(16, 8192));
  const Tensors tensors = workloads::make_tensors(w, testing::kTensorBytes);
  const DeviceTensors load = DeviceTensors::generate(noise, 1);
  const KernelConfig noise_config = config_with(noise, 1);
  const Plan noise_plan = plan_for(noise, noise_config, "fixed-split:2", MergeKind::last_arriver);
  for (const KernelConfig& v : kinds_of_workers(w, 4)) {
    for (const MergeKind merge : kMerges) {
      const Plan plan = plan_for(w, v, "lean", merge);
      DeviceTensors a = DeviceTensors::upload(w, tensors);
      DeviceTensors b = DeviceTensors::upload(w, tensors);
      Decoder first(capacity_of(w, plan, v));
      Decoder second(capacity_of(w, plan, v));
      Decoder third(capacity_of(noise, noise_plan, noise_config));
      first.set_plan(w, a.addressing(), plan, v);
      second.set_plan(w, b.addressing(), plan, v);
      third.set_plan(noise, load.addressing(), noise_plan, noise_config);
      first.launch(a.pointers(0));
      first.synchronize();
      const HostResult expected = a.download();
      first.capture({a.pointers(0)});
      second.capture({b.pointers(0)});
      third.capture({load.pointers(0)});
      for (int i = 0; i < 1000; ++i) {
        first.replay();
        second.replay();
        if (i % 4 == 0) third.replay();
      }
      first.synchronize();
      second.synchronize();
      third.synchronize();
      EXPECT_TRUE(same_bits(a.download(), expected)) << schedules::to_string(merge);
      EXPECT_TRUE(same_bits(b.download(), expected)) << schedules::to_string(merge);
    }
  }
}

TEST_F(Stress, DelayedCtasChangeNothing) {
  const Workload w = testing::decode("delayed", testing::geometry(16, 2, 128), {4000, 5, 900, 64});
  const Tensors tensors = workloads::make_tensors(w, testing::kTensorBytes);
  for (const KernelConfig& v : kinds_of_workers(w, 8)) {
    for (const MergeKind merge : kMerges) {
      const Plan plan = plan_for(w, v, "lean", merge);
      const HostResult expected = run(w, tensors, plan, v);
      for (std::uint32_t seed = 1; seed <= 20; ++seed) {
        LaunchOptions options;
        options.delay_seed = seed;
        EXPECT_TRUE(same_bits(run(w, tensors, plan, v, options), expected)) << schedules::to_string(merge) << seed;
      }
    }
  }
}

TEST_F(Stress, GridsFromOneCtaToTenTimesWhatIsResident) {
  const Workload w = testing::decode("grids", testing::geometry(16, 2, 128), {4000, 5, 900, 64, 2000});
  const Tensors tensors = workloads::make_tensors(w, testing::kTensorBytes);
  const KernelConfig v = config_with(w, 1);
  const std::int32_t resident = residency(w, v).workers;
  for (const std::int32_t ctas : {1, 2, resident - 1, resident, resident + 1, 10 * resident}) {
    for (const MergeKind merge : kMerges) {
      schedules::Grid grid{ctas, 1, 0, 16};
      const Plan plan = schedules::make_plan("lean+" + to_string(merge), w, grid);
      if (merge == MergeKind::host_cta && plan.ctas() > resident) {
        EXPECT_THROW(run(w, tensors, plan, v), base::InputError);
        continue;
      }
      const HostResult first = run(w, tensors, plan, v);
      for (int i = 0; i < 5; ++i) EXPECT_TRUE(same_bits(run(w, tensors, plan, v), first)) << ctas;
    }
  }
}

TEST_F(Stress, ADroppedArrivalEndsInANamedError) {
  const Workload w = testing::decode("dropped", testing::geometry(16, 2, 128), {4000});
  const Tensors tensors = workloads::make_tensors(w, testing::kTensorBytes);
  for (const KernelConfig& v : kinds_of_workers(w, 4)) {
    for (const MergeKind merge : {MergeKind::host_cta, MergeKind::last_arriver}) {
      const Plan plan = plan_for(w, v, "fixed-split:4", merge);
      DeviceTensors on_device = DeviceTensors::upload(w, tensors);
      Decoder decoder(capacity_of(w, plan, v));
      LaunchOptions options;
      options.dropped_slot = 1;
      options.wait_seconds = 0.05;
      decoder.set_plan(w, on_device.addressing(), plan, v, options);
      decoder.launch(on_device.pointers(0));
      try {
        decoder.synchronize();
        ADD_FAILURE() << "no error";
      } catch (const DeviceError& error) {
        const std::string message = error.what();
        EXPECT_TRUE(message.find("waited in vain") != std::string::npos ||
                    message.find("arrivals are missing") != std::string::npos)
            << message;
      }
      // The workspace has been reset: the next run is good.
      decoder.set_plan(w, on_device.addressing(), plan, v);
      on_device.poison_outputs();
      decoder.launch(on_device.pointers(0));
      decoder.synchronize();
      EXPECT_TRUE(same_bits(on_device.download(), run(w, tensors, plan, v)));
    }
  }
}

/// A captured graph replays with the plan of each later decode step.
void take_thousand_steps(Team team) {
  Workload longest = testing::decode("growing", testing::geometry(8, 2, 64), {1300, 1100, 1005});
  longest = testing::paged(longest, 16);
  const Tensors tensors = workloads::make_tensors(longest, testing::kTensorBytes);
  const KernelConfig v = config_with(longest, 1, team);
  DeviceTensors on_device = DeviceTensors::upload(longest, tensors);
  const KvAddressing addressing = on_device.addressing();
  const std::int32_t workers = 40;
  const auto plan_at = [&](std::int32_t step, Workload& w) {
    w = longest;
    for (std::size_t r = 0; r < w.requests.size(); ++r) {
      w.requests[r].context_len = longest.requests[r].context_len - 1000 + step;
    }
    return schedules::make_plan("lean+last_arriver", w, schedules::Grid{workers, 1, 0, 16});
  };
  Capacity capacity;
  capacity.items = 600;
  capacity.merges = 6;
  capacity.partials = 200;
  capacity.row_tiles = v.row_tiles;
  capacity.value_dim = 64;
  Decoder decoder(capacity);
  const LaunchOptions options = testing::replayable();
  Workload w;
  Plan plan = plan_at(0, w);
  decoder.set_plan(w, addressing, plan, v, options);
  decoder.capture({on_device.pointers(0)});
  for (std::int32_t step = 0; step <= 1000; ++step) {
    plan = plan_at(step, w);
    decoder.set_plan(w, addressing, plan, v, options);
    decoder.replay();
    if (step % 100 != 0) continue;
    decoder.synchronize();
    const HostResult replayed = on_device.download();
    Decoder fresh(capacity);
    fresh.set_plan(w, addressing, plan, v);
    on_device.poison_outputs();
    fresh.launch(on_device.pointers(0));
    fresh.synchronize();
    ASSERT_TRUE(same_bits(replayed, on_device.download())) << step;
  }
}

TEST_F(Stress, ThousandStepsOfGrowingContexts) {
  for (const Team team : {Team::warps, Team::alone}) take_thousand_steps(team);
}

}  // namespace
}  // namespace splitwave::gpu
