// SPDX-License-Identifier: Apache-2.0
#include "studies/kernel_constants.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/error.h"
#include "gpu/team.h"
#include "studies/constant_list.h"
#include "studies/full_sms.h"
#include "studies/kernel_variant.h"

namespace splitwave::studies {
namespace {

using Json = nlohmann::ordered_json;

/// Whether the variant is of a compiled config that works as none of the probed ones does.
bool works_otherwise(const Json& variant, const std::vector<ProbedConfig>& probed) {
  const gpu::Team team = gpu::parse_kernel_config(variant["config"].get<std::string>() + "c1").team;
  return std::none_of(probed.begin(), probed.end(), [&](const ProbedConfig& one) { return one.config.team == team; });
}

/// The document with these variants, one a line.
std::string file_of(const Json& document, const Json& variants) {
  std::string lines = document.dump();
  lines.resize(lines.size() - 3);  // "[]}": the variants follow
  for (std::size_t i = 0; i < variants.size(); ++i) {
    lines += fmt::format("{}\n  {}", i == 0 ? "[" : ",", variants[i].dump());
  }
  return lines + "\n]}\n";
}

/// Adds to the variants, of which the first are the configs', what all of their constants leave of the probes of full
/// SMs.
void add_full_sms(const Json& document, const std::vector<ProbedConfig>& configs, const ProbeBase& base,
                  const simulator::Machine& machine, Json& variants) {
  const simulator::KernelFamily family = simulator::parse_kernel(file_of(document, variants), "calibration");
  for (std::size_t i = 0; i < configs.size(); ++i) {
    ConstantList list(base.source);
    for (const bool paged : {false, true}) {
      const std::optional<double> seconds = full_sm_seconds(configs[i], paged, family, machine);
      if (seconds) list.add_ns(paged ? "paged_full_sm" : "full_sm", *seconds * 1e9);
    }
    variants[i]["constants"].update(std::move(list).take());
  }
}

}  // namespace

std::string changed_kernel_file(const std::string& text, const std::vector<ProbedConfig>& configs,
                                const ProbeBase& base, const simulator::Machine& machine) {
  Json document = Json::parse(text, nullptr, false);
  if (!document.is_object() || !document.contains("variants") || !document.contains("constants")) {
    throw base::InputError("kernel file: no variants; allowed: an object with constants and variants");
  }
  Json& scale = document["constants"]["latency_scale"];
  scale = {{"value", rounded(base.latency_scale)}, {"unit", "1"}, {"source", base.source}, {"confidence", "measured"}};
  document["constants"]["queue_scale"] = scale;
  document["constants"]["queue_scale"]["value"] = rounded(base.queue_scale);
  Json variants = Json::array();
  const double shared_turns = document["constants"].value("merge_shared_turns", Json::object()).value("value", 0.0);
  for (const ProbedConfig& config : configs) {
    variants.push_back(kernel_variant(config, merging_like(config, configs), base, shared_turns));
  }
  for (const Json& variant : document["variants"]) {
    if (!variant.contains("config") || works_otherwise(variant, configs)) variants.push_back(variant);
  }
  document["variants"] = Json::array();
  add_full_sms(document, configs, base, machine, variants);
  return file_of(document, variants);
}

}  // namespace splitwave::studies
