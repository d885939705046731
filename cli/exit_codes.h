// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace splitwave::cli {

/// Exit statuses of every verb (docs/cli.md). Stopped by a signal: 128 plus its number.
inline constexpr int kGood = 0;
inline constexpr int kCheckFailed = 1;  ///< an output is out of tolerance, or the device failed
inline constexpr int kBadInput = 2;
inline constexpr int kMissing = 3;
inline constexpr int kBug = 70;  ///< sysexits.h, EX_SOFTWARE

}  // namespace splitwave::cli
