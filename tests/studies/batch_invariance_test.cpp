// SPDX-License-Identifier: Apache-2.0
#include "studies/batch_invariance.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>

#include "schedules/schedules.h"
#include "studies/invariance_report.h"
#include "studies/neighbours.h"
#include "studies/repeat.h"
#include "tests/reports/golden.h"
#include "tests/studies/target.h"
#include "tests/support/battery.h"

namespace splitwave::studies {
namespace {

using workloads::KvRange;
using workloads::Workload;

const Watcher kSilent{[](const std::string&) {}, [](double) {}, [](reports::Record) {}};

std::vector<KvRange> pieces(const std::string& schedule, const Workload& workload, std::int32_t request,
                            const schedules::Grid& grid) {
  return cuts_by_request(workload, schedules::make_plan(schedule, workload, grid)).at(request).front().pieces;
}

/// One KV head, head dim 128: LeanTiles of 128 tokens.
Workload one_head(const std::vector<std::int32_t>& contexts) {
  return testing::decode("one head", testing::geometry(4, 1, 128), contexts);
}

std::vector<BatchInvariance> ask(const Workload& workload, const std::vector<std::string>& schedules) {
  return batch_invariance(workload, schedules, tests::target("h200", 8), cpu_batch_runner(2), kSilent);
}

TEST(Cuts, LeanMovesThemWithItsNeighboursAndTheMachine) {
  // 8 tiles over 4 CTAs: 2 each. 16 tiles: 4 each.
  EXPECT_EQ(pieces("lean", one_head({1024}), 0, {4}),
            (std::vector<KvRange>{{0, 256}, {256, 512}, {512, 768}, {768, 1024}}));
  EXPECT_EQ(pieces("lean", one_head({1024, 1024}), 0, {4}), (std::vector<KvRange>{{0, 512}, {512, 1024}}));
  EXPECT_EQ(pieces("lean", one_head({1024}), 0, {2}), (std::vector<KvRange>{{0, 512}, {512, 1024}}));
}

TEST(Cuts, FixedSizeKeepsThem) {
  const std::vector<KvRange> alone = {{0, 512}, {512, 1024}, {1024, 1100}};
  EXPECT_EQ(pieces("fixed-size:512", one_head({1100}), 0, {4}), alone);
  EXPECT_EQ(pieces("fixed-size:512", one_head({30, 1100, 9000}), 1, {132}), alone);
}

TEST(Cuts, FixedSplitGoesByTheLongestRequest) {
  // Blocks of 128: 8 of 1024 tokens are 2 for each of 4 parts; beside 16384 tokens, a part has 32 blocks.
  EXPECT_EQ(pieces("fixed-split:4", one_head({1024, 1024, 700}), 0, {4}),
            (std::vector<KvRange>{{0, 256}, {256, 512}, {512, 768}, {768, 1024}}));
  EXPECT_EQ(pieces("fixed-split:4", one_head({1024, 16384}), 0, {4}), (std::vector<KvRange>{{0, 1024}}));
}

TEST(Cuts, RowsMayShareTilesWithOthers) {
  const workloads::Geometry g = testing::geometry(4, 2, 64);
  const workloads::Request request{2, 100};
  const auto packed = [](std::int32_t head) { return TileCuts{head, 2, 0, 4, {{0, 64}, {64, 100}}}; };
  const std::vector<TileCuts> two = {packed(0), packed(2)};
  std::vector<TileCuts> four;
  for (std::int32_t head = 0; head < 4; ++head) four.push_back({head, 1, 0, 2, {{0, 64}, {64, 100}}});
  EXPECT_TRUE(same_cuts(g, request, two, four));
  four[3].pieces = {{0, 32}, {32, 100}};
  EXPECT_FALSE(same_cuts(g, request, two, four));
  // A tile of the first query alone ends where that sees no further.
  std::vector<TileCuts> by_query;
  for (const std::int32_t head : {0, 2}) {
    by_query.push_back({head, 2, 0, 2, {{0, 64}, {64, 99}}});
    by_query.push_back({head, 2, 2, 4, {{0, 64}, {64, 100}}});
  }
  EXPECT_TRUE(same_cuts(g, request, two, by_query));
}

/// What each schedule answers for a ragged batch, by plan and by bits; they agree request by request.
TEST(BatchInvariance, OfEverySchedule) {
  const Workload workload = testing::decode("ragged", testing::geometry(4, 2, 64), {1500, 700, 2049, 64});
  const std::vector<std::string> invariant = {"fa2", "fixed-split:1", "fixed-size:256", "fixed-size:100",
                                              "fixed-size:256+last_arriver"};
  const std::vector<std::string> others = {"fixed-split:fa2", "fixed-split:4", "fa3", "lean",
                                           "lean:ort",        "flashinfer",    "xqa", "flashinfer-holistic",
                                           "seq-aware",       "auto"};
  std::vector<std::string> all = invariant;
  all.insert(all.end(), others.begin(), others.end());
  const std::vector<BatchInvariance> answers = ask(workload, all);
  ASSERT_EQ(answers.size(), all.size());
  for (const BatchInvariance& answer : answers) {
    SCOPED_TRACE(answer.schedule);
    EXPECT_EQ(answer.failure, "");
    EXPECT_EQ(answer.broken, 0) << "a request was cut as alone and had other bits";
    EXPECT_EQ(answer.lucky, 0) << "a request was cut in other places and had the same bits";
    EXPECT_EQ(answer.ran, 39);
    EXPECT_EQ(answer.compared, 47);
    const bool expected = std::find(invariant.begin(), invariant.end(), answer.schedule) != invariant.end();
    EXPECT_EQ(answer.invariant(), expected);
    EXPECT_EQ(answer.example.has_value(), !expected);
    if (expected) continue;
    EXPECT_NE(answer.example->cuts, answer.example->cuts_alone);
    EXPECT_NE(answer.example->difference, "");
  }
}

TEST(BatchInvariance, OfSeveralQueriesWindowsPagesAndLatentAttention) {
  const workloads::Geometry g = testing::geometry(8, 2, 64);
  const std::vector<Workload> workloads = {
      testing::with_queries(testing::decode("queries", g, {900, 300, 1300}), {1, 3, 7}),
      testing::windowed(testing::with_queries(testing::decode("window", g, {900, 300, 1300}), {5, 1}), 257),
      testing::paged(testing::decode("pages", g, {900, 300, 0}), 7)};
  for (const Workload& workload : workloads) {
    for (const BatchInvariance& answer : ask(workload, invariance_schedules({&workload, 1}))) {
      SCOPED_TRACE(workload.name + " " + answer.schedule);
      if (!answer.failure.empty()) continue;
      EXPECT_EQ(answer.broken, 0);
      EXPECT_TRUE(answer.invariant() || answer.schedule != "fixed-size:1024");
    }
  }
  const std::vector<BatchInvariance> latent =
      ask(testing::decode("latent", testing::mla(16), {900, 70}), {"flashmla", "fixed-size:256"});
  EXPECT_FALSE(latent[0].invariant());
  EXPECT_TRUE(latent[1].invariant());
}

/// Whatever is in the batch and whatever the machine.
RC_GTEST_PROP(BatchInvariance, FixedSizeNeverMovesACut, ()) {
  const auto contexts = *rc::gen::nonEmpty(rc::gen::container<std::vector<std::int32_t>>(rc::gen::inRange(0, 9000)));
  const std::string schedule = "fixed-size:" + std::to_string(*rc::gen::inRange(1, 5000));
  Workload batch = testing::decode("batch", testing::geometry(8, 2, 64), contexts);
  for (workloads::Request& request : batch.requests) request.query_len = *rc::gen::inRange(1, 5);
  if (*rc::gen::arbitrary<bool>()) batch.geometry.window = *rc::gen::inRange(1, 3000);
  const std::int32_t chosen = *rc::gen::inRange<std::int32_t>(0, static_cast<std::int32_t>(contexts.size()));
  const NeighbourBatch one = alone(batch).at(chosen);
  const schedules::Grid here{*rc::gen::inRange(1, 200), 1};
  const auto cuts = cuts_by_request(batch, schedules::make_plan(schedule, batch, here));
  const auto alone_cuts = cuts_by_request(one.workload, schedules::make_plan(schedule, one.workload, {132, 2}));
  RC_ASSERT(same_cuts(batch.geometry, batch.requests[chosen], alone_cuts.front(), cuts.at(chosen)));
}

/// Equal parts are the same in batches of one length, however many: what `fixed-split:N` keeps.
RC_GTEST_PROP(BatchInvariance, FixedSplitMovesNoCutAmongEqualLengths, ()) {
  const std::int32_t context = *rc::gen::inRange(1, 20000);
  const std::string schedule = "fixed-split:" + std::to_string(*rc::gen::inRange(1, 40));
  const Workload one = one_head({context});
  const Workload many = one_head(std::vector<std::int32_t>(*rc::gen::inRange(2, 30), context));
  RC_ASSERT(pieces(schedule, one, 0, {132}) == pieces(schedule, many, 1, {*rc::gen::inRange(1, 200)}));
}

TEST(BatchInvariance, AnExecutorThatDoesMoreThanItsPlanIsFound) {
  BatchRunner runner = cpu_batch_runner(2);
  runner.run = [run = runner.run](const Workload& workload, const workloads::Tensors& tensors,
                                  const Prediction& planned) {
    cpu_reference::Result<float> result = run(workload, tensors, planned);
    if (workload.requests.size() == 3) result.lse.back() = std::nextafter(result.lse.back(), 100.0F);
    return result;
  };
  const Workload workload = testing::decode("w", testing::geometry(4, 2, 32), {300, 40, 77, 500});
  const std::vector<BatchInvariance> answers =
      batch_invariance(workload, {"fa2"}, tests::target("h200"), runner, kSilent);
  EXPECT_TRUE(answers[0].by_plan());
  EXPECT_FALSE(answers[0].by_bits());
  EXPECT_EQ(answers[0].broken, 1);
  EXPECT_EQ(answers[0].example->batch, "without the last");
  EXPECT_NE(answers[0].example->difference.find("LSE of request 2, query 0, head 3: "), std::string::npos)
      << answers[0].example->difference;
  EXPECT_NE(invariance_text(answers).find("the executor does more than its plan says"), std::string::npos);
}

/// Stands for a device: bits that depend on the kernel's config.
TEST(BatchInvariance, OneConfigAndEachBatchsOwnAreToldApart) {
  BatchRunner runner;
  runner.executor = "cuda";
  runner.has_configs = true;
  runner.run = [](const Workload& workload, const workloads::Tensors&, const Prediction& planned) {
    cpu_reference::Result<float> result = poisoned_result(workload);
    for (float& element : result.output) {
      element = static_cast<float>(std::hash<std::string>()(planned.kernel.config) % 1000);
    }
    return result;
  };
  const Workload workload = testing::decode("w", testing::geometry(32, 8, 128), {4000, 100, 100, 100});
  const std::vector<BatchInvariance> answers =
      batch_invariance(workload, {"fixed-size:1024", "auto"}, tests::own_kernels(), runner, kSilent);
  ASSERT_EQ(answers.size(), 3U);
  EXPECT_TRUE(answers[0].invariant());
  EXPECT_FALSE(answers[0].besides);
  EXPECT_EQ(answers[0].kernel.front(), 'r');
  EXPECT_EQ(answers[1].kernel, "chosen");
  EXPECT_TRUE(answers[1].besides);
  EXPECT_FALSE(answers[1].by_plan());
  EXPECT_GT(answers[1].differing, 0);
  EXPECT_EQ(answers[2].schedule, "auto");
  EXPECT_FALSE(answers[2].besides);
}

BatchInvariance an_answer(const std::string& schedule) {
  BatchInvariance answer;
  answer.workload = "llama-3-8b:4q1s4k";
  answer.machine = "h200";
  answer.schedule = schedule;
  answer.executor = "cpu";
  answer.requests = 4;
  answer.batches = 12;
  answer.compared = 39;
  answer.ran = 39;
  return answer;
}

TEST(BatchInvariance, ReportIsAsApproved) {
  BatchInvariance size = an_answer("fixed-size:1024");
  size.kernel = "r1w4s4t16c1";
  BatchInvariance lean = an_answer("lean");
  lean.moved = lean.differing = 35;
  lean.example = {"1 more like these", 0, 1, "0|256|512", "heads 0 to 3, rows 0 to 3: 0|512", "output of request 0"};
  BatchInvariance lucky = an_answer("fixed-split:4");
  lucky.moved = 2;
  lucky.ran = 30;
  lucky.lucky = 2;
  lucky.example = {"reversed", 1, 2, "0|64", "0|32|64", ""};
  BatchInvariance broken = an_answer("fa2");
  broken.differing = broken.broken = 1;
  broken.example = {"reversed", 1, 2, "0|64", "0|64", "LSE of request 1"};
  BatchInvariance failed = an_answer("fa4");
  failed.failure = "kernel fa4 multiplies by tcgen05";
  BatchInvariance large = an_answer("xqa");
  large.moved = 4;
  large.ran = 35;
  large.example = {"508 more like these", 1, 2, "0|64", "0|32|64", ""};
  const std::vector<BatchInvariance> answers = {size, lean, lucky, broken, large, failed};
  std::string lines;
  for (const BatchInvariance& answer : answers) lines += invariance_json(answer) + '\n';
  tests::expect_golden("invariance.txt", invariance_text(answers));
  tests::expect_golden("invariance.jsonl", lines);
}

}  // namespace
}  // namespace splitwave::studies
