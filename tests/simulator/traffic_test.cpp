// SPDX-License-Identifier: Apache-2.0
// Bytes that can be counted by hand, and properties of those that cannot. toy.h: 1,000 bytes per token, so that 1,000
// tokens at 1 GB/s take 1 ms.
#include "simulator/traffic.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

#include "base/error.h"
#include "schedules/schedules.h"
#include "tests/simulator/toy.h"
#include "workloads/load.h"

namespace splitwave::simulator {
namespace {

constexpr std::int64_t kToken = 1000;  ///< bytes, of the toy workload

/// One item and one CTA for each tile of `tile_q` queries of each query head of request 0, in order.
schedules::Plan row_tiles(const workloads::Workload& workload, std::int32_t tile_q) {
  schedules::Plan plan;
  plan.schedule = "toy";
  plan.tile_q = tile_q;
  plan.tile_kv = 1;
  for (std::int32_t head = 0; head < workload.geometry.query_heads; ++head) {
    for (std::int32_t row = 0; row < workload.requests[0].query_len; row += tile_q) {
      const auto output = static_cast<std::int32_t>(plan.outputs.size());
      plan.outputs.push_back({0, head, 1, row, std::min(row + tile_q, workload.requests[0].query_len)});
      const workloads::KvRange range = schedules::kv_range(workload, plan.outputs.back());
      plan.items.push_back({output, range.begin, range.end, -1});
      plan.cta_begin.push_back(output + 1);
    }
  }
  return plan;
}

workloads::Workload prefill(std::int32_t queries, std::int32_t context) {
  workloads::Workload workload = toy::workload({context});
  workload.requests[0].query_len = queries;
  return workload;
}

/// DRAM gives 1 GB/s whatever is asked of it, L2 as much as is asked, with the same latency.
Machine slow_dram(std::int32_t sms) {
  Machine machine = toy::machine(sms);
  machine.dram_peak_bytes_per_second = machine.dram_bytes_per_second = machine.dram_asymptote = 1e9;
  machine.l2_latency_seconds = machine.dram_latency_seconds;
  return machine;
}

/// Many bytes in flight, so that DRAM is the limit.
KernelProfile deep_kernel() {
  KernelProfile kernel = toy::kernel(1);
  kernel.bytes_in_flight = 100'000;
  return kernel;
}

TEST(Traffic, ACausalPrefillOfFourRowTilesReadsItsLongestRangeFromDram) {
  const workloads::Workload batch = prefill(400, 400);
  const schedules::Plan plan = row_tiles(batch, 100);
  const schedules::Timeline timeline = simulate(batch, plan, slow_dram(4), deep_kernel());
  EXPECT_EQ(timeline.traffic.kv_dram_read, 400 * kToken);
  EXPECT_EQ(timeline.traffic.kv_l2_read, (100 + 200 + 300) * kToken);
  EXPECT_GE(timeline.seconds, 0.4e-3);
  // Two at a time, and L2 keeps nothing: the first two share what they read, the others come later.
  EXPECT_EQ(simulate(batch, plan, slow_dram(2), deep_kernel()).traffic.kv_dram_read, (200 + 300 + 400) * kToken);
  // One at a time, and L2 keeps nothing.
  const schedules::Timeline alone = simulate(batch, plan, slow_dram(1), deep_kernel());
  EXPECT_EQ(alone.traffic.kv_dram_read, 1000 * kToken);
  EXPECT_EQ(alone.traffic.kv_l2_read, 0);
  EXPECT_GE(alone.seconds, 1e-3);
  // One at a time, and L2 keeps all.
  Machine large = slow_dram(1);
  large.l2_bytes = 400 * kToken;
  EXPECT_EQ(simulate(batch, plan, large, deep_kernel()).traffic.kv_dram_read, 400 * kToken);
}

TEST(Traffic, TilesOfAWindowFindTheirOverlapIfL2StillHasIt) {
  workloads::Workload batch = prefill(200, 1000);
  batch.geometry.window = 100;
  const schedules::Plan plan = row_tiles(batch, 100);
  ASSERT_EQ(plan.items[0].kv_begin, 701);  // queries 800 to 899 see [701, 900), the others [801, 1000)
  Machine machine = slow_dram(2);
  EXPECT_EQ(simulate(batch, plan, machine, deep_kernel()).traffic.kv_l2_read, 0);
  machine.l2_bytes = 200 * kToken;  // two lists, 100 tokens apart
  const schedules::Timeline timeline = simulate(batch, plan, machine, deep_kernel());
  EXPECT_EQ(timeline.traffic.kv_dram_read, 299 * kToken);
  EXPECT_EQ(timeline.traffic.kv_l2_read, 99 * kToken);
  EXPECT_GE(timeline.seconds, 0.299e-3);
}

TEST(Traffic, SeveralTilesOfOneHeadReadItOnce) {
  workloads::Workload batch = prefill(300, 1000);
  batch.geometry.causal = false;
  const schedules::Timeline timeline = simulate(batch, row_tiles(batch, 100), slow_dram(3), deep_kernel());
  EXPECT_EQ(timeline.traffic.kv_dram_read, 1000 * kToken);
  EXPECT_EQ(timeline.traffic.kv_l2_read, 2000 * kToken);
}

TEST(Traffic, QueryHeadsOfOneKvHeadReadItOnce) {
  workloads::Workload batch = toy::workload({1000});
  batch.geometry.query_heads = 6;
  batch.geometry.kv_heads = 2;
  const schedules::Timeline timeline = simulate(batch, row_tiles(batch, 1), slow_dram(6), deep_kernel());
  EXPECT_EQ(timeline.traffic.kv_dram_read, 2 * 1000 * kToken);
  EXPECT_EQ(timeline.traffic.kv_l2_read, 4 * 1000 * kToken);
}

TEST(Traffic, RangesThatOverlapInPartAreCountedByToken) {
  workloads::Workload batch = prefill(4, 1000);
  batch.geometry.causal = false;
  schedules::Plan plan = row_tiles(batch, 1);
  const auto reads = [&](const std::vector<workloads::KvRange>& ranges, double kept_tokens) {
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      plan.items[i].kv_begin = ranges[i].begin;
      plan.items[i].kv_end = ranges[i].end;
    }
    return count_shared_reads(batch, plan, {1, kept_tokens, 0}).dram;
  };
  EXPECT_EQ(reads({{0, 100}, {50, 150}, {0, 150}, {140, 160}}, 1e9), 160);
  EXPECT_EQ(reads({{0, 100}, {20, 30}, {10, 40}, {0, 100}}, 1e9), 100);
  // One list after the other: of the last item [0, 20) and [40, 100) were read 130 tokens before, [20, 30) 50 and
  // [30, 40) 40; the second item's 80.
  EXPECT_EQ(reads({{0, 100}, {20, 40}, {30, 40}, {0, 100}}, 130), 100);
  EXPECT_EQ(reads({{0, 100}, {20, 40}, {30, 40}, {0, 100}}, 129), 100 + 80);
  EXPECT_EQ(reads({{0, 100}, {20, 40}, {30, 40}, {0, 100}}, 79), 100 + 80 + 20);
  EXPECT_EQ(reads({{0, 100}, {20, 40}, {30, 40}, {0, 100}}, 49), 100 + 80 + 20 + 10);
}

TEST(Traffic, ListsThatStartTogetherWaitForDramTogether) {
  workloads::Workload batch = prefill(4, 1000);
  batch.geometry.causal = false;
  const schedules::Plan plan = row_tiles(batch, 1);  // four lists that read the same
  const KvTokens together = count_shared_reads(batch, plan, {4, 0, 0});
  EXPECT_EQ(together.dram, 1000);
  EXPECT_EQ(together.together, 3000);
  EXPECT_EQ(together.l2, 0);
  // In waves of two the others come 1,000 tokens of each list later, and together again.
  const KvTokens later = count_shared_reads(batch, plan, {2, 2000, 10});
  EXPECT_EQ(later.dram, 1000);
  EXPECT_EQ(later.together, 2000);
  EXPECT_EQ(later.l2, 1000);
  EXPECT_EQ(count_shared_reads(batch, plan, {2, 1999, 10}).dram, 2000);
}

TEST(Traffic, LaterWavesFallOutOfStepByTheirDrift) {
  workloads::Workload batch = prefill(6, 1000);
  batch.geometry.causal = false;
  const schedules::Plan plan = row_tiles(batch, 1);  // six lists that read the same, two at a time
  // The second list of the second wave is half of 100 tokens late, that of the third half of 200.
  const auto of_window = [&](double in_flight) { return count_shared_reads(batch, plan, {2, 1e9, in_flight, 0.1}); };
  EXPECT_EQ(of_window(49).together, 1000);
  EXPECT_EQ(of_window(50).together, 2000);
  EXPECT_EQ(of_window(99).together, 2000);
  EXPECT_EQ(of_window(100).together, 3000);
  EXPECT_EQ(of_window(49).dram, 1000);
  EXPECT_EQ(of_window(49).l2, 4000);
  // At most evenly over a list.
  EXPECT_EQ(count_shared_reads(batch, plan, {2, 1e9, 499, 10}).together, 1000);
  EXPECT_EQ(count_shared_reads(batch, plan, {2, 1e9, 500, 10}).together, 4000);
}

TEST(Traffic, ListsThatStartTogetherAtOtherTokensFindWhatL2StillHas) {
  workloads::Workload batch = prefill(2, 1000);
  batch.geometry.causal = false;
  schedules::Plan plan = row_tiles(batch, 1);  // two outputs, cut in three as one stream of 600, 600 and 800 tokens
  plan.items = {{0, 0, 600, 0}, {0, 600, 1000, 1}, {1, 0, 200, 2}, {1, 200, 1000, 3}};
  plan.cta_begin = {0, 1, 3, 4};
  // The second output's first 200 tokens are read 400 after the first's, the next 400 200 before, the last ones 400.
  EXPECT_EQ(count_shared_reads(batch, plan, {3, 3 * 400, 0}).dram, 1000);
  EXPECT_EQ(count_shared_reads(batch, plan, {3, 3 * 399, 0}).dram, 1000 + 200 + 400);
  EXPECT_EQ(count_shared_reads(batch, plan, {3, 3 * 199, 0}).dram, 2000);
  EXPECT_EQ(count_shared_reads(batch, plan, {3, 3 * 400, 0}).together, 0);
  EXPECT_EQ(count_shared_reads(batch, plan, {3, 3 * 400, 200}).together, 400);
}

TEST(Traffic, WarmDataComeFromL2) {
  Machine machine = slow_dram(1);
  machine.l2_bytes = 1000 * kToken;
  const workloads::Workload batch = toy::workload({1000});
  const schedules::Traffic traffic =
      simulate(batch, toy::one_cta_each(batch), machine, deep_kernel(), {.l2 = L2State::warm}).traffic;
  EXPECT_EQ(traffic.kv_dram_read, 0);
  EXPECT_EQ(traffic.kv_l2_read, 1000 * kToken);
}

TEST(Traffic, QOutputsAndPartialsAreCountedByRow) {
  // 250 elements of 2 bytes a row; a partial row has 250 fp32 values and an LSE.
  KernelProfile kernel = toy::kernel(1);
  const auto traffic = [&](schedules::MergeKind merge) {
    return simulate(toy::workload({3000}), toy::cut({1000, 1000, 1000}, merge), toy::machine(3), kernel).traffic;
  };
  const schedules::Traffic by_kernel = traffic(schedules::MergeKind::kernel);
  EXPECT_EQ(by_kernel.kv_dram_read, 3000 * kToken);
  EXPECT_EQ(by_kernel.q_read, 3 * 500);
  EXPECT_EQ(by_kernel.output_written, 500);
  EXPECT_EQ(by_kernel.partials_written, 3 * 251 * 4);
  EXPECT_EQ(by_kernel.partials_read, 3 * 251 * 4);
  EXPECT_EQ(traffic(schedules::MergeKind::last_arriver).partials_read, 3 * 251 * 4);
  // A host keeps its own, but for clusters that hold the parts.
  EXPECT_EQ(traffic(schedules::MergeKind::host_cta).partials_written, 2 * 251 * 4);
  EXPECT_EQ(traffic(schedules::MergeKind::host_cta).partials_read, 2 * 251 * 4);
  kernel.most_tokens = 1000;
  EXPECT_EQ(traffic(schedules::MergeKind::host_cta).partials_written, 3 * 251 * 4);
  EXPECT_EQ(traffic(schedules::MergeKind::host_cta).partials_read, 3 * 251 * 4);
  // An empty item reads no Q.
  const workloads::Workload batch = toy::workload({1000, 0});
  EXPECT_EQ(simulate(batch, toy::one_cta_each(batch), toy::machine(2), toy::kernel(1)).traffic.q_read, 500);
}

TEST(Traffic, EveryHeightOfTileHasItsOwnCost) {
  // 100 requests of 1 to 100 queries, an SM each, bound by arithmetic: the highest tile's is the time.
  workloads::Workload batch;
  batch.geometry = toy::workload({}).geometry;
  batch.geometry.causal = false;
  schedules::Plan plan;
  plan.schedule = "toy";
  plan.tile_q = 100;
  plan.tile_kv = 1;
  for (std::int32_t i = 0; i < 100; ++i) {
    batch.requests.push_back({i + 1, 1000});
    plan.outputs.push_back({i, 0, 1, 0, i + 1});
    plan.items.push_back({i, 0, 1000, -1});
    plan.cta_begin.push_back(i + 1);
  }
  KernelProfile kernel = toy::kernel(1);
  kernel.instruction = MmaInstruction::cuda_core;
  kernel.clocks_per_row_token = 1000 / (250 / 128.0);  // 1 us for each row and token
  EXPECT_NEAR(simulate(batch, plan, toy::machine(100), kernel).seconds, 100e-3, 1e-5);
}

/// Every token that an item reads, found one by one: what DRAM must deliver at least, and all that is read.
struct Brute {
  std::int64_t once = 0;
  std::int64_t all = 0;
};

Brute count_by_token(const workloads::Workload& workload, const schedules::Plan& plan) {
  std::set<std::tuple<std::int32_t, std::int32_t, std::int32_t>> tokens;
  Brute brute;
  for (const schedules::Item& item : plan.items) {
    const schedules::OutputTile& output = plan.outputs[static_cast<std::size_t>(item.output)];
    brute.all += item.tokens();
    for (std::int32_t token = item.kv_begin; token < item.kv_end; ++token) {
      tokens.emplace(output.request, schedules::kv_head(workload, output), token);
    }
  }
  brute.once = static_cast<std::int64_t>(tokens.size());
  return brute;
}

RC_GTEST_PROP(Traffic, NoPredictionIsFasterThanItsDramBytes, ()) {
  Machine machine = load_machine(*rc::gen::elementOf(machine_names()));
  const bool slow_memory = *rc::gen::element(false, true);
  if (slow_memory) machine = with_overrides(machine, {.dram_peak_bytes_per_second = 2e10});
  const std::vector<std::string> schedules = {"fa2",        "fixed-split:fa2",     "fixed-split:3", "fixed-split:fa3",
                                              "fa3",        "seq-aware",           "lean",          "lean:ort",
                                              "flashinfer", "flashinfer-holistic", "fixed-size:256"};
  const std::string schedule = *rc::gen::elementOf(schedules);
  const std::vector<std::string> geometries = {
      "h=8/2,d=128", "h=4/1,d=64", "h=2/2,d=128", "h=8/2,d=128,window=300", "h=4/4,d=256", "h=6/2,d=128,causal=0"};
  workloads::Workload batch = workloads::parse_spec(*rc::gen::elementOf(geometries) + ":1q1s1k");
  batch.requests.clear();
  const auto requests = *rc::gen::inRange(1, 6);
  for (int i = 0; i < requests; ++i) {
    const auto queries = *rc::gen::element(1, 1, 3, 70, 300, 700);
    batch.requests.push_back({queries, *rc::gen::inRange(queries, 4000)});
  }
  try {
    const KernelProfile first = native_kernel(schedule, batch, machine);
    const schedules::Plan plan = schedules::make_plan(schedule, batch, grid_of(machine, first));
    const schedules::Timeline timeline = simulate(batch, plan, machine, native_kernel(plan, batch, machine));
    const std::int64_t per_token = workloads::kv_bytes_per_token(batch.geometry);
    const Brute brute = count_by_token(batch, plan);
    RC_ASSERT(timeline.traffic.kv_dram_read >= brute.once * per_token);
    RC_ASSERT(timeline.traffic.kv_dram_read + timeline.traffic.kv_l2_read == brute.all * per_token);
    const std::int64_t least = std::max(timeline.traffic.kv_dram_read, workloads::minimal_bytes(batch));
    RC_ASSERT(timeline.seconds * machine.dram_peak_bytes_per_second * (1 + 1e-9) >= static_cast<double>(least));
    RC_ASSERT(std::abs(timeline.breakdown.total() - timeline.seconds) <= 1e-12 * timeline.seconds);
  } catch (const base::InputError&) {
    RC_DISCARD("the schedule cannot serve the geometry on this machine");
  }
}

}  // namespace
}  // namespace splitwave::simulator
