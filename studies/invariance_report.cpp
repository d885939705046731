// SPDX-License-Identifier: Apache-2.0
#include "studies/invariance_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "reports/table.h"

namespace splitwave::studies {
namespace {

std::string by_bits_words(const BatchInvariance& answer) {
  if (answer.ran == 0) return "not run";
  return answer.by_bits() ? fmt::format("same in {}", answer.ran)
                          : fmt::format("differ in {} of {}", answer.differing, answer.ran);
}

std::string example_text(const BatchInvariance& answer) {
  const InvarianceExample& example = *answer.example;
  std::string text = fmt::format("{} on {}: request {} in the batch \"{}\", at position {}\n", answer.schedule,
                                 answer.workload, example.request, example.batch, example.position);
  text += fmt::format("  cut alone:    {}\n  cut in batch: {}\n", example.cuts_alone, example.cuts);
  text += example.difference.empty()
              ? fmt::format("  other bits were not seen: {}\n",
                            answer.lucky > 0 ? "they happen to be the same where the cuts moved"
                                             : "batches where the cuts move are too large to be run")
              : fmt::format("  alone and in batch, first bit that differs: {}\n", example.difference);
  if (answer.broken > 0) {
    text +=
        fmt::format("  {} requests were cut as alone and have other bits: the executor does more than its plan says\n",
                    answer.broken);
  }
  return text;
}

}  // namespace

std::string invariance_text(std::span<const BatchInvariance> answers) {
  using reports::Align;
  const bool kernels =
      std::any_of(answers.begin(), answers.end(), [](const BatchInvariance& answer) { return !answer.kernel.empty(); });
  reports::Table table{{{"workload"}, {"machine"}, {"schedule"}}, {}};
  if (kernels) table.columns.push_back({"kernel"});
  for (const char* title : {"invariant", "cuts, by plan", "bits, as run"}) table.columns.push_back({title});
  table.columns.push_back({"batches", Align::right});
  std::string examples;
  std::string failures;
  for (const BatchInvariance& answer : answers) {
    if (!answer.failure.empty()) {
      failures += fmt::format("{} cannot run {}: {}\n", answer.schedule, answer.workload, answer.failure);
      continue;
    }
    std::vector<std::string> row = {answer.workload, answer.machine, answer.schedule};
    if (kernels) row.push_back(answer.kernel.empty() ? "-" : answer.kernel);
    row.insert(row.end(), {answer.invariant() ? "yes" : "no",
                           answer.by_plan() ? fmt::format("same in {}", answer.compared)
                                            : fmt::format("move in {} of {}", answer.moved, answer.compared),
                           by_bits_words(answer), fmt::format("{}", answer.batches)});
    table.rows.push_back(std::move(row));
    if (answer.example) examples += example_text(answer);
  }
  for (std::string* const part : {&examples, &failures}) {
    if (!part->empty()) part->insert(0, 1, '\n');
  }
  return reports::to_text(table) + examples + failures;
}

std::string invariance_json(const BatchInvariance& answer) {
  nlohmann::ordered_json json = {{"workload", answer.workload},
                                 {"machine", answer.machine},
                                 {"schedule", answer.schedule},
                                 {"executor", answer.executor}};
  if (!answer.kernel.empty()) json["kernel"] = answer.kernel;
  if (!answer.failure.empty()) {
    json["failure"] = answer.failure;
  } else {
    json["invariant"] = answer.invariant();
    json["by_plan"] = answer.by_plan();
    if (answer.ran > 0) json["by_bits"] = answer.by_bits();
    json["requests"] = answer.requests;
    json["batches"] = answer.batches;
    json["compared"] = answer.compared;
    json["moved"] = answer.moved;
    json["ran"] = answer.ran;
    json["differing"] = answer.differing;
    json["broken"] = answer.broken;
    json["lucky"] = answer.lucky;
  }
  if (answer.failure.empty() && answer.example) {
    const InvarianceExample& example = *answer.example;
    json["example"] = {{"batch", example.batch},
                       {"request", example.request},
                       {"position", example.position},
                       {"cuts_alone", example.cuts_alone},
                       {"cuts", example.cuts}};
    if (!example.difference.empty()) json["example"]["difference"] = example.difference;
  }
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace splitwave::studies
