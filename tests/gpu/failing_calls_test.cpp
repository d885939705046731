// SPDX-License-Identifier: Apache-2.0
// gpu/'s host code with stand-ins for the CUDA runtime and the kernels: every call fails once, and each time one error
// names it, all is freed, and the next try gives the right answer. Needs no device.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "cpu_reference/compare.h"
#include "cpu_reference/oracle.h"
#include "gpu/decode.h"
#include "gpu/device.h"
#include "gpu/error.h"
#include "gpu/kernels/params.h"
#include "gpu/measure.h"
#include "gpu/sm_partition.h"
#include "schedules/schedules.h"
#include "tests/gpu/device_fixture.h"
#include "tests/gpu/stand_in/runtime.h"
#include "tests/support/battery.h"
#include "workloads/load.h"
#include "workloads/tensors.h"

namespace splitwave::gpu {
namespace {

using schedules::Plan;
using workloads::Tensors;
using workloads::Workload;

/// A workload, a plan of it and a kernel.
struct Case {
  Workload workload;
  Plan plan;
  KernelConfig config;
  LaunchOptions options;
};

Case make_case(const std::string& spec, const char* schedule, std::int32_t cluster = 1, LaunchOptions options = {}) {
  Case made;
  made.workload = workloads::parse_spec(spec);
  const std::int32_t rows = made.workload.geometry.group() * workloads::max_query_len(made.workload);
  for (const KernelConfig& config : kernel_configs(made.workload)) {
    if (config.row_tiles == row_tiles_for(made.workload.geometry, rows) && config.cluster == cluster) {
      made.config = config;
    }
  }
  schedules::Grid grid = grid_of(made.workload, made.config);
  grid.tile_q = 8 * made.config.row_tiles;
  grid.tile_kv = 32;
  made.plan = schedules::make_plan(schedule, made.workload, grid);
  made.options = options;
  return made;
}

/// With tables and without, merged by each kind of kernel, paged, masked, in clusters.
std::vector<Case> cases() {
  return {make_case("h=4/2,d=64:2q1s150_1q1s37", "lean+last_arriver"),
          make_case("h=4/2,d=64:2q1s150_1q1s37", "lean"),  // its merges wait for other CTAs
          make_case("h=4/2,d=64:2q1s150_1q1s37", "fixed-split:3+kernel"),
          make_case("h=4/2,d=64:3q1s100", "fixed-split:2+kernel"),
          make_case("h=4/2,d=64:3q1s100", "fixed-split:2+last_arriver", 2),
          make_case("h=8/2,d=64,page=16:1q1s90_2q1s33", "fixed-split:2"),
          make_case("h=8/1,d=64,page=24:2q3s70", "fixed-size:32"),
          make_case("h=4/2,d=64:9q1s70_3q1s200", "fa3"),  // its lists wait in a queue
          make_case("h=4/4,d=64,window=20,dtype=bf16:2q3s70", "fa2"),
          make_case("h=24/2,d=64:2q2s64_1q1s9", "fixed-split:2+kernel", 1, testing::replayable())};
}

void expect_right(const Case& c, const HostResult& result, const std::string& what) {
  static const std::int64_t kNoLimit = std::int64_t{1} << 30;
  const Tensors tensors = workloads::make_tensors(c.workload, kNoLimit);
  const cpu_reference::Result<float> computed{result.output, result.lse};
  const cpu_reference::Errors errors = cpu_reference::compare(computed, cpu_reference::attend(c.workload, tensors));
  EXPECT_TRUE(cpu_reference::acceptable(errors, cpu_reference::tolerance(c.workload.geometry.dtype)))
      << what << ", " << c.plan.schedule << ": worst row " << errors.worst_row_relative_l2 << ", LSE "
      << errors.lse_max_relative << ", not finite " << errors.mismatched_non_finite;
}

std::string trace(const Case& c) {
  return c.workload.name + " " + c.plan.schedule + " " + schedules::to_string(c.plan.merge);
}

/// Who makes the last call of some work: errors of destructors are dropped.
enum class LastCall { checked, in_destructor };

/// Does `work` with its first call failing, its second, and so on to its last. Each time one error must come that names
/// the call, and `after` is called. The number of calls.
std::int64_t fail_each_call(LastCall last, const std::function<void()>& work,
                            const std::function<void(const std::string&)>& after) {
  work();  // what is asked of the runtime only once is asked now
  stand_in::fail_call(0, cudaSuccess);
  work();
  const std::int64_t calls = stand_in::calls();
  for (std::int64_t number = 1; number <= calls; ++number) {
    stand_in::fail_call(number, cudaErrorMemoryAllocation);
    std::string told;
    try {
      work();
    } catch (const DeviceError& error) {
      told = error.what();
    }
    const std::string failed = stand_in::failed_call();
    stand_in::fail_call(0, cudaSuccess);
    const bool dropped = number == calls && last == LastCall::in_destructor;
    const std::string expected = failed + "(";
    EXPECT_EQ(told.find(expected) == std::string::npos, dropped) << "call " << number << ", " << failed << ": " << told;
    if (!dropped) {
      EXPECT_NE(told.find("gpu/"), std::string::npos) << told;
      EXPECT_NE(told.find(": cudaErrorMemoryAllocation: as a test asked"), std::string::npos) << told;
      EXPECT_EQ(told.find('\n'), std::string::npos) << told;
    }
    after(failed);
  }
  return calls;
}

class FailingCalls : public ::testing::Test {
 protected:
  void TearDown() override {
    EXPECT_EQ(stand_in::live_resources(), 0);
    EXPECT_EQ(stand_in::misuse(), "");
  }
};

TEST_F(FailingCalls, WithoutThemEveryPlanGivesTheOraclesAnswer) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(trace(c));
    const Tensors tensors = workloads::make_tensors(c.workload, 1 << 26);
    expect_right(c, run(c.workload, tensors, c.plan, c.config, c.options), "run");
  }
}

TEST_F(FailingCalls, AreTriedWithEveryDispatchAndMerge) {
  std::set<schedules::Dispatch> dispatches;
  std::set<schedules::MergeKind> merges;
  for (const Case& c : cases()) {
    dispatches.insert(c.plan.dispatch);
    merges.insert(c.plan.merge);
  }
  EXPECT_EQ(dispatches.size(), 3);
  EXPECT_EQ(merges.size(), 4);
}

TEST_F(FailingCalls, OfARunAreNamedAndFreeAll) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(trace(c));
    const Tensors tensors = workloads::make_tensors(c.workload, 1 << 26);
    const std::int64_t calls = fail_each_call(
        LastCall::in_destructor, [&] { run(c.workload, tensors, c.plan, c.config, c.options); },
        [](const std::string& call) { EXPECT_EQ(stand_in::live_resources(), 0) << call; });
    EXPECT_GT(calls, 30);
    expect_right(c, run(c.workload, tensors, c.plan, c.config, c.options), "run");
  }
}

TEST_F(FailingCalls, OfMeasurementsAreNamedAndFreeAll) {
  const Case c = make_case("h=8/2,d=64,page=16:1q1s90_2q1s33", "fixed-split:2+kernel");
  MeasureOptions options;
  options.replays = 2;
  options.bytes_per_cycle = 1;
  options.seconds_per_replay = 1e-9;
  const std::int64_t calls = fail_each_call(
      LastCall::in_destructor,
      [&] {
        DeviceTensors tensors = DeviceTensors::generate(c.workload, copies_for(c.workload, options));
        tensors.download_tensors();
        Decoder decoder(capacity_of(c.workload, c.plan, c.config));
        decoder.set_plan(c.workload, tensors.addressing(), c.plan, c.config);
        const Timing timing = time_plan(c.workload, tensors, decoder, true, options);
        EXPECT_EQ(timing.median, 1e-3 / 2);
        EXPECT_EQ(timing.launches_per_replay, 2);
        EXPECT_EQ(timing.samples, 2);
        time_plain_read(c.workload, tensors, options);
      },
      [](const std::string& call) { EXPECT_EQ(stand_in::live_resources(), 0) << call; });
  EXPECT_GT(calls, 80);
}

/// What a decoder makes of a plan: launched, and captured and replayed.
void use(Decoder& decoder, DeviceTensors& tensors, const Case& c) {
  decoder.set_plan(c.workload, tensors.addressing(), c.plan, c.config, c.options);
  decoder.launch(tensors.pointers(0));
  decoder.synchronize();
  decoder.capture({tensors.pointers(0), tensors.pointers(0)});
  decoder.replay();
  decoder.synchronize();
}

TEST_F(FailingCalls, LeaveADecoderThatCanBeUsedAgain) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(trace(c));
    DeviceTensors tensors = DeviceTensors::generate(c.workload, 1);
    Decoder decoder(capacity_of(c.workload, c.plan, c.config));
    fail_each_call(
        LastCall::checked, [&] { use(decoder, tensors, c); },
        [&](const std::string& call) {
          tensors.poison_outputs();
          use(decoder, tensors, c);
          expect_right(c, tensors.download(), call);
        });
  }
}

// The tables of a plan whose upload failed are no plan's: neither it nor the one before can run.
TEST_F(FailingCalls, OfAnUploadLeaveNoPlanToLaunch) {
  const Case before = make_case("h=4/2,d=64:2q1s150_1q1s37", "fixed-split:3+kernel");
  const Case next = make_case("h=4/2,d=64:1q1s37_2q1s150", "fixed-split:2+kernel");
  DeviceTensors tensors = DeviceTensors::generate(before.workload, 1);
  Decoder decoder(capacity_of(before.workload, before.plan, before.config));
  std::vector<std::string> failed;
  std::int64_t refused = 0;
  const auto expect_nothing_or_the_one_before = [&](const std::function<void()>& start) {
    tensors.poison_outputs();
    try {
      start();
    } catch (const DeviceError&) {
      ++refused;
      return;
    }
    decoder.synchronize();
    expect_right(before, tensors.download(), failed.back());
  };
  for (int i = 0; i < 4; ++i) use(decoder, tensors, before);  // each upload buffer once: next time it is waited for
  for (std::int64_t number = 1;; ++number) {
    use(decoder, tensors, before);
    stand_in::fail_call(number, cudaErrorMemoryAllocation);
    try {
      decoder.set_plan(next.workload, dense_addressing(next.workload), next.plan, next.config);
      break;
    } catch (const DeviceError&) {
      failed.push_back(stand_in::failed_call());
    }
    expect_nothing_or_the_one_before([&] { decoder.launch(tensors.pointers(0)); });
    expect_nothing_or_the_one_before([&] { decoder.replay(); });
  }
  stand_in::fail_call(0, cudaSuccess);
  // Launch and replay behind each of the two copies and the event that follows them.
  EXPECT_EQ(std::count(failed.begin(), failed.end(), "cudaMemcpyAsync"), 2);
  EXPECT_EQ(failed.back(), "cudaEventRecord");
  EXPECT_EQ(refused, 6);
}

// An upload buffer is written anew only when its copy has ended.
TEST_F(FailingCalls, WithoutThemPlansMayFollowEachOtherOnAStream) {
  const Case a = make_case("h=4/2,d=64:2q1s150_1q1s37", "fixed-split:3+kernel");
  const Case b = make_case("h=4/2,d=64:1q1s37_2q1s150", "fixed-split:3+kernel");
  Decoder decoder(capacity_of(a.workload, a.plan, a.config));
  std::vector<DeviceTensors> tensors;
  for (int i = 0; i < 12; ++i) {
    const Case& c = i % 3 == 0 ? a : b;
    tensors.push_back(DeviceTensors::generate(c.workload, 1));
    decoder.set_plan(c.workload, tensors.back().addressing(), c.plan, c.config);
    decoder.launch(tensors.back().pointers(0));
  }
  decoder.synchronize();
  for (int i = 0; i < 12; ++i)
    expect_right(i % 3 == 0 ? a : b, tensors[static_cast<std::size_t>(i)].download(), "plan");
}

TEST_F(FailingCalls, WithoutThemADecoderWaitsForItsUpload) {
  const Case c = cases().front();
  Decoder(capacity_of(c.workload, c.plan, c.config))
      .set_plan(c.workload, dense_addressing(c.workload), c.plan, c.config);
}

TEST_F(FailingCalls, WithoutThemTheDeviceIsWhatTheRuntimeSays) {
  const Device device = current_device();
  EXPECT_EQ(device.name, "stand-in");
  EXPECT_EQ(device.sms, 4);
  EXPECT_EQ(device.compute_capability, 90);
  EXPECT_EQ(device.memory_bytes, 1 << 30);
  EXPECT_EQ(device.cuda, "13.0");
  EXPECT_EQ(device.uuid, "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f");
  const Case c = cases().front();
  EXPECT_EQ(residency(c.workload, c.config).workers, 8);  // two CTAs on each SM
  KernelConfig clusters = c.config;
  clusters.team = Team::warps;
  clusters.cluster = 2;
  EXPECT_EQ(residency(c.workload, clusters).workers, 4);
  const Workload large = workloads::parse_spec("h=8/8,d=128:1q1s256k");
  try {
    DeviceTensors::generate(large, 1);
    FAIL() << "1 GiB of K and V, with Q and output, fit a device of 1 GiB";
  } catch (const base::InputError& error) {
    EXPECT_EQ(std::string(error.what()),
              "workload h=8/8,d=128:1q1s256k: needs 1073745952 bytes of device memory; the device has 1073741824");
  }
}

TEST_F(FailingCalls, AMachineWithoutADeviceIsToldAsMissing) {
  const Case c = cases().front();
  const Tensors tensors = workloads::make_tensors(c.workload, 1 << 26);
  for (const cudaError_t error : {cudaErrorNoDevice, cudaErrorInsufficientDriver, cudaErrorStubLibrary}) {
    stand_in::fail_call(1, error);
    EXPECT_FALSE(has_device());
    stand_in::fail_call(1, error);
    EXPECT_THROW(run(c.workload, tensors, c.plan, c.config), base::MissingError);
  }
  stand_in::fail_call(1, cudaErrorLaunchFailure);
  EXPECT_THROW(has_device(), DeviceError);
  stand_in::fail_call(0, cudaSuccess);
  EXPECT_TRUE(has_device());
  EXPECT_THROW(SmPartition(8), base::MissingError);  // the stand-in's driver parts nothing
  EXPECT_EQ(partition_sms(), 0);
}

TEST_F(FailingCalls, ALostArrivalIsToldAndTheNextLaunchIsRight) {
  Case c = cases().front();
  DeviceTensors tensors = DeviceTensors::generate(c.workload, 1);
  Decoder decoder(capacity_of(c.workload, c.plan, c.config));
  LaunchOptions dropped;
  dropped.dropped_slot = c.plan.merges.front().slot_begin + 1;
  decoder.set_plan(c.workload, tensors.addressing(), c.plan, c.config, dropped);
  decoder.launch(tensors.pointers(0));
  try {
    decoder.synchronize();
    FAIL() << "nothing was told";
  } catch (const DeviceError& error) {
    EXPECT_NE(std::string(error.what()).find("arrivals are missing at counter"), std::string::npos) << error.what();
  }
  use(decoder, tensors, c);
  expect_right(c, tensors.download(), "after a lost arrival");
}

TEST_F(FailingCalls, WithoutThemEveryItemIsVisitedOnce) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(trace(c));
    const DeviceTensors tensors = DeviceTensors::generate(c.workload, 1);
    Decoder decoder(capacity_of(c.workload, c.plan, c.config));
    LaunchOptions options = c.options;
    options.count_visits = true;
    decoder.set_plan(c.workload, tensors.addressing(), c.plan, c.config, options);
    decoder.launch(tensors.pointers(0));
    decoder.synchronize();
    EXPECT_EQ(decoder.visits(), std::vector<std::uint64_t>(c.plan.items.size(), 1));
  }
}

TEST_F(FailingCalls, WithoutThemTensorsAreThoseOfTheHost) {
  for (const char* const spec :
       {"h=4/2,d=64:2q1s15_1q3s37", "h=4/2,d=64,page=8:2q1s15_1q3s37", "h=4/2,d=64,dtype=bf16:1q1s9"}) {
    const Workload w = workloads::parse_spec(spec);
    const Tensors expected = workloads::make_tensors(w, 1 << 26);
    const Tensors made = DeviceTensors::generate(w, 2).download_tensors();
    EXPECT_EQ(made.q, expected.q) << spec;
    EXPECT_EQ(made.k, expected.k) << spec;
    EXPECT_EQ(made.v, expected.v) << spec;
    EXPECT_EQ(made.block_table, expected.block_table) << spec;
    const Tensors uploaded = DeviceTensors::upload(w, expected).download_tensors();
    EXPECT_EQ(uploaded.k, expected.k) << spec;
  }
}

}  // namespace
}  // namespace splitwave::gpu
