// SPDX-License-Identifier: Apache-2.0
// The file behind cached_cpu_constants. Inside the folder and its tests only.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "cpu_reference/measure.h"

namespace splitwave::cpu_reference {

/// The cache file: $XDG_CACHE_HOME/splitwave/cpu.json, else ~/.cache/splitwave/cpu.json; none if neither variable is an
/// absolute path.
std::optional<std::filesystem::path> cpu_cache_file();

/// The constants that `file` has for (model, threads) if they can be read, no figure is absurd and `still_holds` says
/// yes; else what `measure` gives, which is then written to the file beside the entries of other machines, unless it is
/// not to be kept: then the file stays as it is.
KnownCpu cached_or_measured(const std::filesystem::path& file, const std::string& model, int threads,
                            const std::function<bool(const CpuConstants&)>& still_holds,
                            const std::function<MeasuredCpu(int)>& measure);

}  // namespace splitwave::cpu_reference
