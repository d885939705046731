// SPDX-License-Identifier: Apache-2.0
// Objects of the workload format and what they mean. Inside the folder only.
#pragma once

#include <string>
#include <vector>

#include "base/document.h"
#include "workloads/workload.h"

namespace splitwave::workloads {

/// The one workload that an object without "sweep" describes, validated. `path` is its place in the document
/// ("workloads[2]", or empty). Throws InputError that begins with `where`.
Workload read_workload(const base::JsonValue& value, const std::string& where, const std::string& path);

/// One object per point of the cartesian product of its "sweep", without the sweep and with the point's values in the
/// name. An object without "sweep" is its own only point.
class Sweep {
 public:
  /// One step of the path of a field: the key of an object, or the index of an array.
  struct Step {
    std::string text;
    bool is_index;
  };

  Sweep(const base::JsonValue& value, const std::string& where, const std::string& path);

  std::int64_t points() const { return points_; }
  base::JsonValue point(std::int64_t index) const;

 private:
  struct Axis {
    std::string path;  ///< of the swept field
    std::vector<Step> steps;
    std::string label;  ///< its last key, or the whole path where that would be ambiguous
    std::vector<base::JsonValue> values;
  };
  void label_axes();

  base::JsonValue base_;
  std::string where_;
  std::string path_;
  std::vector<Axis> axes_;
  std::int64_t points_ = 1;
};

/// Requests of a "generate" object. `seed` is the workload's, used unless the object has its own.
std::vector<Request> read_generator(const base::JsonValue& value, const std::string& where, const std::string& path,
                                    std::uint64_t seed);

}  // namespace splitwave::workloads
