// SPDX-License-Identifier: Apache-2.0
// Timing on processors that others use too.
#pragma once

#include <cstdint>
#include <functional>

namespace splitwave::cpu_reference {

/// How often the system has taken a processor from a thread of this process for somebody else (getrusage: involuntary
/// context switches).
std::int64_t interruptions();

/// Calls `prepare` and `work` until a call of `work` was not interrupted, at most kTries times: a run of a millisecond
/// that waits for another process's time slice only says how long the slice is. Returns how many calls were
/// interrupted. `work` keeps its own times; those of the last call count.
inline constexpr int kTries = 4;
std::int64_t until_uninterrupted(const std::function<void()>& prepare, const std::function<void()>& work,
                                 const std::function<std::int64_t()>& count = interruptions);

}  // namespace splitwave::cpu_reference
