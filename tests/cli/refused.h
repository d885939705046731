// SPDX-License-Identifier: Apache-2.0
// What tests of bad input share.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/cli/process.h"

namespace splitwave::tests {

/// Arguments that the program refuses.
struct Refused {
  std::vector<std::string> arguments;
  std::vector<std::string> said;  ///< what the line must name
  int status = 2;
};

/// The program ends with the status and one line on standard error that holds all of `said`, and prints nothing else.
inline void expect_refused(const Refused& one, const RunOptions& options = {}) {
  const Outcome outcome = splitwave(one.arguments, options);
  const std::string what = fmt::format("{}", fmt::join(one.arguments, " "));
  EXPECT_EQ(outcome.status, one.status) << what << "\n" << outcome.err;
  EXPECT_EQ(outcome.out, "") << what;
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << what << "\n" << outcome.err;
  EXPECT_EQ(outcome.err.rfind("splitwave: ", 0), 0U) << what << "\n" << outcome.err;
  for (const std::string& part : one.said) {
    EXPECT_NE(outcome.err.find(part), std::string::npos) << what << "\nlacks: " << part << "\n" << outcome.err;
  }
}

}  // namespace splitwave::tests
