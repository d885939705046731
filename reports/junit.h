// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace splitwave::reports {

/// One checked case.
struct JunitCase {
  std::string name;
  double seconds = 0;
  bool passed = true;
  bool error = false;   ///< it could not be judged
  std::string message;  ///< one line: why it failed
  std::string details;  ///< the whole report
};

/// A JUnit XML document, as CI systems read it. Text is escaped, and what XML cannot hold is replaced by "?".
std::string junit_xml(const std::string& suite, const std::vector<JunitCase>& cases);

}  // namespace splitwave::reports
