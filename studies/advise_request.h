// SPDX-License-Identifier: Apache-2.0
// Advice as people ask for it, in words.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "studies/advise.h"
#include "studies/advise_export.h"
#include "studies/target.h"

namespace splitwave::studies {

struct AdviseRequest {
  std::string model;                        ///< what stands before the batch in a one-line spec (docs/workloads.md)
  std::string batches = "1..256x2";         ///< requests, in the forms of parse_axis()
  std::string contexts = "512..128kx2";     ///< tokens of every request's context, in the same forms
  std::int32_t query_len = 1;               ///< 1 to workloads::kMaxQueryLen
  std::vector<std::string> available = {};  ///< empty: the installable schedules, and the rules
  std::vector<std::string> rules = {};      ///< empty: the available ones
  std::int32_t max_splits = 0;              ///< 0 (no cap of the user's) to kMostMaxSplits
};

/// Most that AdviseRequest::max_splits can be: no library allows more.
inline constexpr std::int32_t kMostMaxSplits = 256;

/// The question. Throws InputError if the model, a schedule or the text of an axis is wrong, or if there are more than
/// kMostAdvicePoints points.
AdviseQuestion question_of(const AdviseRequest& request);

/// The command that answers the request on the machine in a format of `advise`, without control characters.
std::string command_of(const AdviseRequest& request, const std::string& machine, const Overrides& overrides,
                       const std::string& format);

/// What the advice is to carry; `command` made it.
AdviceOrigin origin_of(const Advice& advice, const Target& target, const std::string& command);

}  // namespace splitwave::studies
