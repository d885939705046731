// SPDX-License-Identifier: Apache-2.0
#include "reports/csv.h"

#include <gtest/gtest.h>

#include "tests/reports/golden.h"
#include "tests/reports/sample_records.h"

namespace splitwave::reports {
namespace {

TEST(Csv, IsAsApproved) {
  std::vector<Record> records = {tests::full_record()};
  for (const Record& one : tests::comparison()) {
    records.push_back(one);
  }
  tests::expect_golden("records.csv", to_csv(records));
}

}  // namespace
}  // namespace splitwave::reports
