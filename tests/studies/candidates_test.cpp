// SPDX-License-Identifier: Apache-2.0
#include "studies/candidates.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <string>

#include "simulator/alternatives.h"
#include "simulator/clusters.h"
#include "studies/choose.h"
#include "tests/studies/target.h"
#include "tests/support/battery.h"
#include "workloads/load.h"

namespace splitwave::studies {
namespace {

using tests::own_kernels;

std::vector<workloads::Workload> shapes() {
  std::vector<workloads::Workload> all;
  for (const auto& [query_heads, kv_heads, head_dim] :
       {std::array{8, 1, 128}, {32, 8, 128}, {64, 8, 64}, {16, 2, 256}}) {
    const workloads::Geometry g = testing::geometry(query_heads, kv_heads, head_dim);
    for (const std::int32_t batch : {1, 3, 32}) {
      for (const std::int32_t length : {1, 63, 577, 8192, 100'000}) {
        const auto size = static_cast<std::size_t>(batch);
        const std::string name = std::to_string(length) + "_batch_" + std::to_string(batch);
        all.push_back(testing::decode("uniform_" + name, g, std::vector<std::int32_t>(size, length)));
        all.push_back(testing::decode("ragged_" + name, g, testing::scattered(batch, 1, length)));
      }
    }
  }
  return all;
}

class Bounds : public ::testing::TestWithParam<const char*> {};

TEST_P(Bounds, AreNeverAboveWhatIsPredicted) {
  const Target target = own_kernels(GetParam());
  std::size_t looked_at = 0;
  std::vector<workloads::Workload> all = shapes();
  for (workloads::Workload& w : testing::battery()) all.push_back(std::move(w));
  all.push_back(testing::decode("in_a_long_cache", testing::geometry(32, 8, 128), {9000, 9000}));
  all.back().kv.cache_len = 16'384;
  for (const workloads::Workload& w : all) {
    const std::int32_t rows = w.geometry.group() * std::max(1, workloads::max_query_len(w));
    const auto kernels = simulator::alternatives(*target.kernel, w, target.machine, rows);
    PredictOptions options;
    options.l2 = looked_at % 3 == 0 ? simulator::L2State::warm : simulator::L2State::cold;
    double before = 0;
    for (const Candidate& candidate : candidates(w, target.machine, kernels, simulate_options(target, options))) {
      EXPECT_LE(before, candidate.seconds.expected) << "in the order in which they are expected to be fast";
      before = candidate.seconds.expected;
      options.tile_q = candidate.kernel->most_rows;
      options.tile_kv = candidate.tile_kv;
      const auto found = predict_with(std::numeric_limits<double>::infinity(), w, candidate.schedule, *candidate.kernel,
                                      target, options);
      if (!found) continue;
      ++looked_at;
      EXPECT_GE(found->timeline.seconds, candidate.seconds.least * (1 - 1e-9))
          << w.name << " " << candidate.schedule << " " << candidate.kernel->config;
    }
  }
  EXPECT_GT(looked_at, 1000U);
}

INSTANTIATE_TEST_SUITE_P(OfCandidates, Bounds, ::testing::Values("h100-sxm-calibrated", "h200-calibrated"));

TEST(Candidates, TheChoiceSaysItsKernelAndIsNoSlowerThanThePlainSplit) {
  const Target target = own_kernels();
  for (const workloads::Workload& w : shapes()) {
    const Prediction chosen = choose(w, target);
    EXPECT_FALSE(chosen.kernel.config.empty()) << w.name;
    EXPECT_NE(chosen.plan.reason.find("with kernel " + chosen.kernel.config), std::string::npos);
    EXPECT_TRUE(chosen.by_auto);
    EXPECT_LE(chosen.timeline.seconds, predict(w, "fixed-split:1", target).timeline.seconds * 1.02) << w.name;
  }
}

/// The search ends with a plan that takes 1.035 times what reading K and V does; clusters without rings that share SMs
/// have to be 6 % ahead.
TEST(Candidates, NoneIsMuchFasterThanTheChoice) {
  const Target target = own_kernels();
  PredictOptions options;
  for (const workloads::Workload& w : shapes()) {
    const auto kernels = simulator::alternatives(*target.kernel, w, target.machine, w.geometry.group());
    const double chosen = choose(w, target).timeline.seconds;
    for (const Candidate& candidate : candidates(w, target.machine, kernels)) {
      options.tile_kv = candidate.tile_kv;
      options.tile_q = candidate.kernel->most_rows;
      const auto found = predict_with(1.1 * chosen, w, candidate.schedule, *candidate.kernel, target, options);
      if (found) {
        const simulator::KernelProfile& kernel = *candidate.kernel;
        const bool shares_sms = kernel.cluster >= 4 && kernel.most_tokens > 0 &&
                                found->plan.lists() > simulator::resident_workers(target.machine, kernel.cluster, 1);
        EXPECT_LE(chosen, (shares_sms ? 1.06 : 1.035) * found->timeline.seconds)
            << w.name << " " << candidate.schedule << " " << candidate.kernel->config;
      }
    }
  }
}

TEST(Candidates, HeadsOfSeveralQueriesArePackedOrNot) {
  const Target target = own_kernels();
  const workloads::Workload w = workloads::parse_spec("h=16/2,d=128:4q4s4k");
  const auto kernels = simulator::alternatives(*target.kernel, w, target.machine, 32);
  std::set<std::string> rules;
  for (const Candidate& candidate : candidates(w, target.machine, kernels)) {
    rules.insert(candidate.schedule.substr(0, candidate.schedule.find_first_of(":+")));
  }
  EXPECT_EQ(rules, (std::set<std::string>{"fixed-size", "fixed-split", "flashinfer", "flashinfer-holistic", "lean"}));
  // Six query heads of three KV heads with six queries each: on an H200 their own tiles took 8.3 us, packed ones 21.7.
  EXPECT_EQ(choose(workloads::parse_spec("h=9/3,d=128:1q6s544"), target).plan.schedule.rfind("fixed-split", 0), 0U);
}

TEST(Candidates, PiecesOfUnlikeRequestsBeginWithTheLongest) {
  const Target target = own_kernels();
  const auto names = [&](const char* spec) {
    const workloads::Workload w = workloads::parse_spec(spec);
    const auto kernels = simulator::alternatives(*target.kernel, w, target.machine, w.geometry.group());
    std::set<std::string> of_rings;
    for (const Candidate& candidate : candidates(w, target.machine, kernels)) {
      const bool single_ring = candidate.kernel->most_tokens == 0 && candidate.kernel->cluster == 1;
      if (single_ring) of_rings.insert(candidate.schedule);
    }
    return of_rings;
  };
  for (const char* spec : {"h=32/8,d=128:200q1s600_30q1s5k", "h=32/8,d=128:1q1s600_2q1s5k"}) {
    const std::set<std::string> of_rings = names(spec);
    EXPECT_TRUE(of_rings.contains("longest-first:1024+last_arriver")) << spec;
    EXPECT_FALSE(of_rings.contains("fixed-size:1024+last_arriver")) << spec;
  }
  for (const std::string& name : names("h=32/8,d=128:230q1s600")) EXPECT_NE(name.substr(0, 7), "longest") << name;
}

/// Kernels whose warps have lists of their own are for lists of several items; single items have kernels of their own.
TEST(Candidates, ListsOfWarpsAreForListsOfItems) {
  const Target target = own_kernels();
  const workloads::Workload w = workloads::parse_spec("h=32/8,d=128:64q1s60_30q1s500");
  const auto kernels = simulator::alternatives(*target.kernel, w, target.machine, w.geometry.group());
  std::set<std::string> rules;
  std::set<std::string> others;
  for (const Candidate& candidate : candidates(w, target.machine, kernels)) {
    std::set<std::string>& seen = candidate.kernel->warps_alone ? rules : others;
    seen.insert(candidate.schedule.substr(0, candidate.schedule.find_first_of(":+")));
  }
  EXPECT_EQ(rules, (std::set<std::string>{"flashinfer-holistic", "lean"}));
  EXPECT_FALSE(others.contains("lean")) << "of as many rows";
  EXPECT_TRUE(others.contains("fixed-split"));
}

/// Of items with masks warps that share an item may be the faster ones. The first: 45.5 us predicted for 47.6 of the
/// best other candidate, measured 45.5 and 50.0 (an H200, the fifty-third judgement).
TEST(Candidates, ListsOfMaskedItemsAreTriedOnAllKernels) {
  const Target target = own_kernels();
  for (const char* spec :
       {"h=14/7,d=256:1q2s6265_1q2s706_1q2s2895_1q2s2677_1q2s9919_1q2s1268_1q2s593_1q2s74_1q2s126",
        "h=10/10,d=256:1q4s17_1q4s20_1q4s62_1q4s53_1q4s56_1q4s191_1q4s39_1q4s22_1q4s240_1q4s193_1q4s46_"
        "1q4s20_1q4s224_1q4s115_1q4s166_1q4s27_1q4s169_1q4s127"}) {
    const workloads::Workload w = workloads::parse_spec(spec);
    const double chosen = predict(w, "auto", target).timeline.seconds;
    EXPECT_LE(chosen, 1.01 * predict(w, "flashinfer-holistic", target).timeline.seconds) << spec;
  }
}

/// 16 rows of 256 elements do not fit in registers; a tile of 32 in shared memory ends items in less than half of the
/// time.
TEST(Candidates, LargerTilesAreTriedWhereThoseThatFitSpill) {
  const Target target = own_kernels();
  const auto most = [&](const char* spec) {
    const Prediction chosen = choose(workloads::parse_spec(spec), target);
    return chosen.kernel.most_rows;
  };
  EXPECT_EQ(most("h=45/3,d=256:193q1s2912"), 32);
  EXPECT_EQ(most("h=45/3,d=128:193q1s2912"), 16);
}

/// The rest of a second wave of which five places to an SM make room may all go to one side of the chip: on two H200s
/// 70 us, where 63 are predicted, and 64 with three places to an SM (1,024 lists of 512 tokens).
TEST(Candidates, PartOfASecondWaveOnManyPlacesIsDoubted) {
  const Target target = own_kernels();
  EXPECT_EQ(choose(workloads::parse_spec("h=32/8,d=128:82q1s512"), target).kernel.config, "r1w2s2t16c1") << "one wave";
  EXPECT_EQ(choose(workloads::parse_spec("h=32/8,d=128:128q1s512"), target).kernel.config, "r1w4s2t16c1");
}

TEST(Candidates, PlansWithTilesOfTheirOwnAreTried) {
  // Most contexts lie between a candidate's tile and LeanAttention's own: the small one would cut them for nothing.
  const workloads::Workload workload = workloads::parse_spec("h=126/2,d=64:158q1s70_158q1s95");
  const Target target = own_kernels();
  const double chosen = predict(workload, "auto", target).timeline.seconds;
  EXPECT_LE(chosen, 1.01 * predict(workload, "lean", target).timeline.seconds);
}

}  // namespace
}  // namespace splitwave::studies
