// SPDX-License-Identifier: Apache-2.0
// Advice for people and for engines.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "studies/advise.h"

namespace splitwave::studies {

/// What every export carries beside the advice.
struct AdviceOrigin {
  std::string command;     ///< that makes the same advice again
  std::string build;       ///< "splitwave 0.1.0 (commit)"
  std::string error_band;  ///< error_band() of the target
};

/// Names that the advice shows, as they were judged: its rules, then what else is best or takes a count ("fa3:4" is
/// judged as fa3).
std::vector<std::string> shown_schedules(const Advice& advice);

/// Aligned table with the regret of every rule, then the cliffs.
std::string advice_table(const Advice& advice, const AdviceOrigin& origin);

/// Comment lines that begin with "# ", then RFC 4180 with a line per point.
std::string advice_csv(const Advice& advice, const AdviceOrigin& origin);

/// One JSON object (docs/advise.md): a lookup table and everything it was made from.
std::string advice_json(const Advice& advice, const AdviceOrigin& origin);

/// A C++17 header with `int splitwave_advice::num_splits(int batch, int context)`, and the same as a Python module, for
/// the first of kSplitCalls that has answers. Between the points of the table both take the next smaller batch and
/// context; below the first, the first. Throws InputError if nothing takes a split count at some point.
std::string advice_cpp(const Advice& advice, const AdviceOrigin& origin);
std::string advice_python(const Advice& advice, const AdviceOrigin& origin);

}  // namespace splitwave::studies
