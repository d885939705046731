// SPDX-License-Identifier: Apache-2.0
#include "studies/error_bands.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>

#include "base/embedded_file.h"
#include "base/error.h"
#include "studies/advise.h"

namespace splitwave::studies {

std::span<const base::EmbeddedFile> error_band_files();

namespace {

std::string figures(const std::string& title, const nlohmann::json& one) {
  return fmt::format("{} median {:.1f} %, p90 {:.1f} % over {} measured points", title,
                     one.at("median_error").get<double>() * 100, one.at("p90_error").get<double>() * 100,
                     one.at("points").get<std::int64_t>());
}

/// The bands of one machine and kernel; takes what it knows out of `unjudged`.
std::vector<std::string> bands_of(const nlohmann::json& entry, std::vector<std::string>& unjudged) {
  std::vector<std::string> bands;
  for (const auto& one : entry.at("schedules")) {
    const auto name = one.at("schedule").get<std::string>();
    if (std::erase(unjudged, name) > 0) bands.push_back(figures(name, one));
  }
  const std::string kernel = entry.value("kernel", "");
  if (!kernel.empty() && !unjudged.empty()) {
    bands.push_back(figures(fmt::format("{} (as all in kernel {})", fmt::join(unjudged, ", "), kernel), entry));
    unjudged.clear();
  }
  return bands;
}

}  // namespace

std::string judged_as(std::string_view schedule) {
  const std::size_t colon = schedule.find(':');
  for (const SplitCall& call : kSplitCalls) {
    if (colon != std::string_view::npos && schedule.substr(0, colon) == call.schedule &&
        schedule.find_first_not_of("0123456789", colon + 1) == std::string_view::npos) {
      return std::string(call.rule);
    }
  }
  return std::string(schedule);
}

std::string error_band_from(std::string_view text, const std::string& where, const std::string& machine,
                            const std::string& kernel, workloads::AttentionKind kind,
                            const std::vector<std::string>& schedules) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  std::vector<std::string> unjudged = schedules;
  try {
    for (const auto& entry : json.at("judged")) {
      if (entry.at("machine").get<std::string>() != machine || entry.value("kernel", "") != kernel) continue;
      if ((entry.value("attention", "") == "mla") != (kind == workloads::AttentionKind::mla)) continue;
      const std::vector<std::string> bands = bands_of(entry, unjudged);
      if (bands.empty()) break;
      return fmt::format("{} ({}){}", fmt::join(bands, "; "), entry.at("source").get<std::string>(),
                         unjudged.empty() ? "" : fmt::format("; not yet judged: {}", fmt::join(unjudged, ", ")));
    }
  } catch (const nlohmann::json::exception&) {
    throw base::InputError(fmt::format(
        "{}: not in the format of studies/error_bands.json; allowed: judged, a list of machine, source and "
        "schedules, each with schedule, points, median_error and p90_error; with kernel those three once more; "
        "attention, mla, with those of latent attention",
        where));
  }
  return "not yet judged against measurements on this machine";
}

std::string error_band(const Target& target, workloads::AttentionKind kind, const std::vector<std::string>& schedules) {
  if (target.cpu) return "not judged: this computer was not measured; compare does";
  // A shipped kernel is no change of the machine; one from a file has its path in the target's name.
  const std::string kernel = target.kernel ? target.kernel->name : "";
  const std::string plain = target.machine.name + (kernel.empty() ? "" : fmt::format(" (kernel={})", kernel));
  if (plain != target.name || target.ctas_per_sm > 0) {
    return "not judged: the machine has overrides, and was never measured";
  }
  return error_band_from(error_band_files().front().text, "error_bands", target.machine.name, kernel, kind, schedules);
}

}  // namespace splitwave::studies
