// SPDX-License-Identifier: Apache-2.0
#include "studies/sweep_space.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "schedules/schedules.h"
#include "studies/choose.h"
#include "studies/sweep_fields.h"

namespace splitwave::studies {
namespace {

using base::InputError;

/// Words are checked once, before anything is computed: a misspelt dtype is bad usage, not an infeasible point.
void check_words(const SweepField& field, const Axis& axis, const workloads::Workload& base) {
  const auto* set = std::get_if<SetWorkload>(&field.set);
  if (axis.type != AxisType::text || set == nullptr) return;
  for (const AxisValue& value : axis.values) {
    workloads::Workload scratch = base;
    (*set)(scratch, value);
  }
}

void add_axis(SweepSpace& space, const std::string& argument) {
  const AxisText text = split_axis(argument);
  const std::size_t field = find_field(text.key);
  if (std::find(space.fields.begin(), space.fields.end(), field) != space.fields.end()) {
    throw InputError(fmt::format("--axis {}: the field has two axes; allowed: one", text.key));
  }
  Axis axis = parse_axis(sweep_fields()[field].domain, text.values);
  check_words(sweep_fields()[field], axis, space.workloads.front());
  space.axes.push_back(std::move(axis));
  space.fields.push_back(field);
}

bool has_axis(const SweepSpace& space, std::string_view field) {
  return std::any_of(space.axes.begin(), space.axes.end(), [&](const Axis& axis) { return axis.key == field; });
}

/// auto chooses among whole schedules with their own kernels and tiles: there is nothing to vary within it.
void check_auto(const SweepSpace& space) {
  for (const std::size_t index : space.fields) {
    const SweepField& field = sweep_fields()[index];
    const bool fixed = std::holds_alternative<SetKernel>(field.set) || std::holds_alternative<SetSchedule>(field.set);
    if (fixed && field.domain.name != "ctas_per_sm") {
      throw InputError(
          fmt::format("--axis {}: does not apply to --schedule auto; allowed: a schedule by name", field.domain.name));
    }
  }
}

/// The schedules that are swept. With an axis of arguments the names lack theirs, and are tried with the argument 1;
/// which values of the axis can be served is told point by point.
std::vector<std::string> swept_schedules(const SweepSpace& space, const std::vector<std::string>& given) {
  if (given.empty() || !has_axis(space, "schedule_argument")) return chosen_schedules(given, space.workloads);
  for (const std::string& name : given) {
    if (name == kAuto) continue;
    try {
      chosen_schedules({name + ":1"}, space.workloads);
    } catch (const InputError& error) {
      throw InputError(fmt::format("--axis schedule_argument: does not apply to --schedule {}: {}",
                                   base::printable(name), error.what()));
    }
  }
  return given;
}

}  // namespace

SweepSpace make_space(std::vector<Target> targets, std::vector<workloads::Workload> workloads,
                      const std::vector<std::string>& axes, const std::vector<std::string>& schedules) {
  if (targets.empty() || workloads.empty()) {
    throw InputError("sweep: nothing to do; allowed: at least one machine and one workload");
  }
  SweepSpace space;
  space.targets = std::move(targets);
  space.workloads = std::move(workloads);
  for (const std::string& axis : axes) add_axis(space, axis);
  space.schedules = swept_schedules(space, schedules);
  if (std::find(space.schedules.begin(), space.schedules.end(), kAuto) != space.schedules.end()) check_auto(space);
  double count = 1;
  for (const Axis& axis : space.axes) count *= static_cast<double>(axis.values.size());
  count *= static_cast<double>(space.targets.size() * space.workloads.size() * space.schedules.size());
  if (count > static_cast<double>(kMaxSweepPoints)) {
    throw InputError(fmt::format("sweep: the axes make {:.3g} points; allowed: at most {}", count, kMaxSweepPoints));
  }
  return space;
}

std::int64_t points(const SweepSpace& space) {
  std::size_t count = space.targets.size() * space.workloads.size() * space.schedules.size();
  for (const Axis& axis : space.axes) count *= axis.values.size();
  return static_cast<std::int64_t>(count);
}

void point_at(const SweepSpace& space, std::int64_t index, SweepPoint& point) {
  auto rest = static_cast<std::size_t>(index);
  const auto take = [&rest](std::size_t radix) {
    const std::size_t digit = rest % radix;
    rest /= radix;
    return digit;
  };
  point.schedule = take(space.schedules.size());
  point.values.resize(space.axes.size());
  for (std::size_t axis = space.axes.size(); axis-- > 0;) point.values[axis] = take(space.axes[axis].values.size());
  point.workload = take(space.workloads.size());
  point.target = take(space.targets.size());

  point.workload_key = static_cast<std::int64_t>(point.workload);
  point.target_key = static_cast<std::int64_t>(point.target);
  std::int64_t schedule_key = static_cast<std::int64_t>(point.schedule);
  std::int64_t schedule_keys = static_cast<std::int64_t>(space.schedules.size());
  for (std::size_t axis = 0; axis < space.axes.size(); ++axis) {
    const auto& set = sweep_fields()[space.fields[axis]].set;
    const auto radix = static_cast<std::int64_t>(space.axes[axis].values.size());
    const auto digit = static_cast<std::int64_t>(point.values[axis]);
    if (std::holds_alternative<SetWorkload>(set)) {
      point.workload_key = point.workload_key * radix + digit;
    } else if (std::holds_alternative<SetMachine>(set)) {
      point.target_key = point.target_key * radix + digit;
    } else if (std::holds_alternative<SetSchedule>(set)) {
      schedule_key = schedule_key * radix + digit;
      schedule_keys *= radix;
    }
  }
  point.plan_key = point.workload_key * schedule_keys + schedule_key;
}

}  // namespace splitwave::studies
