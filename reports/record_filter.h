// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "reports/record.h"

namespace splitwave::reports {

/// Conditions that a record meets, all of them.
class RecordFilter {
 public:
  /// Each condition is COLUMN OPERATOR VALUE: a column of csv_columns(); = or != for texts, where * stands for any
  /// characters; =, !=, <, <=, > or >= for numbers. "COLUMN=" and "COLUMN!=" ask whether it is absent. Throws
  /// InputError.
  explicit RecordFilter(const std::vector<std::string>& conditions);

  /// What is absent meets only "COLUMN=" and !=.
  bool matches(const Record& record) const;

 private:
  struct Condition {
    std::size_t column = 0;
    std::string comparison;
    std::string value;
    double number = 0;
    bool text = false;
  };
  static Condition parse(const std::string& condition);
  static bool meets(const std::string& cell, const Condition& condition);

  std::vector<Condition> conditions_;
};

}  // namespace splitwave::reports
