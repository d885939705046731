// SPDX-License-Identifier: Apache-2.0
#include "schedules/schedules.h"

#include <memory>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/output.h"
#include "reports/table.h"
#include "schedules/merge_choice.h"
#include "simulator/kernel.h"
#include "studies/choose.h"

namespace splitwave::cli {
namespace {

constexpr std::string_view kAutoSummary =
    "the main schedule with the least predicted time on the machine, up to 10 % added for kinds of plans that come out "
    "too fast";

/// The profile that a plain decode of head dim 128 runs on.
std::string plain_kernel(const schedules::Schedule& schedule) {
  workloads::Workload plain;
  return std::string(schedule.kernel(plain, "", 0));
}

std::string as_json() {
  std::string text;
  for (const schedules::Schedule& schedule : schedules::all()) {
    const std::string kernel = plain_kernel(schedule);
    const nlohmann::ordered_json json = {{"name", schedule.name},
                                         {"arguments", schedule.arguments},
                                         {"summary", schedule.summary},
                                         {"source", schedule.source},
                                         {"kernel", kernel},
                                         {"needs", simulator::needs_of(simulator::load_kernel(kernel))},
                                         {"compared_as", schedule.compared_as}};
    text += json.dump() + '\n';
  }
  const nlohmann::ordered_json last = {
      {"name", studies::kAuto}, {"arguments", ""}, {"summary", kAutoSummary}, {"source", ""}};
  return text + last.dump() + '\n';
}

std::string as_text() {
  reports::Table table{
      {{"name"}, {"after a colon"}, {"what it does"}, {"its kernel"}, {"which needs"}, {"source of the rule"}}, {}};
  for (const schedules::Schedule& schedule : schedules::all()) {
    const std::string kernel = plain_kernel(schedule);
    table.rows.push_back({std::string(schedule.name), std::string(schedule.arguments), std::string(schedule.summary),
                          kernel, simulator::needs_of(simulator::load_kernel(kernel)), std::string(schedule.source)});
  }
  table.rows.push_back({std::string(studies::kAuto), "", std::string(kAutoSummary), "", "", ""});
  return reports::to_text(table) + "\nAfter the name and its argument, + and " + std::string(schedules::kMergeNames) +
         " asks for another merge than the schedule's own: fixed-split:4+last_arriver\n"
         "The main schedules, which comparisons run by default: " +
         base::join(schedules::default_names()) +
         "; flashmla too where attention is latent.\nKernels are those of a plain decode of head dim 128; "
         "docs/schedules.md "
         "has the others.\n";
}

}  // namespace

void add_schedules(CLI::App& program, int&) {
  const auto json = std::make_shared<bool>(false);
  CLI::App* verb = program.add_subcommand("schedules", "List the schedules and where their rules come from");
  verb->footer(
      "  splitwave schedules\n"
      "  splitwave schedules --json");
  add_json_option(*verb, *json,
                  "one JSON object per schedule: name, arguments, summary, source, kernel, needs, compared_as");
  verb->callback([json] { print(*json ? as_json() : as_text()); });
}

}  // namespace splitwave::cli
