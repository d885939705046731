// SPDX-License-Identifier: Apache-2.0
#include "schedules/schedules.h"

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/output.h"
#include "reports/table.h"
#include "studies/choose.h"

namespace splitwave::cli {
namespace {

constexpr std::string_view kAutoSummary = "the main schedule with the least predicted time on the machine";

std::string as_json() {
  std::string text;
  const auto add = [&](std::string_view name, std::string_view arguments, std::string_view summary,
                       std::string_view source) {
    nlohmann::ordered_json json;
    json["name"] = name;
    json["arguments"] = arguments;
    json["summary"] = summary;
    json["source"] = source;
    text += json.dump() + '\n';
  };
  for (const schedules::Schedule& schedule : schedules::all()) {
    add(schedule.name, schedule.arguments, schedule.summary, schedule.source);
  }
  add(studies::kAuto, "", kAutoSummary, "");
  return text;
}

std::string as_text() {
  reports::Table table{{{"name"}, {"after a colon"}, {"what it does"}, {"source of the rule"}}, {}};
  for (const schedules::Schedule& schedule : schedules::all()) {
    table.rows.push_back({std::string(schedule.name), std::string(schedule.arguments), std::string(schedule.summary),
                          std::string(schedule.source)});
  }
  table.rows.push_back({std::string(studies::kAuto), "", std::string(kAutoSummary), ""});
  std::string names;
  for (const std::string& name : schedules::default_names()) {
    names += (names.empty() ? "" : ",") + name;
  }
  return reports::to_text(table) + "\nThe main schedules, which comparisons run by default: " + names + '\n';
}

}  // namespace

void add_schedules(CLI::App& program, int&) {
  const auto json = std::make_shared<bool>(false);
  CLI::App* verb = program.add_subcommand("schedules", "List the schedules and where their rules come from");
  verb->footer(
      "  splitwave schedules\n"
      "  splitwave schedules --json");
  add_json_option(*verb, *json, "one JSON object per schedule: name, arguments, summary, source");
  verb->callback([json] { print(*json ? as_json() : as_text()); });
}

}  // namespace splitwave::cli
