// SPDX-License-Identifier: Apache-2.0
// Records as figures need them: a million of them in a few hundred megabytes, in an order of their own, so that the
// same records give the same report in whatever order they come.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "reports/record.h"
#include "workloads/workload.h"

namespace splitwave::reports {

/// A number that a record does not have.
inline constexpr double kAbsent = std::numeric_limits<double>::quiet_NaN();

/// What figures need to know of a workload.
struct Shape {
  std::int32_t batch = 0;      ///< requests
  std::int32_t query_len = 1;  ///< of the longest query
  std::int32_t query_heads = 0;
  std::int32_t kv_heads = 0;
  std::int32_t head_dim = 0;
  double mean_context = 0;  ///< tokens
  std::int32_t max_context = 0;
  double flops = 0;
  /// Every context is the longest one.
  bool uniform() const { return mean_context == max_context; }
};

Shape shape_of(const workloads::Workload& workload);

/// Shapes by a workload's name: those of `known` and of the shipped suites, and of names that are one-line specs.
class Shapes {
 public:
  explicit Shapes(std::span<const workloads::Workload> known = {});
  /// None if nothing is known of the name.
  std::optional<Shape> find(const std::string& workload) const;

 private:
  std::map<std::string, Shape> shapes_;
};

/// One record. Texts are indices into Dataset::names; numbers that a record does not have are kAbsent.
struct Point {
  std::uint32_t workload = 0;
  std::uint32_t schedule = 0;
  std::uint32_t executor = 0;
  std::uint32_t machine = 0;
  std::uint32_t chosen = 0;   ///< empty: not by auto
  std::uint32_t kernel = 0;   ///< empty: none is named
  std::uint32_t failure = 0;  ///< empty: it ran
  std::uint32_t over = 0;     ///< the schedule of speed_up
  std::uint32_t axes = 0;     ///< Record::axes; empty: not of a sweep
  bool predicted = false;
  double seconds = kAbsent;
  double low_seconds = kAbsent;   ///< 20th percentile of the samples
  double high_seconds = kAbsent;  ///< 80th
  double bytes = kAbsent;
  double num_splits = kAbsent;
  double ctas = kAbsent;
  double waves = kAbsent;
  double occupancy = kAbsent;
  double merge_seconds = kAbsent;
  double joules = kAbsent;
  double speed_up = kAbsent;  ///< of runs in pairs, over `over`
  double relative_l2 = kAbsent;
  std::int32_t stages = -1;  ///< index into Dataset::stages(); -1: the time is of a call

  /// Has the time of a call, which is what schedules are compared by.
  bool timed() const { return seconds > 0 && stages < 0; }
};

/// Bytes that an algorithm moves, for the figure of `run --algorithm`.
struct IoPoint {
  std::uint32_t workload = 0;
  std::uint32_t algorithm = 0;
  RecordIo io;
};

/// A predicted and a measured point of the same workload, schedule and machine, both with a time.
struct PointPair {
  const Point* predicted = nullptr;
  const Point* measured = nullptr;
  /// (predicted - measured) / measured.
  double error() const { return predicted->seconds / measured->seconds - 1; }
};

class Dataset {
 public:
  const std::string& name(std::uint32_t index) const { return names_[index]; }
  /// In the order of their texts and numbers.
  std::span<const Point> points() const { return points_; }
  std::span<const IoPoint> io() const { return io_; }
  /// Of whole requests, by Point::stages.
  std::span<const RecordStages> stages() const { return stages_; }
  /// Of the point's workload, if anything is known of it.
  const Shape* shape(const Point& point) const;
  /// Commits, versions, devices with their drivers that the records name.
  const std::set<std::string>& commits() const { return commits_; }
  const std::set<std::string>& devices() const { return devices_; }
  /// Schedules of timed points, those of the project's table first and in its order, the others by name.
  const std::vector<std::uint32_t>& schedules() const { return schedules_; }
  /// Points in pairs as pair_up() makes them of records. Ordered by schedule. They point into the dataset.
  std::vector<PointPair> pairs() const&;
  std::vector<PointPair> pairs() && = delete;

 private:
  friend class DatasetBuilder;
  std::vector<std::string> names_;
  std::vector<Point> points_;
  std::vector<IoPoint> io_;
  std::vector<RecordStages> stages_;
  std::vector<std::optional<Shape>> shapes_;  ///< by name
  std::set<std::string> commits_;
  std::set<std::string> devices_;
  std::vector<std::uint32_t> schedules_;
};

/// Collects records in any order.
class DatasetBuilder {
 public:
  DatasetBuilder();
  void add(const Record& record);
  Dataset finish(const Shapes& shapes) &&;

 private:
  std::uint32_t index_of(const std::string& name);
  std::uint32_t index_of(const std::optional<std::string>& name);
  Dataset data_;
  std::unordered_map<std::string, std::uint32_t> indices_;
};

/// The dataset of records at hand.
Dataset dataset_of(std::span<const Record> records, const Shapes& shapes);

/// Times of one schedule, which others are set against; the same rule as Baseline's for records.
class BaselineTimes {
 public:
  BaselineTimes(const Dataset& data, const std::string& schedule);
  /// kAbsent if the baseline or the point has no time.
  double speed_up(const Point& point) const;
  /// The baseline's point on the same workload, executor and machine, or null.
  const Point* of(const Point& point) const;

 private:
  static std::uint64_t mixed(const Point& point);
  const Dataset& data_;
  std::string schedule_;
  std::unordered_multimap<std::uint64_t, const Point*> points_;
};

/// The schedule that others are set against when nobody names one: "fixed-split:fa2" if it was timed, else the first
/// other fixed-split, else the first of all. Empty if nothing was timed.
std::string default_baseline(const Dataset& data);

}  // namespace splitwave::reports
