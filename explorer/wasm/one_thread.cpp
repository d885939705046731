// SPDX-License-Identifier: Apache-2.0
// base/parallel.h in a browser, whose page has one thread.
#include "base/error.h"
#include "base/parallel.h"

namespace splitwave::base {

void parallel(int /*threads*/, const std::function<void(int, int)>& body) {
  body(0, 1);
}

std::vector<std::thread> start_threads(int /*count*/, const std::function<void()>& /*body*/) {
  return {};
}

void require_threads(int count) {
  if (count > 1) throw InputError("threads: a browser's page has one");
}

int default_threads() {
  return 1;
}

}  // namespace splitwave::base
