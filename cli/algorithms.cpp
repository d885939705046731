// SPDX-License-Identifier: Apache-2.0
#include "cpu_reference/algorithms/algorithms.h"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/output.h"
#include "reports/table.h"

namespace splitwave::cli {
namespace {

using cpu_reference::algorithms::Algorithm;
using cpu_reference::algorithms::Parameter;

std::string as_json() {
  std::string text;
  for (const Algorithm& algorithm : cpu_reference::algorithms::all()) {
    nlohmann::ordered_json json;
    json["name"] = algorithm.name;
    json["parameters"] = nlohmann::ordered_json::array();
    for (const Parameter& parameter : algorithm.parameters) {
      json["parameters"].push_back({{"name", parameter.name},
                                    {"standard", parameter.standard},
                                    {"most", parameter.most},
                                    {"meaning", parameter.meaning}});
    }
    json["summary"] = algorithm.summary;
    json["source"] = algorithm.source;
    text += json.dump() + '\n';
  }
  return text;
}

std::string as_text() {
  reports::Table table{{{"name"}, {"after a colon"}, {"if not given"}, {"what it does"}, {"source"}}, {}};
  for (const Algorithm& algorithm : cpu_reference::algorithms::all()) {
    std::string names;
    std::string values;
    for (const Parameter& parameter : algorithm.parameters) {
      const char* separator = names.empty() ? "" : "x";
      names += fmt::format("{}{}", separator, parameter.name);
      values += fmt::format("{}{}", separator, parameter.standard);
    }
    table.rows.push_back(
        {std::string(algorithm.name), names, values, std::string(algorithm.summary), std::string(algorithm.source)});
  }
  return reports::to_text(table) + "\nsplitwave run --algorithm runs them; docs/algorithms.md walks through them.\n";
}

}  // namespace

void add_algorithms(CLI::App& program, int&) {
  const auto json = std::make_shared<bool>(false);
  CLI::App* verb = program.add_subcommand("algorithms", "List the papers' attention algorithms");
  verb->footer(
      "  splitwave algorithms\n"
      "  splitwave algorithms --json");
  add_json_option(*verb, *json, "one JSON object per algorithm: name, parameters, summary, source");
  verb->callback([json] { print(*json ? as_json() : as_text()); });
}

}  // namespace splitwave::cli
