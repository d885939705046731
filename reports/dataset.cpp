// SPDX-License-Identifier: Apache-2.0
#include "reports/dataset.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <string_view>
#include <tuple>

#include "base/error.h"
#include "schedules/schedules.h"
#include "workloads/load.h"

namespace splitwave::reports {
namespace {

double number(const std::optional<double>& value) {
  return value.value_or(kAbsent);
}

double number(const std::optional<std::int64_t>& value) {
  return value ? static_cast<double>(*value) : kAbsent;
}

/// Orders numbers with the absent ones first.
bool before(double a, double b) {
  return std::isnan(a) ? !std::isnan(b) : a < b;
}

constexpr double Point::*kNumberMembers[] = {&Point::seconds, &Point::low_seconds, &Point::high_seconds,
                                             &Point::bytes,   &Point::num_splits,  &Point::ctas,
                                             &Point::waves,   &Point::occupancy,   &Point::merge_seconds,
                                             &Point::joules,  &Point::speed_up,    &Point::relative_l2};
constexpr std::uint32_t Point::*kNameMembers[] = {&Point::workload, &Point::schedule, &Point::machine,
                                                  &Point::executor, &Point::kernel,   &Point::chosen,
                                                  &Point::failure,  &Point::over,     &Point::axes};

bool point_before(const Point& a, const Point& b) {
  for (const auto text : kNameMembers) {
    if (a.*text != b.*text) return a.*text < b.*text;
  }
  for (const auto value : kNumberMembers) {
    if (before(a.*value, b.*value)) return true;
    if (before(b.*value, a.*value)) return false;
  }
  return false;
}

/// Place of a schedule's family in the project's table; names that are not in it come last.
std::size_t place_in_table(std::string_view schedule) {
  const std::string_view family = schedule.substr(0, schedule.find_first_of(":+ "));
  const auto table = schedules::all();
  const auto found = std::find_if(table.begin(), table.end(), [&](const auto& one) { return one.name == family; });
  return static_cast<std::size_t>(found - table.begin());
}

/// "a2" before "a10".
bool naturally_before(std::string_view a, std::string_view b) {
  std::size_t i = 0;
  std::size_t j = 0;
  const auto digit = [](char letter) { return letter >= '0' && letter <= '9'; };
  while (i < a.size() && j < b.size()) {
    if (digit(a[i]) && digit(b[j])) {
      const std::size_t i_end = std::min(a.find_first_not_of("0123456789", i), a.size());
      const std::size_t j_end = std::min(b.find_first_not_of("0123456789", j), b.size());
      const auto left = std::pair(i_end - i, a.substr(i, i_end - i));
      const auto right = std::pair(j_end - j, b.substr(j, j_end - j));
      if (left != right) return left < right;
      i = i_end;
      j = j_end;
    } else {
      if (a[i] != b[j]) return a[i] < b[j];
      ++i;
      ++j;
    }
  }
  return a.size() - i < b.size() - j;
}

}  // namespace

Shape shape_of(const workloads::Workload& workload) {
  const workloads::Geometry& g = workload.geometry;
  Shape shape{static_cast<std::int32_t>(workload.requests.size()),
              workloads::max_query_len(workload),
              g.query_heads,
              g.kv_heads,
              g.head_dim,
              0,
              0,
              workloads::flops(workload)};
  for (const workloads::Request& request : workload.requests) {
    shape.mean_context += static_cast<double>(request.context_len) / static_cast<double>(workload.requests.size());
    shape.max_context = std::max(shape.max_context, request.context_len);
  }
  const bool uniform =
      std::all_of(workload.requests.begin(), workload.requests.end(),
                  [&](const workloads::Request& request) { return request.context_len == shape.max_context; });
  if (uniform) shape.mean_context = shape.max_context;  // exactly
  return shape;
}

Shapes::Shapes(std::span<const workloads::Workload> known) {
  for (const workloads::Workload& workload : known) shapes_.emplace(workload.name, shape_of(workload));
  for (const std::string& suite : workloads::suite_names()) {
    for (const workloads::Workload& workload : workloads::load(suite)) {
      shapes_.emplace(workload.name, shape_of(workload));
    }
  }
}

std::optional<Shape> Shapes::find(const std::string& workload) const {
  if (const auto found = shapes_.find(workload); found != shapes_.end()) return found->second;
  // Only what can be a spec is tried: a million names that are none would each cost an exception.
  if (workload.find(':') == std::string::npos || workload.find("...") != std::string::npos) return std::nullopt;
  try {
    return shape_of(workloads::parse_spec(workload));
  } catch (const base::InputError&) {
    return std::nullopt;
  }
}

const Shape* Dataset::shape(const Point& point) const {
  const std::optional<Shape>& found = shapes_[point.workload];
  return found ? &*found : nullptr;
}

std::vector<PointPair> Dataset::pairs() const& {
  // Points of one workload, schedule and machine lie side by side; within them each side is in the points' order.
  std::vector<PointPair> pairs;
  const auto same = [](const Point& a, const Point& b) {
    return std::tie(a.workload, a.schedule, a.machine) == std::tie(b.workload, b.schedule, b.machine);
  };
  for (std::size_t begin = 0; begin < points_.size();) {
    std::size_t end = begin;
    std::vector<const Point*> predicted;
    std::vector<const Point*> measured;
    for (; end < points_.size() && same(points_[begin], points_[end]); ++end) {
      if (points_[end].timed()) (points_[end].predicted ? predicted : measured).push_back(&points_[end]);
    }
    for (std::size_t i = 0; i < std::min(predicted.size(), measured.size()); ++i) {
      pairs.push_back({predicted[i], measured[i]});
    }
    begin = end;
  }
  std::map<std::uint32_t, std::size_t> place;
  for (const std::uint32_t schedule : schedules_) place.emplace(schedule, place.size());
  std::stable_sort(pairs.begin(), pairs.end(), [&](const PointPair& a, const PointPair& b) {
    return place[a.measured->schedule] < place[b.measured->schedule];
  });
  return pairs;
}

DatasetBuilder::DatasetBuilder() {
  index_of(std::string());
}

std::uint32_t DatasetBuilder::index_of(const std::string& name) {
  const auto [found, added] = indices_.emplace(name, static_cast<std::uint32_t>(indices_.size()));
  if (added) data_.names_.push_back(name);
  return found->second;
}

std::uint32_t DatasetBuilder::index_of(const std::optional<std::string>& name) {
  return name ? index_of(*name) : 0;  // that of the empty text
}

void DatasetBuilder::add(const Record& record) {
  Point point;
  point.workload = index_of(record.workload);
  point.schedule = index_of(record.schedule);
  point.executor = index_of(record.executor);
  point.machine = index_of(record.machine);
  point.chosen = index_of(record.chosen);
  point.kernel = index_of(record.kernel);
  point.failure = index_of(record.failure);
  point.axes = index_of(record.axes);
  point.predicted = record.executor == kSimulator;
  point.seconds = number(record.seconds);
  point.low_seconds = number(record.seconds_p20);
  point.high_seconds = number(record.seconds_p80);
  point.bytes = number(record.bytes);
  point.num_splits = number(record.num_splits);
  point.ctas = number(record.ctas);
  point.waves = number(record.waves);
  point.occupancy = number(record.occupancy);
  point.joules = number(record.joules);
  if (record.breakdown) point.merge_seconds = record.breakdown->merge;
  if (record.speed_up) {
    point.over = index_of(record.speed_up->over);
    point.speed_up = record.speed_up->median;
  }
  if (record.error) point.relative_l2 = record.error->relative_l2;
  if (record.stages) {
    point.stages = static_cast<std::int32_t>(data_.stages_.size());
    data_.stages_.push_back(*record.stages);
  }
  data_.points_.push_back(point);
  if (record.io) data_.io_.push_back({point.workload, point.schedule, *record.io});
  if (!record.commit.empty()) data_.commits_.insert(record.commit + " (" + record.version + ")");
  if (record.device) {
    data_.devices_.insert(record.driver ? *record.device + ", driver " + *record.driver : *record.device);
  }
}

Dataset DatasetBuilder::finish(const Shapes& shapes) && {
  // Names in their own order, so that the order of their indices is that of their texts.
  std::vector<std::uint32_t> order(data_.names_.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    const std::string& left = data_.names_[a];
    const std::string& right = data_.names_[b];
    if (naturally_before(left, right)) return true;
    return !naturally_before(right, left) && left < right;
  });
  std::vector<std::uint32_t> place(order.size());
  std::vector<std::string> names(order.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) {
    place[order[i]] = i;
    names[i] = std::move(data_.names_[order[i]]);
  }
  data_.names_ = std::move(names);
  indices_.clear();
  data_.shapes_.resize(data_.names_.size());
  std::vector<bool> asked(data_.names_.size());
  std::set<std::uint32_t> schedules;
  for (Point& point : data_.points_) {
    for (const auto text : kNameMembers) point.*text = place[point.*text];
    if (!asked[point.workload]) data_.shapes_[point.workload] = shapes.find(data_.names_[point.workload]);
    asked[point.workload] = true;
    if (point.timed()) schedules.insert(point.schedule);
  }
  for (IoPoint& point : data_.io_) {
    point.workload = place[point.workload];
    point.algorithm = place[point.algorithm];
  }
  // Requests that differ in nothing but their stages are told apart by these.
  const auto stages_before = [&](const Point& a, const Point& b) {
    if (a.stages < 0 || b.stages < 0) return a.stages < b.stages;
    return data_.stages_[static_cast<std::size_t>(a.stages)] < data_.stages_[static_cast<std::size_t>(b.stages)];
  };
  std::sort(data_.points_.begin(), data_.points_.end(), [&](const Point& a, const Point& b) {
    return point_before(a, b) || (!point_before(b, a) && stages_before(a, b));
  });
  std::sort(data_.io_.begin(), data_.io_.end(), [](const IoPoint& a, const IoPoint& b) {
    return std::tuple(a.workload, a.algorithm, a.io.total()) < std::tuple(b.workload, b.algorithm, b.io.total());
  });
  data_.schedules_.assign(schedules.begin(), schedules.end());
  std::stable_sort(data_.schedules_.begin(), data_.schedules_.end(), [&](std::uint32_t a, std::uint32_t b) {
    return place_in_table(data_.names_[a]) < place_in_table(data_.names_[b]);
  });
  return std::move(data_);
}

Dataset dataset_of(std::span<const Record> records, const Shapes& shapes) {
  DatasetBuilder builder;
  for (const Record& record : records) builder.add(record);
  return std::move(builder).finish(shapes);
}

BaselineTimes::BaselineTimes(const Dataset& data, const std::string& schedule) : data_(data), schedule_(schedule) {
  for (const Point& point : data.points()) {
    if (point.timed() && data.name(point.schedule) == schedule) points_.emplace(mixed(point), &point);
  }
}

std::uint64_t BaselineTimes::mixed(const Point& point) {
  return ((std::uint64_t{point.workload} << 32) ^ (std::uint64_t{point.executor} << 16)) + point.machine;
}

const Point* BaselineTimes::of(const Point& point) const {
  const auto [begin, end] = points_.equal_range(mixed(point));
  const Point* first = nullptr;
  for (auto one = begin; one != end; ++one) {
    const Point& base = *one->second;
    if (std::tie(base.workload, base.executor, base.machine) !=
        std::tie(point.workload, point.executor, point.machine)) {
      continue;
    }
    if (first == nullptr || &base < first) first = &base;
  }
  return first;
}

double BaselineTimes::speed_up(const Point& point) const {
  if (!std::isnan(point.speed_up) && data_.name(point.over) == schedule_) return point.speed_up;
  const Point* const base = of(point);
  return base == nullptr || !point.timed() ? kAbsent : base->seconds / point.seconds;
}

std::string default_baseline(const Dataset& data) {
  const auto& schedules = data.schedules();
  for (const std::uint32_t schedule : schedules) {
    if (data.name(schedule) == "fixed-split:fa2") return data.name(schedule);
  }
  for (const std::uint32_t schedule : schedules) {
    if (data.name(schedule).starts_with("fixed-split")) return data.name(schedule);
  }
  return schedules.empty() ? "" : data.name(schedules.front());
}

}  // namespace splitwave::reports
