// SPDX-License-Identifier: Apache-2.0
#include "studies/sweep_evaluate.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <iterator>
#include <mutex>
#include <new>
#include <optional>
#include <thread>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/parallel.h"
#include "schedules/schedules.h"
#include "studies/choose.h"
#include "studies/predict.h"
#include "studies/sweep_fields.h"
#include "studies/sweep_line.h"

namespace splitwave::studies {
namespace {

/// A value by key, made when first asked for. Forgets everything when its budget is spent: a sweep comes back to recent
/// keys, and what is made again is the same.
template <typename Value>
class Memo {
 public:
  explicit Memo(std::size_t budget) : budget_(budget) {}

  template <typename Make>
  Value& get(std::int64_t key, Make make) {
    const auto found = values_.find(key);
    if (found != values_.end()) return found->second;
    if (spent_ >= budget_) {
      values_.clear();
      spent_ = 0;
    }
    ++spent_;
    return values_.emplace(key, make()).first->second;
  }

  /// Counts memory of a value beyond the one unit that each costs.
  void charge(std::size_t units) { spent_ += units; }

 private:
  std::size_t budget_;
  std::size_t spent_ = 0;
  std::unordered_map<std::int64_t, Value> values_;
};

/// A part of a point that could be made, or the reason why not.
template <typename Value>
struct Attempt {
  Value value;
  std::string name;     ///< quoted for JSON
  std::string failure;  ///< empty if the value is good
};

/// A plan and what it was made for.
struct PlanFor {
  schedules::Grid grid;
  std::string schedule;  ///< quoted for JSON
  schedules::Plan plan;
  std::string failure;
  bool made = false;
};

}  // namespace

/// One thread's evaluator, with what it keeps between points.
class SweepEvaluator::Worker {
 public:
  Worker(const SweepSpace& space, const std::string& tail)
      : space_(space),
        tail_(tail),
        setters_(setters<SetWorkload>(space), setters<SetMachine>(space), setters<SetKernel>(space),
                 setters<SetSchedule>(space)) {
    if (std::get<Setters<SetKernel>>(setters_).empty()) return;
    options_.edit_kernel = [this](simulator::KernelProfile& kernel, const schedules::Plan*) {
      apply<SetKernel>(kernel);
    };
  }
  Worker(const Worker&) = delete;  // the options know where it is
  Worker& operator=(const Worker&) = delete;

  void append_line(std::int64_t index, std::string& out) {
    point_at(space_, index, point_);
    const Attempt<workloads::Workload>& workload =
        workloads_.get(point_.workload_key, [this] { return make_workload(); });
    const Attempt<Target>& target = targets_.get(point_.target_key, [this] { return make_target(); });
    const ScheduleSettings settings = make_settings(target.value);
    PlanFor& plan = plans_.get(point_.plan_key, [&] { return make_name(settings); });
    describe_axes();
    const LineNames names{workload.name, plan.schedule, target.name, tail_, axes_};
    const std::string& broken = workload.failure.empty() ? target.failure : workload.failure;
    if (!broken.empty()) return append_failure(out, names, broken);
    try {
      append_prediction(workload.value, target.value, settings, plan, names, out);
    } catch (const base::InputError& error) {
      append_failure(out, names, error.what());
    }
  }

 private:
  void append_prediction(const workloads::Workload& workload, const Target& target, const ScheduleSettings& settings,
                         PlanFor& plan, const LineNames& names, std::string& out) {
    std::optional<Target> with_settings;
    if (settings.ctas_per_sm != target.ctas_per_sm) {
      with_settings = target;
      with_settings->ctas_per_sm = settings.ctas_per_sm;
    }
    const Target& meant = with_settings ? *with_settings : target;
    options_.tile_q = settings.tile_q;
    options_.tile_kv = settings.tile_kv;
    if (space_.schedules[point_.schedule] == kAuto) {
      Prediction best = choose(workload, meant, options_);
      const Simulated met{std::move(best.kernel), std::move(best.timeline)};
      return append_result(out, names, minimal_bytes(workload), best.plan, met, true);
    }
    const std::string& schedule = schedule_name(settings);
    if (auto made = predict_on_fastest_config(workload, schedule, meant, options_)) {
      const Simulated met{std::move(made->kernel), std::move(made->timeline)};
      return append_result(out, names, minimal_bytes(workload), made->plan, met, false);
    }
    update(plan, schedule, workload, grid_for(workload, schedule, meant, options_));
    if (!plan.failure.empty()) return append_failure(out, names, plan.failure);
    const Simulated met = simulate_plan(workload, plan.plan, meant, options_);
    append_result(out, names, minimal_bytes(workload), plan.plan, met, false);
  }

  // Units are about 100 bytes: of a request, an item, a target.
  static constexpr std::size_t kWorkloadBudget = 1 << 18;
  static constexpr std::size_t kTargetBudget = 1 << 10;
  static constexpr std::size_t kPlanBudget = 1 << 20;

  /// How the axes of one kind are set, in the order of the table of fields.
  template <typename Setter>
  using Setters = std::vector<std::pair<Setter, std::size_t>>;

  template <typename Setter>
  static Setters<Setter> setters(const SweepSpace& space) {
    Setters<Setter> result;
    for (std::size_t field = 0; field < sweep_fields().size(); ++field) {
      const auto* setter = std::get_if<Setter>(&sweep_fields()[field].set);
      for (std::size_t axis = 0; setter != nullptr && axis < space.axes.size(); ++axis) {
        if (space.fields[axis] == field) result.emplace_back(*setter, axis);
      }
    }
    return result;
  }

  /// Applies this point's values of one kind.
  template <typename Setter, typename Thing>
  void apply(Thing& thing) const {
    for (const auto& [set, axis] : std::get<Setters<Setter>>(setters_)) {
      set(thing, space_.axes[axis].values[point_.values[axis]]);
    }
  }

  /// "base (batch=8, context=4096)" with the axes of one kind, as --sms and its like are named.
  template <typename Setter>
  std::string swept_name(const std::string& base) const {
    std::string name = base;
    for (const auto& [set, axis] : std::get<Setters<Setter>>(setters_)) {
      name += name.size() == base.size() ? " (" : ", ";
      name += space_.axes[axis].key + '=' + space_.axes[axis].values[point_.values[axis]].text;
    }
    return name.size() == base.size() ? name : name + ')';
  }

  Attempt<workloads::Workload> make_workload() {
    const workloads::Workload& base = space_.workloads[point_.workload];
    Attempt<workloads::Workload> result{base, json_string(swept_name<SetWorkload>(base.name)), ""};
    try {
      apply<SetWorkload>(result.value);
      validate(result.value);
    } catch (const base::InputError& error) {
      result.failure = error.what();
    }
    workloads_.charge(result.value.requests.size());
    return result;
  }

  Attempt<Target> make_target() const {
    const Target& base = space_.targets[point_.target];
    Attempt<Target> result{base, json_string(swept_name<SetMachine>(base.name)), ""};
    try {
      apply<SetMachine>(result.value.machine);
    } catch (const base::InputError& error) {
      result.failure = error.what();
    }
    return result;
  }

  ScheduleSettings make_settings(const Target& target) const {
    ScheduleSettings settings;
    settings.ctas_per_sm = target.ctas_per_sm;
    apply<SetSchedule>(settings);
    return settings;
  }

  const std::string& schedule_name(const ScheduleSettings& settings) {
    if (settings.argument == 0) return space_.schedules[point_.schedule];
    schedule_ = fmt::format("{}:{}", space_.schedules[point_.schedule], settings.argument);
    return schedule_;
  }

  PlanFor make_name(const ScheduleSettings& settings) {
    PlanFor plan;
    plan.schedule = json_string(schedule_name(settings));
    return plan;
  }

  void update(PlanFor& plan, const std::string& schedule, const workloads::Workload& workload,
              const schedules::Grid& grid) {
    if (plan.made && plan.grid == grid) return;
    plan.failure.clear();
    plan.grid = grid;
    plan.made = true;
    try {
      plan.plan = schedules::make_plan(schedule, workload, grid);
      plans_.charge(plan.plan.items.size() + plan.plan.outputs.size());
    } catch (const base::InputError& error) {
      plan.failure = error.what();
    }
  }

  /// {"context":4096,"dtype":"f16"}
  void describe_axes() {
    axes_ = "{";
    for (std::size_t axis = 0; axis < space_.axes.size(); ++axis) {
      const AxisValue& value = space_.axes[axis].values[point_.values[axis]];
      if (axis > 0) axes_ += ',';
      axes_ += '"' + space_.axes[axis].key + "\":";
      axes_ += space_.axes[axis].type == AxisType::text ? json_string(value.text) : value.text;
    }
    axes_ += '}';
  }

  const SweepSpace& space_;
  const std::string& tail_;
  const std::tuple<Setters<SetWorkload>, Setters<SetMachine>, Setters<SetKernel>, Setters<SetSchedule>> setters_;
  PredictOptions options_;
  SweepPoint point_;
  std::string schedule_;
  std::string axes_;
  Memo<Attempt<workloads::Workload>> workloads_{kWorkloadBudget};
  Memo<Attempt<Target>> targets_{kTargetBudget};
  Memo<PlanFor> plans_{kPlanBudget};
};

/// Threads that live as long as the evaluator, because the simulator keeps its tables per thread.
class SweepEvaluator::Team {
 public:
  Team(const SweepSpace& space, int threads, const std::string& commit, const std::string& version)
      : tail_(fmt::format(R"("commit":{},"version":{})", json_string(commit), json_string(version))) {
    threads_ = base::start_threads(threads, [this, &space] { work(space); });
    if (threads_.empty()) throw std::bad_alloc();
  }

  ~Team() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  std::string lines(std::int64_t begin, std::int64_t end) {
    std::unique_lock lock(mutex_);
    begin_ = begin;
    end_ = end;
    blocks_.resize(static_cast<std::size_t>((end - begin + kBlock - 1) / kBlock));
    next_ = 0;
    busy_ = threads_.size();
    ++round_;
    wake_.notify_all();
    done_.wait(lock, [this] { return busy_ == 0; });
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
    std::size_t size = 0;
    for (const std::string& block : blocks_) size += block.size();
    std::string all;
    all.reserve(size);
    for (const std::string& block : blocks_) all += block;
    return all;
  }

 private:
  static constexpr std::int64_t kBlock = 32;  ///< points that a thread takes at a time

  void work(const SweepSpace& space) {
    std::optional<Worker> worker;
    std::int64_t seen = 0;
    while (true) {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return stopping_ || round_ != seen; });
      if (stopping_) return;
      seen = round_;
      lock.unlock();
      const std::exception_ptr error = take_blocks(space, worker);
      lock.lock();
      if (error) error_ = error;
      if (--busy_ == 0) done_.notify_one();
    }
  }

  std::exception_ptr take_blocks(const SweepSpace& space, std::optional<Worker>& worker) {
    try {
      if (!worker) worker.emplace(space, tail_);
      for (std::size_t block = next_++; block < blocks_.size(); block = next_++) {
        const std::int64_t first = begin_ + static_cast<std::int64_t>(block) * kBlock;
        blocks_[block].clear();
        for (std::int64_t i = first; i < std::min(first + kBlock, end_); ++i) worker->append_line(i, blocks_[block]);
      }
      return nullptr;
    } catch (...) {
      next_ = blocks_.size();  // the others need not go on
      return std::current_exception();
    }
  }

  std::string tail_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable done_;
  std::int64_t begin_ = 0;
  std::int64_t end_ = 0;
  std::vector<std::string> blocks_;  ///< kept between calls for their memory
  std::atomic<std::size_t> next_ = 0;
  std::size_t busy_ = 0;
  std::int64_t round_ = 0;
  bool stopping_ = false;
  std::exception_ptr error_;
  std::vector<std::thread> threads_;
};

SweepEvaluator::SweepEvaluator(const SweepSpace& space, int threads, const std::string& commit,
                               const std::string& version)
    : team_(std::make_unique<Team>(space, threads, commit, version)) {}

SweepEvaluator::~SweepEvaluator() = default;

std::string SweepEvaluator::lines(std::int64_t begin, std::int64_t end) {
  return team_->lines(begin, end);
}

}  // namespace splitwave::studies
