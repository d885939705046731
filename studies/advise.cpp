// SPDX-License-Identifier: Apache-2.0
#include "studies/advise.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <limits>
#include <map>
#include <mutex>
#include <thread>

#include "base/error.h"
#include "base/parallel.h"
#include "studies/predict.h"

namespace splitwave::studies {
namespace {

constexpr double kUnlimited = std::numeric_limits<double>::infinity();

workloads::Workload uniform(const AdviseQuestion& question, std::int32_t batch, std::int32_t context) {
  workloads::Workload workload;
  workload.name = fmt::format("batch {} context {}", batch, context);
  workload.geometry = question.geometry;
  workload.kv = question.kv;
  workload.requests.assign(static_cast<std::size_t>(batch), {question.query_len, context});
  validate(workload);
  return workload;
}

/// Whether max_splits forbids the schedule's answer: it is a cap of FlashAttention's num_splits, and of no other's.
bool is_capped(const AdviseQuestion& question, const Alternative& one) {
  const std::string_view base = std::string_view(one.schedule).substr(0, one.schedule.find(':'));
  const bool takes_num_splits = base == "fixed-split" || base == "fa3" || base == "seq-aware";
  return takes_num_splits && question.max_splits > 0 && one.num_splits > question.max_splits;
}

/// Why nothing that is available serves the workload, from the first.
std::string refusal(const AdviseQuestion& question, const workloads::Workload& workload, const Target& target) {
  try {
    predict(workload, question.available.front(), target);
  } catch (const base::InputError& error) {
    return error.what();
  }
  return fmt::format("{} answers more than {} splits", question.available.front(), question.max_splits);
}

/// The schedules' answers, each asked once; none where a schedule cannot serve the workload.
using Answers = std::map<std::string, std::optional<Alternative>, std::less<>>;

Answers ask(const AdviseQuestion& question, const workloads::Workload& workload, const Target& target) {
  Answers answers;
  for (const auto* names : {&question.available, &question.rules}) {
    for (const std::string& name : *names) {
      if (!answers.contains(name)) answers.emplace(name, alternative_within(kUnlimited, name, workload, target));
    }
  }
  return answers;
}

std::vector<std::optional<double>> seconds_of(const std::vector<std::string>& schedules, const Answers& answers) {
  std::vector<std::optional<double>> seconds;
  for (const std::string& schedule : schedules) {
    const std::optional<Alternative>& found = answers.at(schedule);
    seconds.push_back(found ? std::optional(found->seconds) : std::nullopt);
  }
  return seconds;
}

AdvicePoint answer(const AdviseQuestion& question, const Target& target, std::int32_t batch, std::int32_t context) {
  const workloads::Workload workload = uniform(question, batch, context);
  AdvicePoint point;
  point.batch = batch;
  point.context = context;
  std::vector<Alternative> usable;
  for (const std::string& schedule : question.available) {
    const std::optional<std::size_t> index = split_call_of(schedule);
    if (!index || point.splits[*index]) continue;
    const SplitCall& call = kSplitCalls[*index];
    const std::int32_t most = question.max_splits > 0 ? std::min(question.max_splits, call.most) : call.most;
    point.splits[*index] = best_split(call, workload, target, most);
    if (point.splits[*index]) usable.push_back(*point.splits[*index]);
  }
  const Answers answers = ask(question, workload, target);
  for (const std::string& schedule : question.available) {
    const std::optional<Alternative>& found = answers.at(schedule);
    if (found && !is_capped(question, *found)) usable.push_back(*found);
  }
  const auto least = std::min_element(usable.begin(), usable.end(),
                                      [](const Alternative& a, const Alternative& b) { return a.seconds < b.seconds; });
  if (least == usable.end()) {
    throw base::InputError(fmt::format("advise: nothing available can serve {} on {}, for example: {}", workload.name,
                                       target.name, refusal(question, workload, target)));
  }
  point.best = *least;
  point.available_seconds = seconds_of(question.available, answers);
  point.rule_seconds = seconds_of(question.rules, answers);
  return point;
}

/// Answers points in any order on several threads, and reports on this one.
class Answering {
 public:
  Answering(const AdviseQuestion& question, const Target& target, Advice& advice)
      : question_(question), target_(target), advice_(advice) {}

  void run(int threads, const std::function<void(std::size_t)>& done) {
    std::vector<std::thread> others = base::start_threads(threads - 1, [this] { work(nullptr); });
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

/// Leaves out the schedules that serve no point, with their times.
void drop_useless(std::vector<std::string>& schedules, std::vector<std::optional<double>> AdvicePoint::*seconds,
                  std::vector<AdvicePoint>& points) {
  for (std::size_t i = schedules.size(); i-- > 0;) {
    const bool serves = std::any_of(points.begin(), points.end(),
                                    [&](const AdvicePoint& point) { return (point.*seconds)[i].has_value(); });
    if (serves) continue;
    const auto offset = static_cast<std::ptrdiff_t>(i);
    schedules.erase(schedules.begin() + offset);
    for (AdvicePoint& point : points) (point.*seconds).erase((point.*seconds).begin() + offset);
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
  drop_useless(advice.question.available, &AdvicePoint::available_seconds, advice.points);
  drop_useless(advice.question.rules, &AdvicePoint::rule_seconds, advice.points);
  for (std::size_t call = 0; call < kSplitCalls.size(); ++call) {
    const bool serves = std::any_of(advice.points.begin(), advice.points.end(),
                                    [&](const AdvicePoint& point) { return point.splits[call].has_value(); });
    if (serves) advice.calls.push_back(call);
  }
  find_cliffs(advice);
  return advice;
}

}  // namespace splitwave::studies
