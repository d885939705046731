// SPDX-License-Identifier: Apache-2.0
// What happens between the waves of the project's own kernels: starts that others hide, starts in the place of a CTA
// that has ended, and heads that are read side by side.
#include <gtest/gtest.h>

#include <string>

#include "schedules/schedules.h"
#include "simulator/alternatives.h"
#include "simulator/simulate.h"
#include "workloads/load.h"

namespace splitwave::simulator {
namespace {

KernelProfile kernel_of(const workloads::Workload& workload, const std::string& config, const Machine& machine) {
  for (const KernelProfile& kernel : alternatives(load_kernel(std::string(kOwnKernel)), workload, machine, kAnyRows)) {
    if (kernel.config == config) return kernel;
  }
  ADD_FAILURE() << "no kernel " << config;
  return {};
}

double seconds(const std::string& schedule, const KernelProfile& kernel, const workloads::Workload& workload,
               const Machine& machine, L2State l2 = L2State::cold) {
  const schedules::Grid grid = grid_of(machine, kernel);
  const schedules::Plan plan = schedules::make_plan(schedule, workload, grid);
  const auto run = as_run(kernel, workload, plan, grid.resident());
  return simulate(workload, plan, machine, run.value(), {.l2 = l2}).seconds;
}

// On an H200 FlashAttention-3's order of these CTAs takes 337 us, FlashAttention-2's 355 (docs/accuracy.md).
TEST(Waves, HeadsThatNeighboursReadTogetherTakeWholeRows) {
  const workloads::Workload workload = workloads::parse_spec("h=27/27,d=64:507q1s440");
  Machine machine = load_machine("h200-calibrated");
  const KernelProfile kernel = kernel_of(workload, "r1w4s4t16c1", machine);
  const auto ratio = [&] {
    return seconds("fixed-split:fa3", kernel, workload, machine) /
           seconds("fixed-split:fa2", kernel, workload, machine);
  };
  EXPECT_LT(ratio(), 0.97);
  machine.row_shares.clear();
  EXPECT_NEAR(ratio(), 1, 0.01);
}

// 22 KV heads with three query heads each, whose lists lie 108 requests apart: 25 MB (docs/kernels.md, "K and V that
// are read again"). Asked to drop them first, L2 keeps none of K and V until they are read again.
TEST(Waves, LaunchesAskL2ToKeepWhatItCanKeepUntilItIsReadAgain) {
  const Machine machine = load_machine("h200-calibrated");
  const auto asks = [&](const char* spec, const char* schedule, double* from_dram) {
    const workloads::Workload workload = workloads::parse_spec(spec);
    const KernelProfile kernel = kernel_of(workload, "r1w4s2t16c1", machine);
    const schedules::Grid grid = grid_of(machine, kernel);
    const schedules::Plan plan = schedules::make_plan(schedule, workload, grid);
    const KernelProfile run = as_run(kernel, workload, plan, grid.resident()).value();
    const schedules::Traffic traffic = simulate(workload, plan, machine, run).traffic;
    *from_dram = static_cast<double>(traffic.kv_dram_read) / static_cast<double>(workloads::kv_bytes(workload));
    return keeps_kv_in_l2(workload, plan, machine, run);
  };
  double from_dram = 0;
  EXPECT_TRUE(asks("h=66/22,d=128:108q6s462", "fa2", &from_dram));
  EXPECT_LT(from_dram, 1.2);
  // 100 MB apart: but for what starts together, all three heads read them.
  EXPECT_FALSE(asks("h=66/22,d=128:432q6s462", "fa2", &from_dram));
  EXPECT_GT(from_dram, 2.5);
  EXPECT_FALSE(asks("h=66/22,d=128:108q1s462", "fixed-size:512", &from_dram));
  EXPECT_EQ(from_dram, 1);
}

// Lists of which one is a token longer do not fall out of step by rule: nothing hides the starts of their waves.
TEST(Waves, EqualListsHideTheStartsOfEachOther) {
  workloads::Workload equal = workloads::parse_spec("h=8/8,d=128:400q1s256");
  workloads::Workload unequal = equal;
  unequal.requests.front().context_len += 1;
  const Machine machine = load_machine("h200-calibrated");
  const auto ratio = [&](const KernelProfile& kernel) {
    return seconds("fixed-split:1", kernel, equal, machine) / seconds("fixed-split:1", kernel, unequal, machine);
  };
  const KernelProfile two_an_sm = kernel_of(equal, "r1w4s2t16c1", machine);
  const KernelProfile one_an_sm = kernel_of(equal, "r1w4s4t16c1", machine);
  EXPECT_LT(ratio(two_an_sm), 0.95);
  EXPECT_LT(ratio(one_an_sm), 0.95);
  equal.requests.resize(16);  // one wave
  unequal.requests.resize(16);
  EXPECT_GT(ratio(two_an_sm), 0.97);
  EXPECT_GT(ratio(one_an_sm), 0.97);
}

TEST(Waves, ACtaInThePlaceOfAnEndedOneStartsLaterWhereAllAreAtTheirStarts) {
  const Machine machine = load_machine("h200-calibrated");
  workloads::Workload workload = workloads::parse_spec("h=8/1,d=128:1q1s16");
  KernelProfile with = kernel_of(workload, "r1w4s2t16c1", machine);
  const double later = with.later_start_seconds;
  ASSERT_GT(later, 100e-9);
  KernelProfile without = with;
  without.later_start_seconds = 0;
  const auto more = [&](double waves, std::int32_t tokens) {
    workload.requests.assign(static_cast<std::size_t>(waves * grid_of(machine, with).resident()), {1, tokens});
    return seconds("fixed-split:1", with, workload, machine, L2State::warm) -
           seconds("fixed-split:1", without, workload, machine, L2State::warm);
  };
  EXPECT_EQ(more(1, 16), 0);
  EXPECT_LT(more(6, 16), 5.01 * later);
  EXPECT_GT(more(6, 16), 3 * later);
  EXPECT_LT(more(6, 16 * 1024), later);  // the others stream
  EXPECT_NEAR(more(1.75, 16), 0.38 * later, 0.08 * later) << "those of the wave before end";
  EXPECT_EQ(more(1.25, 16), 0) << "at most one on an SM";
}

TEST(Waves, StartsTakeLongerOnAFullSmByTheRoundsOfTheirWindow) {
  const Machine machine = load_machine("h200-calibrated");
  workloads::Workload workload = workloads::parse_spec("h=64/1,d=128:1q1s128");
  const auto more = [&](std::int32_t lists, std::int32_t tokens) {
    workload.requests.assign(static_cast<std::size_t>(lists), {1, tokens});
    KernelProfile with = kernel_of(workload, "r8g4s2t16c1", machine);
    KernelProfile without = with;
    without.full_sm_seconds = without.paged_full_sm_seconds = 0;
    return seconds("fixed-split:1", with, workload, machine, L2State::warm) -
           seconds("fixed-split:1", without, workload, machine, L2State::warm);
  };
  const KernelProfile kernel = kernel_of(workload, "r8g4s2t16c1", machine);
  ASSERT_GT(kernel.full_sm_seconds, 500e-9);
  EXPECT_EQ(more(132, 128), 0) << "one on each SM";
  EXPECT_NEAR(more(264, 128), kernel.full_sm_seconds, 1e-12);
  EXPECT_NEAR(more(264, 1024), kernel.full_sm_seconds, 1e-12);
  EXPECT_NEAR(more(264, 30), kernel.full_sm_seconds / 2, 1e-12) << "one round of two";
  workload.kv.layout = workloads::KvLayout::paged;
  workload.kv.page_size = 64;
  EXPECT_NEAR(more(264, 128), kernel.paged_full_sm_seconds, 1e-12);
}

TEST(Waves, MaskedItemsOfAnyLengthStartLaterOnAFullSm) {
  const Machine machine = load_machine("h200-calibrated");
  workloads::Workload workload = workloads::parse_spec("h=8/1,d=128:1q2s128");
  const double start = kernel_of(workload, "r2w4s2t16c1", machine).full_sm_start_seconds;
  ASSERT_GT(start, 300e-9);
  for (const std::int32_t tokens : {16, 128}) {
    for (const std::int32_t lists : {132, 264}) {
      workload.requests.assign(static_cast<std::size_t>(lists), {2, tokens});
      KernelProfile kernel = kernel_of(workload, "r2w4s2t16c1", machine);
      const double with = seconds("fixed-size:1024", kernel, workload, machine, L2State::warm);
      kernel.full_sm_start_seconds = 0;
      EXPECT_NEAR(with - seconds("fixed-size:1024", kernel, workload, machine, L2State::warm), lists > 132 ? start : 0,
                  1e-12);
    }
  }
}

TEST(Waves, WarpsWithPartsOfAListAllBeginOnAFullSm) {
  const Machine machine = load_machine("h200-calibrated");
  workloads::Workload workload = workloads::parse_spec("h=16/1,d=128:1q1s32");
  const auto more = [&](const char* config, std::int32_t items) {
    workload.requests.assign(static_cast<std::size_t>(264 * items), {1, 32});
    KernelProfile with = kernel_of(workload, config, machine);
    KernelProfile without = with;
    without.full_sm_seconds = 0;
    const double longer = seconds("lean+last_arriver", with, workload, machine, L2State::warm) -
                          seconds("lean+last_arriver", without, workload, machine, L2State::warm);
    return longer / with.full_sm_seconds;
  };
  EXPECT_NEAR(more("r2a4s2t16c1", 4), 1, 1e-6) << "128 tokens, two rounds of two";
  EXPECT_NEAR(more("r2a4s2t16c1", 2), 0.5, 1e-6) << "one round";
  EXPECT_NEAR(more("r2w4s2t16c1", 4), 0.5, 1e-6) << "the first item's one";
}

/// 66 long contexts and 66 short ones, one to an SM. The long ones first lie on four GPCs, of which most starts have
/// three on one side of the chip: 163 us on an H200 (GPU-4470e9c8), and 127 where three long ones follow three short.
TEST(Waves, LongListsSideBySideFillOneSideOfTheChip) {
  const Machine machine = load_machine("h200-calibrated");
  const workloads::Workload workload = workloads::parse_spec("h=88/22,d=256:3q1s8k_3q1s100");
  const KernelProfile kernel = kernel_of(workload, "r1w4s2t16c1", machine);
  const double apart = seconds("fixed-split:1", kernel, workload, machine, L2State::cold);
  EXPECT_GT(seconds("longest-first:16384", kernel, workload, machine, L2State::cold), 1.08 * apart);
}

TEST(Waves, RowsThatAreNotThereDelayNoStart) {
  const Machine machine = load_machine("h200-calibrated");
  const auto more = [&](const char* spec) {
    workloads::Workload workload = workloads::parse_spec(spec);
    KernelProfile with = kernel_of(workload, "r4g4s3t16c1", machine);
    KernelProfile without = with;
    without.later_start_seconds = 0;
    workload.requests.assign(static_cast<std::size_t>(6 * grid_of(machine, with).resident()), {1, 16});
    return seconds("fixed-split:1", with, workload, machine, L2State::warm) -
           seconds("fixed-split:1", without, workload, machine, L2State::warm);
  };
  const double all = more("h=32/1,d=128:1q1s16");
  ASSERT_GT(all, 1e-6);
  EXPECT_NEAR(more("h=24/1,d=128:1q1s16") / all, 0.75, 0.05);
}

TEST(Waves, PagesAreLookedUpForEachItemOfAList) {
  const Machine machine = load_machine("h200-calibrated");
  workloads::Workload workload = workloads::parse_spec("h=8/1,d=128:12q1s64");
  workload.kv.layout = workloads::KvLayout::paged;
  workload.kv.page_size = 16;
  KernelProfile with = kernel_of(workload, "r1w4s2t16c1", machine);
  ASSERT_GT(with.paged_item_seconds, 50e-9);
  KernelProfile without = with;
  without.paged_item_seconds = without.paged_item_crowded_seconds = 0;
  schedules::Grid grid = grid_of(machine, with);
  grid.sms = grid.ctas_per_sm = 1;
  const schedules::Plan plan = schedules::make_plan("lean+last_arriver", workload, grid);
  const auto alone = [&](const KernelProfile& kernel) {
    const auto run = as_run(kernel, workload, plan, 1);
    return simulate(workload, plan, machine, run.value(), {.l2 = L2State::warm}).seconds;
  };
  EXPECT_NEAR(alone(with) - alone(without), 11 * with.paged_item_seconds, 1e-9);
}

}  // namespace
}  // namespace splitwave::simulator
