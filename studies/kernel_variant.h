// SPDX-License-Identifier: Apache-2.0
// One config's part of a kernel file, by its probes.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "studies/kernel_constants.h"

namespace splitwave::studies {

/// The config's variant. merging: the config whose probes say what its merges cost (merging_like()). shared_turns:
/// parts times turns from which on CTAs that wait share a merge. Needs all probes that the config has.
nlohmann::ordered_json kernel_variant(const ProbedConfig& probed, const ProbedConfig& merging, const ProbeBase& base,
                                      double shared_turns);

}  // namespace splitwave::studies
