// SPDX-License-Identifier: Apache-2.0
#include "reports/record_filter.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "base/text.h"
#include "reports/csv.h"

namespace splitwave::reports {
namespace {

/// Whether the text is the pattern's, whose every * stands for any characters, also none.
bool fits(std::string_view text, std::string_view pattern) {
  std::size_t star = std::string_view::npos;  // the last * of the pattern so far
  std::size_t resume = 0;                     // in the text, where the characters that it stands for end
  std::size_t at = 0;
  std::size_t in = 0;
  while (at < text.size()) {
    if (in < pattern.size() && pattern[in] == '*') {
      star = in++;
      resume = at;
    } else if (in < pattern.size() && pattern[in] == text[at]) {
      ++in;
      ++at;
    } else if (star != std::string_view::npos) {
      in = star + 1;
      at = ++resume;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', in) == std::string_view::npos;
}

}  // namespace

RecordFilter::Condition RecordFilter::parse(const std::string& condition) {
  const auto refuse = [&](const std::string& problem) {
    throw base::InputError(fmt::format("--where {}: {}", base::printable(condition), problem));
  };
  Condition parsed;
  const std::size_t at = condition.find_first_of("=!<>");
  if (at == std::string::npos) refuse("no comparison; allowed: COLUMN=VALUE, or !=, <, <=, >, >=");
  const bool two = condition.substr(at + 1, 1) == "=" && condition[at] != '=';
  parsed.comparison = condition.substr(at, two ? 2 : 1);
  if (parsed.comparison == "!") refuse("! is no comparison; allowed: =, !=, <, <=, >, >=");
  parsed.value = condition.substr(at + parsed.comparison.size());
  const std::string name = condition.substr(0, at);
  const std::vector<std::string> columns = csv_columns();
  const auto found = std::find(columns.begin(), columns.end(), name);
  if (found == columns.end()) {
    refuse(fmt::format("unknown column {}{}; allowed: those of a record (docs/records.md)", base::printable(name),
                       base::did_you_mean(name, columns)));
  }
  parsed.column = static_cast<std::size_t>(found - columns.begin());
  parsed.text = csv_column_is_text(name);
  const bool equality = parsed.comparison == "=" || parsed.comparison == "!=";
  if (parsed.text && !equality) refuse(name + " is a text; allowed: = and !=");
  if (!parsed.text && !(equality && parsed.value.empty())) {
    const std::optional<double> number = base::number_in(parsed.value);
    if (!number) refuse(name + " is a number; allowed: a number after the comparison");
    parsed.number = *number;
  }
  return parsed;
}

bool RecordFilter::meets(const std::string& cell, const Condition& condition) {
  const bool negated = condition.comparison == "!=";
  if (condition.text) return fits(cell, condition.value) != negated;
  if (cell.empty() || condition.value.empty()) return (cell.empty() && condition.value.empty()) != negated;
  const double number = base::number_in(cell).value_or(0);
  if (condition.comparison == "<") return number < condition.number;
  if (condition.comparison == "<=") return number <= condition.number;
  if (condition.comparison == ">") return number > condition.number;
  if (condition.comparison == ">=") return number >= condition.number;
  return (number == condition.number) != negated;
}

RecordFilter::RecordFilter(const std::vector<std::string>& conditions) {
  for (const std::string& condition : conditions) conditions_.push_back(parse(condition));
}

bool RecordFilter::matches(const Record& record) const {
  return std::all_of(conditions_.begin(), conditions_.end(),
                     [&](const Condition& condition) { return meets(csv_cell(record, condition.column), condition); });
}

}  // namespace splitwave::reports
