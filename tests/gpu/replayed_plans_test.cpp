// SPDX-License-Identifier: Apache-2.0
// Captured launches with the tables of plans that were set after them: right, or refused.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "gpu/decode.h"
#include "schedules/schedules.h"
#include "tests/gpu/device_fixture.h"
#include "tests/gpu/judged_run.h"
#include "tests/support/battery.h"

namespace splitwave::gpu {
namespace {

using schedules::Plan;
using testing::plan_of;
using testing::replayable;
using workloads::Workload;

class ReplayedPlans : public testing::DeviceTest {
 protected:
  void SetUp() override {
    testing::DeviceTest::SetUp();
    if (!IsSkipped() && !HasFatalFailure()) tensors_.emplace(DeviceTensors::generate(whole_, 1));
  }

  static constexpr std::int32_t kLongest = 900;

  Workload of_contexts(const std::vector<std::int32_t>& contexts) const {
    return testing::decode("w", testing::geometry(4, 1, 64), contexts);
  }
  KernelConfig config() const {
    for (const KernelConfig& v : kernel_configs(whole_)) {
      if (v.row_tiles == 1 && v.cluster == 1 && v.team == Team::warps) return v;
    }
    return {};
  }
  Plan plan(const Workload& w, const std::string& schedule) const { return plan_of(w, config(), schedule); }

  /// With a cache of kLongest tokens for each request, whatever it has of them.
  KvAddressing addressing(std::size_t requests) const {
    return dense_addressing(of_contexts(std::vector<std::int32_t>(requests, kLongest)));
  }

  /// Room for more than any plan here.
  static Capacity room() { return {400, 40, 400, 1, 64}; }

  /// Sets `first`, captures it, sets `next`, and replays. The outputs.
  HostResult replayed(const Workload& before, const std::string& first, const Workload& after, const std::string& next,
                      const LaunchOptions& options) {
    Decoder decoder(room());
    decoder.set_plan(before, addressing(3), plan(before, first), config(), options);
    decoder.capture({tensors_->pointers(0)});
    decoder.set_plan(after, addressing(3), plan(after, next), config(), options);
    tensors_->poison_outputs();
    decoder.replay();
    decoder.synchronize();
    return tensors_->download();
  }

  /// The same by a launch of its own.
  HostResult launched(const Workload& w, const std::string& schedule) {
    Decoder decoder(room());
    decoder.set_plan(w, addressing(3), plan(w, schedule), config());
    tensors_->poison_outputs();
    decoder.launch(tensors_->pointers(0));
    decoder.synchronize();
    return tensors_->download();
  }

  void expect_right(const Workload& before, const std::string& first, const Workload& after, const std::string& next,
                    const LaunchOptions& options = replayable()) {
    EXPECT_TRUE(testing::same_bits(replayed(before, first, after, next, options), launched(after, next)))
        << first << ", then " << next;
  }

  void expect_refused(const Workload& before, const std::string& first, const Workload& after, const std::string& next,
                      const std::string& why, const LaunchOptions& options = replayable()) {
    try {
      replayed(before, first, after, next, options);
      FAIL() << first << ", then " << next;
    } catch (const base::InputError& error) {
      EXPECT_NE(std::string(error.what()).find(why), std::string::npos) << error.what();
    }
  }

  const Workload whole_ = of_contexts({kLongest, kLongest, kLongest});
  std::optional<DeviceTensors> tensors_;
  const Workload some_ = of_contexts({700, 30, 400});
  const Workload others_ = of_contexts({64, 880, 300});
};

TEST_F(ReplayedPlans, OfTheSameMergeAreRight) {
  for (const char* schedule : {"lean+last_arriver", "fixed-split:3+kernel", "fixed-size:128+last_arriver", "fa2"}) {
    expect_right(some_, schedule, others_, schedule);
    expect_right(whole_, schedule, some_, schedule);
  }
}

// The kernels of a queue know how many lists it has.
TEST_F(ReplayedPlans, OfAQueueHaveAsManyLists) {
  const Plan before = plan(whole_, "fa3");
  if (before.dispatch != schedules::Dispatch::queue) GTEST_SKIP() << "no queue";
  expect_right(some_, "fa3", some_, "fa3");
  const Workload few = of_contexts({30});
  Decoder decoder(room());
  decoder.set_plan(whole_, addressing(3), before, config(), replayable());
  decoder.capture({tensors_->pointers(0)});
  const Plan fewer = plan(few, "fa3");
  ASSERT_NE(fewer.lists(), before.lists());
  decoder.set_plan(few, addressing(1), fewer, config(), replayable());
  EXPECT_THROW(decoder.replay(), base::InputError);
}

// Its bounds are in the launch.
TEST_F(ReplayedPlans, WithoutATableAreNotReplayedForOthers) {
  const Workload longer = of_contexts({701, 701, 701});
  const Workload shorter = of_contexts({700, 700, 700});
  expect_refused(shorter, "fixed-split:2+last_arriver", longer, "fixed-split:2+last_arriver", "without a table", {});
  expect_right(shorter, "fixed-split:2+last_arriver", shorter, "fixed-split:2+last_arriver", {});
  expect_right(shorter, "fixed-split:2+last_arriver", longer, "fixed-split:2+last_arriver");
}

// A captured merge kernel looks at the table of merges, a captured decode kernel at what it was told of merges.
TEST_F(ReplayedPlans, MergeAsWasCapturedOrNotAtAll) {
  const Workload tiny = of_contexts({20, 9, 14});
  for (const char* merge : {"+kernel", "+last_arriver"}) {
    const std::string split = std::string("fixed-size:64") + merge;
    expect_right(some_, split, tiny, split);
    ASSERT_TRUE(plan(tiny, split).merges.empty());
    expect_refused(tiny, split, some_, split, "merge otherwise");
  }
  expect_refused(some_, "fixed-size:64+kernel", some_, "fixed-size:64+last_arriver", "merge otherwise");
  expect_refused(some_, "fixed-size:64+last_arriver", some_, "fixed-size:64+kernel", "merge otherwise");
}

// Where a plan's launches counted goes with it.
TEST_F(ReplayedPlans, CountNothingForAPlanBefore) {
  LaunchOptions counting = replayable();
  counting.count_visits = true;
  for (const LaunchOptions& options : {replayable(), counting}) {
    Decoder decoder(room());
    decoder.set_plan(some_, addressing(3), plan(some_, "fa2"), config(), counting);
    decoder.capture({tensors_->pointers(0)});
    decoder.replay();
    decoder.synchronize();
    decoder.set_plan(some_, addressing(3), plan(some_, "fa2"), config(), options);
    EXPECT_THROW(decoder.replay(), base::InputError);
  }
}

TEST_F(ReplayedPlans, AreOfTheSameScaleAndMask) {
  Workload scaled = some_;
  scaled.geometry.softmax_scale = 0.5;
  expect_refused(some_, "fa2", scaled, "fa2", "scale");
}

TEST_F(ReplayedPlans, AddressingMustBeTheWorkloads) {
  Decoder decoder(room());
  const Plan whole = plan(whole_, "fa2");
  const auto refused = [&](const auto& change) {
    KvAddressing wrong = addressing(3);
    change(wrong);
    EXPECT_THROW(decoder.set_plan(whole_, wrong, whole, config()), base::InputError);
  };
  refused([](KvAddressing& a) { a.token_stride = 60; });
  refused([](KvAddressing& a) { a.token_stride = -64; });
  refused([](KvAddressing& a) { a.token_stride = std::int64_t{1} << 30; });
  refused([](KvAddressing& a) { a.request_offset.pop_back(); });
  refused([](KvAddressing& a) { a.request_offset[1] += 4; });
  refused([](KvAddressing& a) { a.head_stride[2] = 7; });
  refused([](KvAddressing& a) { a.page_size = 16; });
  decoder.set_plan(whole_, addressing(3), whole, config());
}

}  // namespace
}  // namespace splitwave::gpu
