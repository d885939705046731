// SPDX-License-Identifier: Apache-2.0
// A schedule's plan with another merge: the cuts stay, the contract holds, the name says so.
#include "schedules/merge_choice.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "schedules/schedules.h"
#include "schedules/validate.h"
#include "tests/schedules/error_of.h"
#include "tests/schedules/hopper.h"
#include "tests/support/battery.h"

namespace splitwave::schedules {
namespace {

using testing::decode;
using testing::geometry;

workloads::Workload ragged() {
  return decode("ragged", geometry(8, 2, 64), {4096, 256, 0});
}

TEST(MergeChoice, NamesInParts) {
  EXPECT_EQ(without_merge("fixed-split:4+last_arriver"), "fixed-split:4");
  EXPECT_EQ(without_merge("lean"), "lean");
  EXPECT_EQ(merge_of("lean"), std::nullopt);
  EXPECT_EQ(merge_of("lean+kernel"), MergeKind::kernel);
  EXPECT_EQ(merge_of("fixed-split:4+host_cta"), MergeKind::host_cta);
  EXPECT_EQ(merge_of("lean:ort+last_arriver"), MergeKind::last_arriver);
  EXPECT_EQ(find("fixed-split:4+last_arriver").name, "fixed-split");
  EXPECT_EQ(find("lean+kernel").name, "lean");
}

TEST(MergeChoice, OtherWordsAreRefused) {
  for (const char* name : {"lean+", "lean+none", "lean+Kernel", "fixed-split:4+last_arriver+kernel", "lean+kernel:4"}) {
    const std::string message = error_of(name, ragged(), kHopper);
    EXPECT_NE(message.find("allowed is kernel, host_cta or last_arriver"), std::string::npos) << name << message;
  }
  EXPECT_NE(error_of("laen+kernel", ragged(), kHopper).find("lean"), std::string::npos);
}

TEST(MergeChoice, ThePlanSaysWhatWasChosen) {
  const Plan plan = make_plan("fixed-split:2+last_arriver", decode("w", geometry(8, 2, 64), {4096}), kHopper);
  EXPECT_EQ(plan.schedule, "fixed-split:2+last_arriver");
  EXPECT_NE(plan.reason.find("merge last_arriver as asked"), std::string::npos) << plan.reason;
  EXPECT_EQ(plan.merge, MergeKind::last_arriver);
  EXPECT_EQ(plan.num_splits, 2);
}

TEST(MergeChoice, PaddingIsLeftOut) {
  // Tiles of 256 tokens, 4 of the padded cache's 16 to a split: the second request fills one of its four splits, the
  // third none.
  const Plan padded = make_plan("fixed-split:4", ragged(), kHopper);
  const Plan plan = make_plan("fixed-split:4+last_arriver", ragged(), kHopper);
  ASSERT_EQ(padded.items.size(), 3U * 2 * 4);
  ASSERT_EQ(plan.items.size(), 2U * (4 + 1 + 1));
  EXPECT_EQ(plan.lists(), 12) << "no CTA is launched for nothing";
  EXPECT_EQ(plan.merges.size(), 2U);
  EXPECT_EQ(plan.slots(), 8);
  EXPECT_NE(plan.reason.find("12 empty items left out"), std::string::npos) << plan.reason;
  EXPECT_TRUE(violations(ragged(), plan).empty());
}

TEST(MergeChoice, TheOwnMergeChangesNothingButTheName) {
  for (const auto& [name, merge] :
       {std::pair{"fixed-split:4", "kernel"}, {"lean", "host_cta"}, {"flashinfer-holistic", "kernel"}}) {
    Plan plan = make_plan(std::string(name) + '+' + merge, ragged(), kHopper);
    const Plan own = make_plan(name, ragged(), kHopper);
    ASSERT_EQ(to_string(own.merge), merge);
    plan.schedule = own.schedule;
    plan.reason = own.reason;
    EXPECT_EQ(plan, own) << name;
  }
}

TEST(MergeChoice, ListsThatWereEmptyStay) {
  const Plan own = make_plan("flashmla", ragged(), kHopper);
  EXPECT_EQ(make_plan("flashmla+last_arriver", ragged(), kHopper).lists(), own.lists());
}

TEST(MergeChoice, WhatSplitsNothingMergesNothing) {
  for (const char* name : {"fa2+last_arriver", "fa2+host_cta", "fa2+kernel", "fixed-split:1+host_cta"}) {
    const Plan plan = make_plan(name, ragged(), kHopper);
    EXPECT_EQ(plan.merge, MergeKind::none) << name;
    EXPECT_EQ(plan.dispatch, Dispatch::hardware) << name;
  }
}

TEST(MergeChoice, CtasThatWaitAreAllResident) {
  const workloads::Workload w = decode("w", geometry(64, 8, 64), {8192, 8192});
  const Plan fits = make_plan("fixed-split:4+host_cta", w, {64, 1, 0, 0});
  EXPECT_EQ(fits.lists(), 64);
  EXPECT_EQ(fits.dispatch, Dispatch::fixed);
  const std::string message = error_of("fixed-split:4+host_cta", w, {63, 1, 0, 0});
  EXPECT_NE(message.find("schedule fixed-split:4+host_cta: 64 CTAs would wait for each other, 63 are resident"),
            std::string::npos)
      << message;
  EXPECT_NE(message.find("allowed: +kernel, +last_arriver"), std::string::npos) << message;
}

TEST(MergeChoice, AQueueThatWaitsBecomesAGrid) {
  const workloads::Workload w = decode("w", geometry(8, 1, 128), {8192});
  ASSERT_EQ(make_plan("fa3", w, kHopper).dispatch, Dispatch::queue);
  const Plan plan = make_plan("fa3+host_cta", w, kHopper);
  EXPECT_EQ(plan.dispatch, Dispatch::fixed);
  EXPECT_EQ(plan.workers, 0);
  EXPECT_EQ(make_plan("fa3+last_arriver", w, kHopper).dispatch, Dispatch::queue);
}

TEST(MergeChoice, NobodyWaitsWhileOthersWaitForIt) {
  // CTAs of several chunks, which the least loaded CTA gets: a first part of one output before a later one of another.
  const workloads::Workload w =
      testing::with_queries(decode("w", geometry(8, 2, 64), {200, 33}), {70, 2}, /*causal=*/false);
  const std::string message = error_of("flashinfer-holistic+host_cta", w, {3, 2, 0, 0});
  EXPECT_NE(message.find("waits before it; allowed: +kernel, +last_arriver"), std::string::npos) << message;
}

}  // namespace
}  // namespace splitwave::schedules
