// SPDX-License-Identifier: Apache-2.0
// How far predictions were from measurements: what is to be said beside each of them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "studies/target.h"
#include "workloads/workload.h"

namespace splitwave::studies {

/// The schedule under whose name a schedule was judged: a library's rule for its call with a given count ("fa3:4" is
/// judged as fa3), and otherwise itself.
std::string judged_as(std::string_view schedule);

/// How far predictions of the schedules on the target are from measurements, in words, from studies/error_bands.json:
/// "not yet judged" if no measurements were set against them. Latent attention (mla) was judged apart from all other
/// kinds. Where one kernel runs all schedules, those that were not measured in it have the band of all that were.
/// Machines with overrides, and this computer's CPU, were not judged.
std::string error_band(const Target& target, workloads::AttentionKind kind, const std::vector<std::string>& schedules);

/// The same from a text in the format of that file; `where` begins error messages, `kernel` is the one that runs all
/// schedules, or empty where each runs in its own library's. Throws InputError.
std::string error_band_from(std::string_view text, const std::string& where, const std::string& machine,
                            const std::string& kernel, workloads::AttentionKind kind,
                            const std::vector<std::string>& schedules);

}  // namespace splitwave::studies
