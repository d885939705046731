// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

namespace splitwave::base {

/// Runs body(thread, team size) on each thread of an OpenMP team of `threads`; OpenMP may give fewer. The body must not
/// throw.
void parallel(int threads, const std::function<void(int, int)>& body);

/// Threads that OpenMP gives if nobody asks for a number (OMP_NUM_THREADS, or the processors of this process).
int default_threads();

}  // namespace splitwave::base
