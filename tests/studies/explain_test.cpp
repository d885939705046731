// SPDX-License-Identifier: Apache-2.0
#include "studies/explain.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>
#include <regex>
#include <string>
#include <vector>

#include "base/error.h"
#include "schedules/schedules.h"
#include "simulator/machine.h"
#include "studies/explain_limit.h"
#include "studies/predict.h"
#include "studies/records.h"
#include "tests/studies/target.h"
#include "workloads/load.h"

namespace splitwave::studies {
namespace {

using tests::target;

workloads::Workload workload(const std::string& spec) {
  return workloads::parse_spec(spec);
}

TEST(Explain, ClustersThatShareSmsAreCountedOneByOne) {
  bool seen = false;
  for (const char* spec : {"llama-3-8b:1q1s512", "llama-3-8b:4q1s512", "llama-3-8b:2q1s4k", "llama-3-8b:1q1s32k"}) {
    const Explanation e = explain("auto", workload(spec), tests::own_kernels());
    if (e.kernel.cluster == 1 || e.limit.part != "idle") continue;
    seen = true;
    const std::int64_t idle = e.grid.resident() - e.lists_with_tokens;
    EXPECT_EQ(e.limit.why, fmt::format("idle CTA slots: {} of {} get no KV token to read", idle, e.grid.resident()));
  }
  EXPECT_TRUE(seen);
}

// The kernel for single items fits an SM once more than the one for lists, by which the grid counts.
TEST(Explain, MoreCtasOnAnSmThanTheGridCountsAreExplained) {
  Overrides few;
  few.sms = 16;
  few.kernel = simulator::kOwnKernel;
  const Explanation e =
      explain("fa2", workload("h=29/29,d=256,page=16:23q1s75"), studies::target("h200-calibrated", few));
  std::int32_t slots = 0;
  for (const schedules::Span& span : e.timeline.spans) slots = std::max(slots, span.slot + 1);
  ASSERT_GT(slots, e.grid.ctas_per_sm);
}

TEST(Explain, TriesNoMillionsOfSplits) {
  const auto tried = [](const std::string& spec, const std::string& name) {
    const std::vector<std::string> names = alternative_schedules(workload(spec));
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  EXPECT_TRUE(tried("llama-3-8b:900q1s16k", "fixed-split:114"));
  EXPECT_TRUE(tried("llama-3-8b:17000q1s16k", "fixed-split:7"));
  EXPECT_FALSE(tried("llama-3-8b:17000q1s16k", "fixed-split:8"));
  EXPECT_FALSE(tried("llama-3-8b:17000q1s16k", "fa3:8"));
  EXPECT_TRUE(tried("llama-3-8b:500000q1s16k", "fixed-split:1"));
}

TEST(Explain, MergesOfManySpansEndWhereTheirItemsWere) {
  const workloads::Workload many = workload("llama-3-8b:400q1s1k_400q1s3k");
  const Explanation e = explain("fixed-split:3+last_arriver", many, target("h200"));
  std::map<std::int32_t, const schedules::Span*> last;  // by CTA
  std::size_t merges = 0;
  for (const schedules::Span& span : e.timeline.spans) {
    if (span.item >= 0) {
      last[span.cta] = &span;
      continue;
    }
    ++merges;
    ASSERT_TRUE(last.contains(span.cta));
    EXPECT_EQ(span.sm, last[span.cta]->sm);
    EXPECT_EQ(span.slot, last[span.cta]->slot);
    EXPECT_GE(span.begin_seconds, last[span.cta]->end_seconds);
  }
  EXPECT_EQ(merges, e.plan.merges.size());
  EXPECT_GT(merges, 3000U);
}

TEST(Explain, BreakdownAddsUpToTheTotal) {
  for (const char* spec : {"llama-3-8b:1q1s512", "llama-3-8b:8q1s32k", "llama-3-8b:5q1s1k_1q1s60k"}) {
    for (const std::string& schedule : schedules::default_names()) {
      const Explanation e = explain(schedule, workload(spec), target("h200"));
      EXPECT_NEAR(e.timeline.breakdown.total() / e.timeline.seconds, 1, 1e-9) << schedule << " " << spec;
      double sum = 0;
      for (const Part& part : parts(e.timeline.breakdown)) {
        EXPECT_GE(part.seconds, 0) << schedule << " " << part.name;
        sum += part.seconds;
      }
      EXPECT_DOUBLE_EQ(sum, e.timeline.breakdown.total());
      EXPECT_NEAR(e.limit.share * sum, std::ranges::max(parts(e.timeline.breakdown), {}, &Part::seconds).seconds, 1e-15)
          << "the limit is the largest part";
    }
  }
}

TEST(Explain, SaysWhatSimulateSays) {
  const Explanation e = explain("fa3", workload("llama-3-8b:8q1s32k"), target("h100-sxm"));
  const Prediction made = predict(workload("llama-3-8b:8q1s32k"), "fa3", target("h100-sxm"));
  EXPECT_EQ(e.timeline.seconds, made.timeline.seconds);
  EXPECT_EQ(e.plan, made.plan);
  EXPECT_FALSE(e.plan.reason.empty());
}

TEST(Explain, EnergyIsTheRecordsWhereTheMachineKnowsIt) {
  const workloads::Workload batch = workload("llama-3-8b:8q1s32k");
  Target powered = target("h200");
  powered.machine.energy.reset();
  EXPECT_EQ(to_text(explain("lean", batch, powered)).find("Energy"), std::string::npos);
  EXPECT_FALSE(nlohmann::json::parse(to_json(explain("lean", batch, powered))).contains("joules"));
  EXPECT_FALSE(predicted_record(batch, "lean", powered, true).joules);
  powered.machine.energy = simulator::EnergyConstants{110, 0.5, 25e-12, 8e-12, 2e-12, 0.75e-12};
  const Explanation e = explain("lean", batch, powered);
  const reports::Record record = predicted_record(batch, "lean", powered, true);
  ASSERT_TRUE(e.energy);
  ASSERT_TRUE(record.energy);
  EXPECT_EQ(record.joules, record.energy->total());
  EXPECT_NEAR(*record.joules / e.energy->total(), 1, 1e-12) << "sums over SMs may be rounded otherwise";
  EXPECT_DOUBLE_EQ(e.energy->idle, 110 * e.timeline.seconds);
  EXPECT_DOUBLE_EQ(e.energy->dram, 25e-12 * static_cast<double>(e.timeline.traffic.kv_dram_read));
  EXPECT_LE(e.energy->sms, 0.5 * 132 * e.timeline.seconds);
  EXPECT_GT(e.energy->sms, 0.9 * 0.5 * 132 * e.timeline.seconds * e.timeline.occupancy);
  const nlohmann::json json = nlohmann::json::parse(to_json(e));
  EXPECT_EQ(json["joules"], e.energy->total());
  EXPECT_EQ(json["energy"]["l2"], e.energy->l2);
  EXPECT_NE(to_text(e).find("Energy\n"), std::string::npos);
}

/// The lines of the table of times, in nanoseconds, as a reader adds them up.
TEST(Explain, PrintedTimesAndSharesAddUp) {
  for (const char* schedule : {"fa2", "fixed-split:7", "lean"}) {
    const std::string text = to_text(explain(schedule, workload("llama-3-8b:3q1s7k"), target("h200")));
    const std::regex line(R"(  (launch|ramp|stream|compute|merge|wait|idle|total) +(\d+)\.(\d{3}) +(\d+)\.(\d))");
    std::int64_t nanoseconds = 0;
    std::int64_t permille = 0;
    int rows = 0;
    for (std::sregex_iterator match(text.begin(), text.end(), line), end; match != end; ++match) {
      const std::int64_t nano = std::stoll((*match)[2].str() + (*match)[3].str());
      const std::int64_t mille = std::stoll((*match)[4].str() + (*match)[5].str());
      if ((*match)[1] == "total") {
        EXPECT_EQ(nano, nanoseconds) << text;
        EXPECT_EQ(mille, permille) << text;
        EXPECT_EQ(mille, 1000) << text;
      }
      nanoseconds += nano;
      permille += mille;
      ++rows;
    }
    EXPECT_EQ(rows, 8) << text;
  }
}

RC_GTEST_PROP(ExplainProperty, RoundedNumbersKeepTheirSum, ()) {
  const auto whole = *rc::gen::nonEmpty(rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 1000000)));
  std::vector<double> numbers;
  for (const int number : whole) numbers.push_back(number / 997.0);
  const std::vector<std::int64_t> rounded = rounded_to_sum(numbers, 1);
  const double sum = std::accumulate(numbers.begin(), numbers.end(), 0.0);
  RC_ASSERT(std::accumulate(rounded.begin(), rounded.end(), std::int64_t{0}) == std::llround(sum));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    RC_ASSERT(std::abs(static_cast<double>(rounded[i]) - numbers[i]) <= 1);
  }
}

TEST(Explain, RoundedNumbersBeyondIntegersStayInTheirRange) {
  const std::vector<double> numbers = {std::numeric_limits<double>::infinity(), std::nan(""), 1};
  EXPECT_EQ(rounded_to_sum(numbers, 1), (std::vector<std::int64_t>{100'000'000'000'000'000, 0, 1}));
}

TEST(Explain, AnIdleMachineIsLimitedByItsWaves) {
  // One CTA of 132 works: nearly all SM time is idle.
  const Explanation e = explain("fa2", workload("h=1/1,d=128:1q1s64k"), target("h200"));
  EXPECT_EQ(e.limit.part, "idle");
  EXPECT_GT(e.limit.share, 0.9);
  EXPECT_NEAR(e.idle_sm_seconds, e.timeline.breakdown.idle * 132, 1e-15);
  ASSERT_FALSE(e.alternatives.empty());
  EXPECT_LT(e.alternatives.front().seconds * 5, e.timeline.seconds) << "splitting helps";
}

bool has(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}

TEST(Explain, NamesWhatIsIdle) {
  // Splits of the padded cache: two short requests leave most CTAs without a token.
  const Explanation padded = explain("fixed-split:8", workload("h=1/1,d=128:1q1s16k_9q1s100"), target("h200"));
  ASSERT_EQ(padded.limit.part, "idle");
  EXPECT_TRUE(has(padded.limit.why,
                  fmt::format("; {} of {} items are empty", padded.metrics.empty_items, padded.metrics.items)))
      << padded.limit.why;
  EXPECT_GT(padded.metrics.empty_items, 0);
  // Three items on a machine of 132 SMs: no wave is too many.
  const Explanation few = explain("fa2", workload("h=3/3,d=128:1q1s32k"), target("h200"));
  EXPECT_TRUE(has(few.limit.why, "get no KV token to read")) << few.limit.why;
  EXPECT_FALSE(has(few.limit.why, "wave")) << few.limit.why;
  EXPECT_FALSE(has(few.limit.why, "empty")) << few.limit.why;
}

/// What an explanation's sentences may say, told again from its numbers.
void expect_consistent(const Explanation& e, const std::string& where) {
  bool more = false;
  bool fewer = false;
  bool as_many = false;
  for (const Alternative& one : e.alternatives) {
    if (e.timeline.seconds <= one.seconds * (1 + kClearlyFaster)) continue;
    more = more || one.num_splits > e.plan.num_splits;
    fewer = fewer || one.num_splits < e.plan.num_splits;
    as_many = as_many || one.num_splits == e.plan.num_splits;
  }
  const std::string& help = e.limit.help;
  EXPECT_EQ(has(help, "more splits"), more) << where << help;
  EXPECT_EQ(has(help, "fewer splits"), fewer) << where << help;
  EXPECT_EQ(has(help, "another schedule with as many"), as_many) << where << help;
  EXPECT_EQ(has(help, "is more than 2 % faster"), !e.alternatives.empty() && !more && !fewer && !as_many)
      << where << help;
  EXPECT_EQ(has(help, "nothing else can serve"), e.alternatives.empty()) << where << help;

  const std::string& why = e.limit.why;
  const IdleCauses& idle = e.idle;
  EXPECT_NEAR(idle.no_work + idle.uneven + idle.merging, e.timeline.breakdown.idle, 1e-15) << where;
  EXPECT_GE(std::min({idle.no_work, idle.uneven, idle.merging}), 0) << where;
  const double most = std::max({idle.no_work, idle.uneven, idle.merging});
  const bool is_idle = e.limit.part == "idle";
  EXPECT_EQ(has(why, "get no KV token to read"), is_idle && idle.no_work == most) << where << why;
  EXPECT_EQ(has(why, "run out of work before others"), is_idle && idle.no_work < most && idle.uneven == most)
      << where << why;
  EXPECT_EQ(has(why, "no part in"), is_idle && std::max(idle.no_work, idle.uneven) < most) << where << why;
  EXPECT_LE(has(why, "items are empty"), e.metrics.empty_items > 0) << where << why;
  const bool queue = e.plan.dispatch == schedules::Dispatch::queue;
  EXPECT_LE(has(why, "waves"), e.lists_with_tokens > (queue ? e.plan.workers : e.grid.resident())) << where << why;
  EXPECT_LE(has(why, "the average"), e.metrics.longest_list_tiles * e.lists_with_tokens > e.metrics.tiles)
      << where << why;
  EXPECT_EQ(has(why, "no output is split"), e.limit.part == "merge" && e.metrics.merges == 0) << where << why;
  EXPECT_LE(has(why, "CTAs that merge wait"),
            e.plan.merge == schedules::MergeKind::host_cta || e.plan.merge == schedules::MergeKind::last_arriver)
      << where << why;
  EXPECT_LE(has(help, "fewer bytes"), e.bandwidth_share >= kNearPlateau) << where << help;
}

/// A workload of up to 12 requests, drawn from a few models and lengths.
workloads::Workload random_workload(std::mt19937& random) {
  constexpr std::array<const char*, 7> geometries = {
      "llama-3-8b",         "h=8/1,d=128", "h=32/32,d=64", "h=16/2,d=256", "llama-3-8b,window=4096",
      "llama-3-8b,page=16", "deepseek-v3"};
  const auto below = [&](std::uint32_t count) { return static_cast<std::uint32_t>(random()) % count; };
  std::string batch;
  for (std::uint32_t group = 0; group <= below(3); ++group) {
    if (group > 0) batch += "_";
    batch += fmt::format("{}q{}s{}", 1 + below(4), below(8) == 0 ? 4 : 1, 4 + (below(64) << below(10)));
  }
  return workload(fmt::format("{}:{}", geometries.at(below(geometries.size())), batch));
}

TEST(Explain, NoSentenceContradictsItsNumbers) {
  constexpr std::array<const char*, 13> names = {
      "fa2",  "fixed-split:fa2", "fixed-split:3", "fixed-split:20", "fixed-split:fa3",     "fa3",     "fa3:6",
      "lean", "lean:ort",        "seq-aware",     "flashinfer",     "flashinfer-holistic", "flashmla"};
  const std::array<Target, 4> targets = {target("h200"), target("h100-sxm"), target("a100"), target("h200", 13)};
  std::mt19937 random(20240719);
  std::map<std::string_view, int> limits;
  int explained = 0;
  for (int tries = 0; explained < 1000; ++tries) {
    ASSERT_LT(tries, 4000) << "most combinations exist";
    const workloads::Workload drawn = random_workload(random);
    const Target& machine = targets.at(random() % targets.size());
    const char* name = names.at(random() % names.size());
    try {
      const Explanation e = explain(name, drawn, machine);
      expect_consistent(e, fmt::format("{} of {} on {}: ", name, drawn.name, machine.name));
      ++limits[e.limit.part];
      ++explained;
    } catch (const base::InputError&) {
      continue;  // the kernel cannot exist on the machine
    }
  }
  for (const char* part : {"ramp", "stream", "merge", "idle"}) EXPECT_GT(limits[part], 0) << part;
}

TEST(Explain, AlternativesAreSortedAndLeaveOutTheScheduleItself) {
  const Explanation e = explain("lean", workload("llama-3-8b:2q1s9k"), target("a100"));
  EXPECT_TRUE(std::ranges::is_sorted(e.alternatives, {}, &Alternative::seconds));
  EXPECT_EQ(std::ranges::count(e.alternatives, "lean", &Alternative::schedule), 0);
  EXPECT_GT(e.alternatives.size(), 16U);
}

TEST(Explain, AutoIsTheFastestDefaultSchedule) {
  const workloads::Workload ragged = workload("llama-3-8b:7q1s2k_1q1s50k");
  const Explanation e = explain("auto", ragged, target("h200"));
  for (const std::string& name : schedules::default_names()) {
    EXPECT_LE(e.timeline.seconds, predict(ragged, name, target("h200")).timeline.seconds) << name;
  }
  EXPECT_NE(e.plan.schedule, "auto") << "it is explained under its own name";
}

TEST(Explain, JsonHoldsTheSameNumbers) {
  const Explanation e = explain("fa3", workload("llama-3-8b:8q1s32k"), target("h200", 100));
  const auto json = nlohmann::json::parse(to_json(e));
  EXPECT_EQ(json.at("seconds").get<double>(), e.timeline.seconds);
  EXPECT_EQ(json.at("sms"), 100);
  EXPECT_EQ(json.at("breakdown").at("stream").get<double>(), e.timeline.breakdown.stream);
  EXPECT_EQ(json.at("breakdown").size(), 7U);
  EXPECT_EQ(json.at("idle_causes").at("uneven").get<double>(), e.idle.uneven);
  EXPECT_EQ(json.at("limit").at("part"), std::string(e.limit.part));
  EXPECT_EQ(json.at("alternatives").size(), e.alternatives.size());
  EXPECT_EQ(json.at("reason"), e.plan.reason);
}

TEST(Explain, RefusesWhatPredictRefuses) {
  EXPECT_THROW(explain("fa5", workload("llama-3-8b:1q1s1k"), target("h200")), base::InputError);
}

TEST(Explain, AnEmptyContextIsExplainedToo) {
  const Explanation e = explain("fa2", workload("llama-3-8b:1q1s0"), target("h200"));
  EXPECT_FALSE(to_text(e).empty());
  EXPECT_TRUE(std::isfinite(e.bandwidth_share));
}

}  // namespace
}  // namespace splitwave::studies
