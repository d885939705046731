// SPDX-License-Identifier: Apache-2.0
#include "studies/advise.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <limits>
#include <mutex>
#include <thread>

#include "base/error.h"
#include "schedules/rules/fa2.h"
#include "studies/predict.h"

namespace splitwave::studies {
namespace {

constexpr std::int32_t kMostSplits = 128;

workloads::Workload uniform(const AdviseQuestion& question, std::int32_t batch, std::int32_t context) {
  workloads::Workload workload;
  workload.name = fmt::format("batch {} context {}", batch, context);
  workload.geometry = question.geometry;
  workload.requests.assign(static_cast<std::size_t>(batch), {question.query_len, context});
  validate(workload);
  return workload;
}

/// The prediction, or nothing if it is shown to take longer than `limit` or the schedule cannot serve the workload.
std::optional<Choice> choice_within(double limit, const std::string& schedule, const workloads::Workload& workload,
                                    const Target& target) {
  try {
    const std::optional<Prediction> made = predict_within(limit, workload, schedule, target);
    if (!made) return std::nullopt;
    return Choice{schedule, made->plan.num_splits, made->timeline.seconds};
  } catch (const base::InputError&) {
    return std::nullopt;
  }
}

/// The fastest of the counts, the least of those that are equally fast. The count next to FlashAttention-2's answer
/// goes first, and what a bound shows to be slower than the best so far is left out.
std::optional<Choice> best_split(const workloads::Workload& workload, const Target& target,
                                 std::vector<std::int32_t> counts) {
  double limit = std::numeric_limits<double>::infinity();
  if (const auto ruled = choice_within(limit, "fixed-split:fa2", workload, target)) {
    const auto above = std::upper_bound(counts.begin(), counts.end(), ruled->num_splits);
    if (above != counts.begin()) std::rotate(counts.begin(), above - 1, above);
  }
  std::optional<Choice> best;
  for (const std::int32_t count : counts) {
    const auto choice = choice_within(limit, fmt::format("fixed-split:{}", count), workload, target);
    if (!choice) continue;
    const bool earlier = best && choice->seconds == best->seconds && choice->num_splits < best->num_splits;
    if (!best || choice->seconds < best->seconds || earlier) best = choice;
    limit = best->seconds;
  }
  return best;
}

AdvicePoint answer(const AdviseQuestion& question, const Target& target, std::int32_t batch, std::int32_t context) {
  const workloads::Workload workload = uniform(question, batch, context);
  AdvicePoint point;
  point.batch = batch;
  point.context = context;
  point.split = best_split(workload, target, distinct_splits(question.geometry, context));
  std::vector<Choice> all;
  if (point.split) all.push_back(*point.split);
  const std::vector<Choice> ruled = try_schedules(workload, target, question.rules);
  for (const std::string& rule : question.rules) {
    const auto found =
        std::find_if(ruled.begin(), ruled.end(), [&](const Choice& choice) { return choice.schedule == rule; });
    point.rule_seconds.push_back(found == ruled.end() ? std::nullopt : std::optional(found->seconds));
  }
  all.insert(all.end(), ruled.begin(), ruled.end());
  if (all.empty()) {
    throw base::InputError(fmt::format("advise: no schedule can serve {} on {}", workload.name, target.name));
  }
  point.best =
      *std::min_element(all.begin(), all.end(), [](const Choice& a, const Choice& b) { return a.seconds < b.seconds; });
  return point;
}

/// Answers points in any order on several threads, and reports on this one.
class Answering {
 public:
  Answering(const AdviseQuestion& question, const Target& target, Advice& advice)
      : question_(question), target_(target), advice_(advice) {}

  void run(int threads, const std::function<void(std::size_t)>& done) {
    std::vector<std::thread> others;
    for (int i = 1; i < threads; ++i) others.emplace_back([this] { work(nullptr); });
    work(&done);
    for (std::thread& other : others) other.join();
    if (error_) std::rethrow_exception(error_);
  }

 private:
  void work(const std::function<void(std::size_t)>* done) {
    try {
      for (std::size_t i = next_++; i < advice_.points.size(); i = next_++) {
        const std::size_t contexts = question_.contexts.size();
        advice_.points[i] =
            answer(question_, target_, question_.batches[i / contexts], question_.contexts[i % contexts]);
        const std::size_t finished = ++finished_;
        if (done != nullptr) (*done)(finished);
      }
    } catch (...) {
      next_ = advice_.points.size();
      const std::lock_guard lock(mutex_);
      if (!error_) error_ = std::current_exception();
    }
  }

  const AdviseQuestion& question_;
  const Target& target_;
  Advice& advice_;
  std::atomic<std::size_t> next_ = 0;
  std::atomic<std::size_t> finished_ = 0;
  std::mutex mutex_;
  std::exception_ptr error_;
};

void drop_useless_rules(Advice& advice) {
  for (std::size_t rule = advice.question.rules.size(); rule-- > 0;) {
    const bool serves = std::any_of(advice.points.begin(), advice.points.end(),
                                    [&](const AdvicePoint& point) { return point.rule_seconds[rule].has_value(); });
    if (serves) continue;
    const auto offset = static_cast<std::ptrdiff_t>(rule);
    advice.question.rules.erase(advice.question.rules.begin() + offset);
    for (AdvicePoint& point : advice.points) point.rule_seconds.erase(point.rule_seconds.begin() + offset);
  }
}

/// Seconds of a rule, or with the index past the last one of the best choice.
std::optional<double> seconds_of(const AdvicePoint& point, std::size_t rule) {
  return rule < point.rule_seconds.size() ? point.rule_seconds[rule] : std::optional(point.best.seconds);
}

void add_cliff(Advice& advice, std::size_t rule, const AdvicePoint& before, const AdvicePoint& after,
               bool along_batch) {
  const std::optional<double> first = seconds_of(before, rule);
  const std::optional<double> second = seconds_of(after, rule);
  const std::int32_t from = along_batch ? before.batch : before.context;
  const std::int32_t to = along_batch ? after.batch : after.context;
  if (!first || !second || from == 0) return;
  const double jump = (*second / to) / (*first / from);
  if (jump <= kCliff) return;
  const std::string name = rule < advice.question.rules.size() ? advice.question.rules[rule] : "best";
  advice.cliffs.push_back({name, along_batch, after.batch, after.context, from, jump});
}

void find_cliffs(Advice& advice) {
  const std::size_t batches = advice.question.batches.size();
  const std::size_t contexts = advice.question.contexts.size();
  for (std::size_t rule = 0; rule <= advice.question.rules.size(); ++rule) {
    for (std::size_t b = 0; b < batches; ++b) {
      for (std::size_t c = 0; c < contexts; ++c) {
        if (b > 0) add_cliff(advice, rule, advice.at(b - 1, c), advice.at(b, c), true);
        if (c > 0) add_cliff(advice, rule, advice.at(b, c - 1), advice.at(b, c), false);
      }
    }
  }
  std::stable_sort(advice.cliffs.begin(), advice.cliffs.end(),
                   [](const Cliff& a, const Cliff& b) { return a.jump > b.jump; });
}

}  // namespace

std::vector<std::string> library_rules(const workloads::Geometry& geometry) {
  std::vector<std::string> rules = {"fixed-split:fa2", "fixed-split:fa3",    "fa3", "seq-aware", "lean", "lean:ort",
                                    "flashinfer",      "flashinfer-holistic"};
  // FlashMLA's planner would cut any geometry, but its library has kernels for latent attention only.
  if (geometry.kind == workloads::AttentionKind::mla) rules.emplace_back("flashmla");
  return rules;
}

std::vector<std::int32_t> distinct_splits(const workloads::Geometry& geometry, std::int32_t context) {
  const std::int32_t tile = schedules::fa2_split_block_n(geometry.head_dim);
  const std::int32_t tiles = std::max(1, (context + tile - 1) / tile);
  std::vector<std::int32_t> counts;
  std::int32_t longest = 0;
  for (std::int32_t count = 1; count <= std::min(tiles, kMostSplits); ++count) {
    const std::int32_t tiles_per_split = (tiles + count - 1) / count;
    if (tiles_per_split != longest) counts.push_back(count);
    longest = tiles_per_split;
  }
  return counts;
}

std::optional<double> AdvicePoint::regret(std::size_t rule) const {
  if (!rule_seconds[rule]) return std::nullopt;
  return *rule_seconds[rule] / best.seconds - 1;
}

Advice advise(const AdviseQuestion& question, const Target& target, int threads,
              const std::function<void(std::size_t)>& done) {
  Advice advice;
  advice.question = question;
  advice.machine = target.name;
  advice.points.resize(question.batches.size() * question.contexts.size());
  Answering(question, target, advice).run(threads, done);
  drop_useless_rules(advice);
  find_cliffs(advice);
  return advice;
}

}  // namespace splitwave::studies
