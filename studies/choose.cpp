// SPDX-License-Identifier: Apache-2.0
#include "studies/choose.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "reports/table.h"
#include "schedules/plan.h"
#include "schedules/schedules.h"
#include "simulator/alternatives.h"
#include "simulator/clusters.h"
#include "studies/candidates.h"
#include "studies/trial.h"

namespace splitwave::studies {
namespace {

std::string reason_of(const Prediction& best, const Prediction* next, const Target& target) {
  const std::string kernel = best.kernel.config.empty() ? "" : " with kernel " + best.kernel.config;
  std::string reason = fmt::format("auto: {}{} is predicted to take {} on {}", best.plan.schedule, kernel,
                                   reports::format_seconds(best.timeline.seconds), target.name);
  if (next != nullptr) {
    reason += fmt::format(" (next: {}, {}{})", next->plan.schedule, reports::format_seconds(next->timeline.seconds),
                          next->timeline.seconds < best.timeline.seconds ? ", of which less is known" : "");
  }
  return reason + ". " + best.plan.reason;
}

/// Why no target can run any of the workloads by the schedule, or nothing if one can.
std::string refusal(const std::string& schedule, std::span<const workloads::Workload> workloads,
                    std::span<const Target> targets) {
  std::string first;
  const auto serves = [&](const auto& make) {
    try {
      make();
      return true;
    } catch (const base::InputError& error) {
      if (first.empty()) first = error.what();
      return false;
    }
  };
  for (const workloads::Workload& workload : workloads) {
    if (targets.empty() && serves([&] { schedules::make_plan(schedule, workload, {}); })) return "";
    for (const Target& target : targets) {
      if (serves([&] { schedules::make_plan(schedule, workload, grid_for(workload, schedule, target)); })) return "";
    }
  }
  return first;
}

/// Candidates that are planned. Without a limit 8 of 1,000 drawn ragged batches would have faster plans, by 1.4 % at
/// most; with 52 it would be 27, by 3.6 %.
constexpr std::size_t kMostPlanned = 80;

/// What can be faster by no more than this is left out. Predictions err by more (docs/accuracy.md).
constexpr double kSettled = 0.01;

/// So is what is expected to be slower by more than a margin: guesses of the fastest plans are seldom as much too high.
/// The more has been tried, the less others gain: the margin shrinks with the lists that were simulated, and with those
/// that were planned, at a quarter as much, until only plans count that are expected to be faster. Of 1,200 drawn
/// batches 21 would have plans that are faster by more than 0.5 % (0.03 % in the mean of all, 5 % at most), and the
/// slowest choices take a third of the time.
constexpr double kHopeless = 0.07;
constexpr double kLeastHopeless = -0.02;
constexpr double kHopelessPerList = 0.01 / 600;
constexpr double kListsOfPlan = 16;  ///< what a plan takes besides its lists

/// The search ends with a plan that takes no more than so many times what reading K and V does.
constexpr double kEnough = 1.035;

/// Mean tokens of an item up to which it is three steps of a warp at most.
constexpr std::int64_t kShortItem = 48;

constexpr double kNever = std::numeric_limits<double>::infinity();

/// Waves of equal lists between which a part of the second wave may all go to one side of the chip, and places to an SM
/// from which on it does. ctas_of_sm: of all waves.
constexpr double kPartWave = 1.25;
constexpr double kWholeWave = 1.95;
constexpr double kManyPlaces = 4;
bool leaves_a_side_behind(const Prediction& one, double ctas_of_sm) {
  const double waves = one.timeline.waves;
  if (waves <= kPartWave || waves >= kWholeWave || ctas_of_sm < kManyPlaces * waves) return false;
  const std::vector<schedules::Item>& items = one.plan.items;
  return std::all_of(items.begin(), items.end(),
                     [&](const schedules::Item& item) { return item.tokens() == items.front().tokens(); });
}

/// Whether some clusters of a kernel without rings share their SMs, in one wave.
bool shares_sms(const Prediction& one, const simulator::Machine& machine) {
  const simulator::KernelProfile& kernel = one.kernel;
  return kernel.cluster >= 4 && kernel.most_tokens > 0 && one.timeline.waves <= 1 &&
         one.plan.lists() > simulator::resident_workers(machine, kernel.cluster, 1);
}

/// What choices are made by: the predicted time, and more where predictions of such plans have come out too fast. The
/// fastest of many predictions is a too fast one more often than not. Of what `auto` took of 240 batches drawn for an
/// H100, kernels without rings in several waves of clusters of four and more took 8 % longer than predicted in the
/// mean, rings in such clusters up to 10, and what was farthest behind but for these was a plan whose heads read K and
/// V again. Of 13 shapes of heads of 64 elements, plans whose heads' rows would have to be asked for in step on SMs
/// with several CTAs took 5 to 9 % longer. Of another 800 batches, on an H100 and an H200, ten in kernels without rings
/// in several waves of clusters took 8 % longer, of two CTAs 6, of more 12; and the choice was least behind where lists
/// of several items had to be 3 % faster. Of four judgements, 21 chosen lists of short items of a warp each took 11 %
/// longer in the mean; 56 measured ones, which took 7 % longer, take 2 % since their rows are counted. Of the same
/// judgements 42 chosen waves of clusters with several queries took 5 % longer, of single CTAs 2.5. Of 1,024 equal
/// lists on 660 places, five to an SM, the last 364 went to the side of the chip that ended first: 17 % longer than
/// reading K and V, where 5 were predicted, and 6 in kernels with three places to an SM. Of one wave of clusters
/// without rings those that share SMs came out up to 10 % too fast, 4 in the mean of 29.
double cautious_seconds(const Prediction& one, const simulator::Machine& machine, bool has_pairs) {
  const simulator::KernelProfile& kernel = one.kernel;
  const schedules::Timeline& timeline = one.timeline;
  if (kernel.config.empty()) return timeline.seconds;
  double doubt = 0;
  if (kernel.cluster >= 4 && kernel.most_tokens == 0) doubt += 0.01;
  if (kernel.cluster >= 2 && kernel.masked && !kernel.shares_tiles) doubt += 0.03;
  if (kernel.cluster >= 2 && kernel.most_tokens > 0 && timeline.waves > 1) doubt += kernel.cluster >= 4 ? 0.1 : 0.04;
  if (shares_sms(one, machine)) doubt += 0.06;
  const std::int64_t from_dram = timeline.traffic.kv_dram_read;
  if (from_dram > machine.l2_bytes && timeline.traffic.kv_l2_read > from_dram / 4) doubt += 0.05;
  const double ctas_of_sm = static_cast<double>(one.plan.ctas()) * kernel.cluster / kernel.kv_heads / machine.sms;
  if (has_pairs && kernel.kv_heads == 1 && ctas_of_sm > 1 && from_dram > machine.l2_bytes) doubt += 0.05;
  if (kernel.cluster == 1 && kernel.most_tokens == 0 && leaves_a_side_behind(one, ctas_of_sm)) doubt += 0.06;
  const std::size_t items = one.plan.items.size();
  if (kernel.most_tokens == 0 && items > static_cast<std::size_t>(one.plan.lists())) {
    std::int64_t tokens = 0;
    for (const schedules::Item& item : one.plan.items) tokens += item.tokens();
    const bool short_items = tokens < kShortItem * static_cast<std::int64_t>(items);
    doubt += kernel.warps_alone && short_items ? 0.06 : 0.03;
  }
  return timeline.seconds * (1 + doubt);
}

/// The two fastest of what was tried. Keeps references.
class Fastest {
 public:
  /// has_pairs: kernels for head pairs are among what is tried.
  explicit Fastest(const Target& target, bool has_pairs = false) : target_(target), has_pairs_(has_pairs) {}

  double seconds() const { return best_.seconds; }
  /// What takes longer than this changes nothing.
  double limit() const { return next_.seconds; }

  void offer(Prediction& candidate) {
    const Offer offered{&candidate, cautious_seconds(candidate, target_.machine, has_pairs_)};
    if (offered.seconds < best_.seconds) {
      next_ = std::exchange(best_, offered);
    } else if (offered.seconds < next_.seconds) {
      next_ = offered;
    }
  }
  /// Remembers why not, if it is refused.
  template <typename Action>
  void try_to(Action action) {
    try {
      action();
    } catch (const base::InputError& error) {
      if (refused_.empty()) refused_ = error.what();
    }
  }

  /// The fastest, with the reason.
  Prediction take() && {
    Prediction* const best = best_.prediction;
    if (best == nullptr) {
      throw base::InputError(fmt::format("auto: no schedule can serve the workload, for example: {}", refused_));
    }
    best->plan.reason = reason_of(*best, next_.prediction, target_);
    best->by_auto = true;
    return std::move(*best);
  }

 private:
  struct Offer {
    Prediction* prediction = nullptr;
    double seconds = kNever;  ///< cautious_seconds()
  };

  const Target& target_;
  bool has_pairs_ = false;
  Offer best_;
  Offer next_;
  std::string refused_;
};

/// Looks for the fastest candidate, in the order in which they are expected to be: one whose guess needed no plan is
/// planned, and one whose guess is its plan's is simulated.
class Search {
 public:
  Search(const workloads::Workload& workload, const Target& target, const PredictOptions& options,
         const std::vector<simulator::KernelProfile>& kernels)
      : workload_(workload),
        target_(target),
        options_(options),
        candidates_(candidates(workload, target.machine, kernels, simulate_options(target, options))),
        enough_seconds_(kEnough * reading_seconds(workload, target.machine, kernels, options.l2)),
        fastest_(target, std::any_of(kernels.begin(), kernels.end(),
                                     [](const simulator::KernelProfile& kernel) { return kernel.kv_heads > 1; })) {}

  Prediction fastest() {
    while (fastest_.seconds() > enough_seconds_) {
      double planned = kNever;
      double unplanned = kNever;
      if (!waiting_.empty()) planned = waiting_.front()->seconds().expected;
      if (next_ < candidates_.size() && planned_ < kMostPlanned) unplanned = candidates_[next_].seconds.expected;
      if (std::min(planned, unplanned) >= hopeless_seconds()) break;
      // Of plans that are good enough the first one is, unless another is expected to be faster by what counts.
      const double ahead = planned <= enough_seconds_ ? 1 + kSettled : 1;
      if (unplanned * ahead < planned) {
        plan(candidates_[next_++]);
      } else {
        simulate_first();
      }
    }
    return std::move(fastest_).take();
  }

 private:
  static bool later(const Trial* a, const Trial* b) { return a->seconds().expected > b->seconds().expected; }
  double settled_seconds() const { return fastest_.seconds() / (1 + kSettled); }
  double hopeless_seconds() const {
    return (1 + std::max(kLeastHopeless, kHopeless - kHopelessPerList * tried_lists_)) * fastest_.seconds();
  }

  void plan(const Candidate& candidate) {
    if (candidate.seconds.least >= settled_seconds()) return;
    ++planned_;
    fastest_.try_to([&] {
      Trial& trial = trials_.emplace_back(workload_, candidate, target_, options_);
      const auto is_known = [&](const Trial& other) { return &other != &trial && other.is_same(trial); };
      if (!trial.runs() || std::any_of(trials_.begin(), trials_.end(), is_known)) return trials_.pop_back();
      tried_lists_ += kListsOfPlan + 0.25 * trial.prediction().plan.lists();
      waiting_.push_back(&trial);
      std::push_heap(waiting_.begin(), waiting_.end(), later);
    });
  }
  void simulate_first() {
    std::pop_heap(waiting_.begin(), waiting_.end(), later);
    Trial& trial = *waiting_.back();
    waiting_.pop_back();
    if (trial.seconds().least >= settled_seconds()) return;
    tried_lists_ += trial.prediction().plan.lists();
    if (trial.simulate(settled_seconds())) fastest_.offer(trial.prediction());
  }

  const workloads::Workload& workload_;
  const Target& target_;
  const PredictOptions& options_;
  std::vector<Candidate> candidates_;
  double enough_seconds_ = 0;
  std::size_t next_ = 0;  ///< of the candidates
  std::size_t planned_ = 0;
  double tried_lists_ = 0;       ///< simulated and, as far as they count, planned
  std::deque<Trial> trials_;     ///< different plans
  std::vector<Trial*> waiting_;  ///< a heap of those that are not simulated yet
  Fastest fastest_;
};

/// What a list of one item takes besides its tokens.
double fixed_seconds(const simulator::KernelProfile& kernel) {
  return kernel.prologue_seconds + kernel.epilogue_seconds;
}

/// Of all that are not for single items alone.
double least_fixed_seconds(const std::vector<simulator::KernelProfile>& kernels) {
  double least = kNever;
  for (const simulator::KernelProfile& kernel : kernels) {
    if (kernel.most_tokens == 0) least = std::min(least, fixed_seconds(kernel));
  }
  return least;
}

/// The configs of the target's kernel that hold the workload's rows, and those that hold one query head's. Of more rows
/// than any holds, in blocks, also those of half as many: their last block may have fewer rows of none. So too, and of
/// a quarter, of latent attention, whose kernels for many rows are slow to begin and to end an item. Where all that
/// hold the rows are slow to end an item, for they spill, also those for more rows that take less than half the time.
std::vector<simulator::KernelProfile> configs_of(const workloads::Workload& workload, const Target& target) {
  if (!target.kernel || target.cpu) return {};
  const std::int32_t queries = std::max(1, workloads::max_query_len(workload));
  const std::int32_t rows = workload.geometry.group() * queries;
  std::vector<simulator::KernelProfile> all = simulator::alternatives(*target.kernel, workload, target.machine, rows);
  if (all.empty()) return all;
  const std::int32_t most = all.front().most_rows;
  const auto add = [&](std::int32_t held) {
    const std::int32_t least = all.back().most_rows;
    for (simulator::KernelProfile& kernel : simulator::alternatives(*target.kernel, workload, target.machine, held)) {
      if (kernel.most_rows < least) all.push_back(std::move(kernel));
    }
  };
  const bool latent = workload.geometry.kind == workloads::AttentionKind::mla;
  if (rows > most || latent) add(most / 2);
  if (latent) add(most / 4);
  if (queries > 1) add(queries);
  const double half = 0.5 * least_fixed_seconds(all);
  for (simulator::KernelProfile& kernel : simulator::alternatives(*target.kernel, workload, target.machine, most + 1)) {
    const bool larger = kernel.most_rows > most && kernel.most_tokens == 0;
    if (larger && fixed_seconds(kernel) < half) all.push_back(std::move(kernel));
  }
  for (simulator::KernelProfile& kernel : simulator::pair_alternatives(*target.kernel, workload, target.machine)) {
    all.push_back(std::move(kernel));
  }
  return all;
}

}  // namespace

Prediction choose(const workloads::Workload& workload, const Target& target, const PredictOptions& options) {
  const std::vector<simulator::KernelProfile> kernels = configs_of(workload, target);
  if (!kernels.empty()) return Search(workload, target, options, kernels).fastest();
  Fastest fastest(target);
  std::deque<Prediction> made;
  for (const std::string& name : schedules::default_names({&workload, 1})) {
    fastest.try_to([&] {
      std::optional<Prediction> one = predict_within(fastest.limit(), workload, name, target, options);
      if (one) fastest.offer(made.emplace_back(std::move(*one)));
    });
  }
  return std::move(fastest).take();
}

std::vector<std::string> chosen_schedules(const std::vector<std::string>& given,
                                          std::span<const workloads::Workload> workloads,
                                          std::span<const Target> targets) {
  std::string refused;
  std::vector<std::string> names;
  for (const std::string& name : given.empty() ? schedules::default_names(workloads) : given) {
    refused = name == kAuto ? "" : refusal(name, workloads, targets);
    if (!refused.empty() && !given.empty()) throw base::InputError(refused);
    if (refused.empty()) names.push_back(name);
  }
  if (names.empty()) throw base::InputError(refused);
  return names;
}

}  // namespace splitwave::studies
