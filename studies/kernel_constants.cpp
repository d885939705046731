// SPDX-License-Identifier: Apache-2.0
#include "studies/kernel_constants.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "gpu/team.h"
#include "studies/constant_list.h"
#include "studies/kernel_variant.h"

namespace splitwave::studies {
namespace {

using Json = nlohmann::ordered_json;

/// Whether the variant is of a compiled config that works as none of the probed ones does.
bool works_otherwise(const Json& variant, const std::vector<ProbedConfig>& probed) {
  const gpu::Team team = gpu::parse_kernel_config(variant["config"].get<std::string>() + "c1").team;
  return std::none_of(probed.begin(), probed.end(), [&](const ProbedConfig& one) { return one.config.team == team; });
}

}  // namespace

std::string changed_kernel_file(const std::string& text, const std::vector<ProbedConfig>& configs,
                                const ProbeBase& base) {
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
  const Json all = std::move(variants);
  document["variants"] = Json::array();
  std::string lines = document.dump();
  lines.resize(lines.size() - 3);  // "[]}": the variants follow, one a line
  for (std::size_t i = 0; i < all.size(); ++i) lines += fmt::format("{}\n  {}", i == 0 ? "[" : ",", all[i].dump());
  return lines + "\n]}\n";
}

}  // namespace splitwave::studies
