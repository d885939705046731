// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <thread>
#include <vector>

namespace splitwave::base {

/// Runs body(thread, team size) on each thread of an OpenMP team of `threads`; OpenMP may give fewer. What the body
/// throws (the first, if several do) is thrown here when all threads have ended: out of the team it would end the
/// process.
void parallel(int threads, const std::function<void(int, int)>& body);

/// Starts up to `count` threads that each run the body, as many as the system gives. The body must not throw.
std::vector<std::thread> start_threads(int count, const std::function<void()>& body);

/// Throws InputError if the system gives no team of so many threads: OpenMP would end the process.
void require_threads(int count);

/// Threads that OpenMP gives if nobody asks for a number (OMP_NUM_THREADS, or the processors of this process).
int default_threads();

}  // namespace splitwave::base
