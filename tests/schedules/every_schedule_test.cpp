// SPDX-License-Identifier: Apache-2.0
// Every schedule makes a valid plan of every nasty workload on every machine.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cctype>
#include <limits>

#include "base/error.h"
#include "schedules/metrics.h"
#include "schedules/schedules.h"
#include "schedules/validate.h"
#include "tests/support/battery.h"

namespace splitwave::schedules {
namespace {

constexpr std::int32_t kSms[] = {1, 2, 16, 108, 132, 264, 1000};

const std::vector<std::string>& names() {
  static const std::vector<std::string> names = {"fa2",
                                                 "fixed-split:1",
                                                 "fixed-split:3",
                                                 "fixed-split:9",
                                                 "fixed-split:fa2",
                                                 "fixed-split:fa2-2.5.6",
                                                 "fixed-split:fa3",
                                                 "fa3",
                                                 "fa3:1",
                                                 "fa3:7",
                                                 "fa3:256",
                                                 "seq-aware",
                                                 "seq-aware:evolved",
                                                 "lean",
                                                 "lean:ort",
                                                 "flashinfer",
                                                 "flashinfer-holistic",
                                                 "flashmla",
                                                 "flashmla:etap",
                                                 "fa4",
                                                 "fa4:3",
                                                 "xqa",
                                                 "xqa:trtllm",
                                                 "xqa:5",
                                                 "fixed-size:64",
                                                 "fixed-size:100",
                                                 "fixed-size:65536",
                                                 "longest-first:64",
                                                 "longest-first:4096"};
  return names;
}

void expect_valid(const std::string& name, const workloads::Workload& w, const Grid& grid) {
  const Plan plan = make_plan(name, w, grid);
  const std::vector<std::string> problems = violations(w, plan);
  EXPECT_TRUE(problems.empty()) << name << " of " << w.name << " on " << grid.sms << " x " << grid.ctas_per_sm << ": "
                                << (problems.empty() ? "" : problems.front());
  EXPECT_EQ(plan.schedule, name);
  EXPECT_FALSE(plan.reason.empty());
  EXPECT_GE(plan.num_splits, 1);
  const Metrics m = metrics(plan, grid);
  EXPECT_GT(m.quantization_efficiency, 0) << name << " of " << w.name;
  EXPECT_LE(m.quantization_efficiency, 1) << name << " of " << w.name;
}

TEST(EverySchedule, IsCovered) {
  for (const Schedule& schedule : all()) {
    const auto is_of = [&](const std::string& name) { return name.substr(0, name.find(':')) == schedule.name; };
    EXPECT_TRUE(std::any_of(names().begin(), names().end(), is_of)) << schedule.name;
  }
}

class Battery : public ::testing::TestWithParam<std::string> {};

TEST_P(Battery, Validates) {
  for (const workloads::Workload& w : testing::battery()) {
    for (const std::int32_t sms : kSms) {
      expect_valid(GetParam(), w, {sms, 1, 0, 0});
      expect_valid(GetParam(), w, {sms, 2, 0, 0});
    }
  }
}

TEST_P(Battery, ValidatesWithOtherTiles) {
  for (const workloads::Workload& w : testing::battery()) {
    expect_valid(GetParam(), w, {5, 1, 1, 16});
    expect_valid(GetParam(), w, {132, 2, 16, 100});
    expect_valid(GetParam(), w, {16, 1, 256, 4096});
  }
}

std::string test_name(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Names, Battery, ::testing::ValuesIn(names()), test_name);

TEST(EverySchedule, PlansRealSizes) {
  for (const workloads::Workload& w : testing::planning_battery()) {
    for (const std::string& name : names()) {
      if (name.ends_with(":64") || name == "fixed-size:100") continue;  // millions of items of the longest contexts
      for (const std::int32_t sms : {2, 132}) expect_valid(name, w, {sms, 2, 0, 0});
    }
  }
}

bool is_refused(const std::string& name, const workloads::Workload& w, const Grid& grid) {
  try {
    make_plan(name, w, grid);
    return false;
  } catch (const base::InputError&) {
    return true;
  }
}

/// Only CTAs that wait ask for something that a plan may not have.
TEST_P(Battery, ValidatesWithOtherMerges) {
  for (const workloads::Workload& w : testing::battery()) {
    for (const Grid& grid : {Grid{2, 1, 0, 0}, Grid{132, 2, 0, 0}, Grid{16, 1, 16, 100}}) {
      expect_valid(GetParam() + "+kernel", w, grid);
      expect_valid(GetParam() + "+last_arriver", w, grid);
      const std::string waiting = GetParam() + "+host_cta";
      if (GetParam() == "lean" || !is_refused(waiting, w, grid)) expect_valid(waiting, w, grid);
    }
  }
}

rc::Gen<std::int32_t> context_len() {
  return rc::gen::weightedOneOf<std::int32_t>({{2, rc::gen::inRange(0, 4)},
                                               {4, rc::gen::inRange(0, 600)},
                                               {2, rc::gen::inRange(0, 20000)},
                                               {2, rc::gen::map(rc::gen::inRange(0, 40), [](std::int32_t i) {
                                                  return std::max(i / 3 * 64 + i % 3 - 1, 0);  // tiles and one off
                                                })}});
}

workloads::Workload any_workload() {
  const std::int32_t kv_heads = *rc::gen::element(1, 1, 2, 3, 8);
  const std::int32_t group = *rc::gen::element(1, 2, 4, 7, 71, 128);
  workloads::Geometry g = testing::geometry(kv_heads * group, kv_heads, *rc::gen::element(8, 64, 80, 128, 256));
  if (*rc::gen::inRange(0, 6) == 0) g = testing::mla(group);
  workloads::Workload w =
      testing::decode("random", g, *rc::gen::resize(30, rc::gen::container<std::vector<std::int32_t>>(context_len())));
  g.causal = *rc::gen::arbitrary<bool>();
  w.geometry.causal = g.causal;
  if (*rc::gen::inRange(0, 3) == 0) w.geometry.window = *rc::gen::inRange(1, 2000);
  if (*rc::gen::inRange(0, 3) == 0) {
    for (workloads::Request& request : w.requests) request.query_len = *rc::gen::inRange(1, 200);
  }
  if (*rc::gen::inRange(0, 3) == 0) w = testing::paged(w, *rc::gen::element(1, 7, 16, 64, 256));
  return w;
}

Grid any_grid() {
  Grid grid{*rc::gen::inRange(1, 300), *rc::gen::inRange(1, 5), 0, 0};
  if (*rc::gen::inRange(0, 3) == 0) {
    grid.tile_q = *rc::gen::inRange(1, 200);
    grid.tile_kv = *rc::gen::inRange(16, 600);
  }
  return grid;
}

RC_GTEST_PROP(EverySchedule, MakesValidPlansOfAnything, ()) {
  const workloads::Workload w = any_workload();
  const Grid grid = any_grid();
  const std::string name = *rc::gen::elementOf(names());
  const Plan plan = make_plan(name, w, grid);
  const std::vector<std::string> problems = violations(w, plan);
  if (!problems.empty()) RC_FAIL(name + ": " + problems.front());
  RC_ASSERT(plan == make_plan(name, w, grid));
}

RC_GTEST_PROP(EverySchedule, MakesValidPlansWithAnyMerge, ()) {
  const workloads::Workload w = any_workload();
  const Grid grid = any_grid();
  const std::string merge = *rc::gen::element<std::string>("kernel", "host_cta", "last_arriver");
  const std::string name = *rc::gen::elementOf(names()) + '+' + merge;
  if (merge == "host_cta" && is_refused(name, w, grid)) return;
  const Plan plan = make_plan(name, w, grid);
  const std::vector<std::string> problems = violations(w, plan);
  if (!problems.empty()) RC_FAIL(name + ": " + problems.front());
  RC_ASSERT(plan.merge == MergeKind::none || to_string(plan.merge) == merge);
  if (merge == "host_cta" && plan.merge != MergeKind::none) RC_ASSERT(plan.ctas() <= grid.resident());
}

RC_GTEST_PROP(Lean, GivesCtasTheSameNumberOfTiles, ()) {
  const workloads::Workload w = any_workload();
  const Grid grid = any_grid();
  const Plan plan = make_plan("lean", w, grid);
  RC_ASSERT(plan.ctas() <= grid.resident());
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  std::int64_t most = 0;
  std::int64_t total = 0;
  for (std::int32_t list = 0; list < plan.lists(); ++list) {
    std::int64_t sum = 0;
    for (const Item& item : plan.list(list)) sum += tiles(plan, item);
    least = std::min(least, sum);
    most = std::max(most, sum);
    total += sum;
  }
  if (plan.lists() == 0) return;
  RC_ASSERT(most - least <= 1);
  RC_ASSERT(least >= std::min<std::int64_t>(total, 2));
}

/// Cuts of the items of one request's outputs, in the order of the outputs.
std::vector<Item> cuts(const Plan& plan, std::int32_t request) {
  std::vector<Item> result;
  for (Item item : plan.items) {
    if (plan.outputs[static_cast<std::size_t>(item.output)].request != request) continue;
    item.output = 0;
    item.slot = 0;
    result.push_back(item);
  }
  return result;
}

RC_GTEST_PROP(FixedSize, CutsARequestTheSameInAnyBatchOnAnyMachine, ()) {
  const workloads::Workload w = any_workload();
  RC_PRE(!w.requests.empty());
  const std::string name = *rc::gen::element<std::string>("fixed-size:100", "fixed-size:512");
  const Plan batch = make_plan(name, w, {*rc::gen::inRange(1, 300), 1, 0, 0});
  const auto request =
      static_cast<std::size_t>(*rc::gen::inRange<std::int32_t>(0, static_cast<std::int32_t>(w.requests.size())));
  workloads::Workload alone = w;
  alone.requests = {w.requests[request]};
  const Plan single = make_plan(name, alone, {132, 2, 0, 0});
  RC_ASSERT(cuts(batch, static_cast<std::int32_t>(request)) == cuts(single, 0));
}

RC_GTEST_PROP(LongestFirst, IsThePiecesOfFixedSizeInAnotherOrder, ()) {
  const workloads::Workload w = any_workload();
  const std::string tokens = *rc::gen::element<std::string>("100", "512", "4096");
  const Grid grid{*rc::gen::inRange(1, 300), 1, 0, 0};
  Plan ordered = make_plan("longest-first:" + tokens, w, grid);
  Plan in_batch = make_plan("fixed-size:" + tokens, w, grid);
  const auto longer = [](const Item& a, const Item& b) { return a.tokens() > b.tokens(); };
  RC_ASSERT(std::is_sorted(ordered.items.begin(), ordered.items.end(), longer));
  const auto by_output = [](const Item& a, const Item& b) {
    return std::pair(a.output, a.kv_begin) < std::pair(b.output, b.kv_begin);
  };
  for (Plan* plan : {&ordered, &in_batch}) std::sort(plan->items.begin(), plan->items.end(), by_output);
  RC_ASSERT(ordered.items == in_batch.items);  // with the same slots
  RC_ASSERT(ordered.merges == in_batch.merges);
  RC_ASSERT(ordered.cta_begin == in_batch.cta_begin);
}

}  // namespace
}  // namespace splitwave::schedules
