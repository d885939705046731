// SPDX-License-Identifier: Apache-2.0
#include "studies/choice_cache.h"

#include <gtest/gtest.h>

#include "schedules/schedules.h"
#include "schedules/validate.h"
#include "simulator/alternatives.h"
#include "studies/choose.h"
#include "tests/studies/target.h"
#include "workloads/load.h"

namespace splitwave::studies {
namespace {

using tests::own_kernels;

TEST(ChoiceCache, AnswersAsTheChoiceDoesForTheFirstOfABucket) {
  ChoiceCache cache(own_kernels());
  const workloads::Workload w = workloads::parse_spec("llama-3-8b:8q1s32k");
  const Prediction chosen = choose(w, own_kernels());
  const Choice& choice = cache.get(w);
  EXPECT_EQ(choice.schedule, chosen.plan.schedule);
  EXPECT_EQ(choice.config, chosen.kernel.config);
  EXPECT_EQ(schedules::make_plan(choice.schedule, w, choice.grid).items, chosen.plan.items);
}

TEST(ChoiceCache, OneChoiceServesTheStepsOfADecodeLoop) {
  ChoiceCache cache(own_kernels());
  const Target target = own_kernels();
  workloads::Workload w = workloads::parse_spec("llama-3-8b:1q1s20_1q1s300_1q1s4000");
  for (std::int32_t step = 0; step < 300; ++step) {
    for (workloads::Request& request : w.requests) ++request.context_len;
    const Choice& choice = cache.get(w);
    const schedules::Plan plan = schedules::make_plan(choice.schedule, w, choice.grid);
    ASSERT_TRUE(schedules::violations(w, plan).empty()) << step;
  }
  EXPECT_LT(cache.size(), 6U);
}

TEST(ChoiceCache, TheKernelHoldsEveryItemOfItsBucket) {
  ChoiceCache cache(own_kernels());
  const Target target = own_kernels();
  for (const std::int32_t length : {60, 64, 65, 127, 128, 129, 500, 512, 513, 1024, 1025, 2048, 2049}) {
    const workloads::Workload w = workloads::parse_spec("h=8/1,d=128:2q1s" + std::to_string(length));
    const Choice& choice = cache.get(w);
    const schedules::Plan plan = schedules::make_plan(choice.schedule, w, choice.grid);
    for (const simulator::KernelProfile& kernel :
         simulator::alternatives(*target.kernel, w, target.machine, simulator::kAnyRows)) {
      if (kernel.config != choice.config) continue;
      EXPECT_TRUE(simulator::as_run(kernel, w, plan, choice.grid.resident())) << length << " " << choice.config;
    }
  }
}

TEST(ChoiceCache, OtherQuestionsAreOtherBuckets) {
  ChoiceCache cache(own_kernels());
  for (const char* spec : {"llama-3-8b:8q1s32k", "llama-3-8b:9q1s32k", "llama-3-8b:8q2s32k", "llama-3-70b:8q1s32k",
                           "llama-3-8b:7q1s32k_1q1s31k"}) {
    cache.get(workloads::parse_spec(spec));
  }
  EXPECT_EQ(cache.size(), 5U);
}

}  // namespace
}  // namespace splitwave::studies
