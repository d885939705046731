// SPDX-License-Identifier: Apache-2.0
#include "studies/verify_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "reports/table.h"

namespace splitwave::studies {
namespace {

using cpu_reference::ErrorFigures;
using cpu_reference::GroupFigures;
using cpu_reference::RuleResult;
using cpu_reference::Verification;
using Json = nlohmann::ordered_json;

std::string place(const cpu_reference::Coordinates& at) {
  return fmt::format("request {}, query {}, head {}, element {}", at.request, at.query, at.head, at.element);
}

/// JSON has no infinity and no NaN: these become texts.
Json number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

Json json_of(const ErrorFigures& figures) {
  return {{"elements", figures.elements},
          {"max_abs", number(figures.max_abs)},
          {"max_relative", number(figures.max_relative)},
          {"rmse_over_rms", number(figures.rmse_over_rms)},
          {"cosine", number(figures.cosine)},
          {"worst_bound_ratio", number(figures.worst_bound_ratio)},
          {"over_bound", figures.over_bound},
          {"mismatched_non_finite", figures.mismatched_non_finite}};
}

Json json_of(const std::vector<GroupFigures>& groups, bool lse) {
  Json all = Json::array();
  for (const GroupFigures& group : groups) {
    Json one = {{"index", group.index}};
    one.update(json_of(group.output));
    if (lse) one["lse_max_abs"] = number(group.lse_max_abs);
    all.push_back(std::move(one));
  }
  return all;
}

std::string ulp_text(const cpu_reference::UlpHistogram& ulps) {
  std::string text;
  for (std::size_t bin = 0; bin < ulps.counts.size(); ++bin) {
    if (ulps.counts[bin] == 0) continue;
    const std::int64_t from = bin < 2 ? static_cast<std::int64_t>(bin) : (std::int64_t{1} << (bin - 2)) + 1;
    const std::int64_t to = bin < 2 ? from : std::int64_t{1} << (bin - 1);
    const std::string range = bin + 1 == ulps.counts.size() ? fmt::format("{}+", from)
                              : from == to                  ? fmt::format("{}", from)
                                                            : fmt::format("{}-{}", from, to);
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", range, ulps.counts[bin]);
  }
  return text;
}

/// The heads or requests with the largest error against its bound.
std::string worst_groups(const std::string& what, std::vector<GroupFigures> groups, bool lse) {
  if (groups.empty()) return "";
  constexpr std::size_t kShown = 5;
  const std::size_t all = groups.size();
  std::stable_sort(groups.begin(), groups.end(), [](const GroupFigures& a, const GroupFigures& b) {
    return a.output.worst_bound_ratio > b.output.worst_bound_ratio;
  });
  if (groups.size() > kShown) groups.resize(kShown);
  using reports::Align;
  reports::Table table{{{what},
                        {"error / bound", Align::right},
                        {"beyond", Align::right},
                        {"max abs", Align::right},
                        {"rmse / rms", Align::right},
                        {"cosine", Align::right}},
                       {}};
  if (lse) table.columns.push_back({"LSE max abs", Align::right});
  for (const GroupFigures& group : groups) {
    const ErrorFigures& f = group.output;
    table.rows.push_back({fmt::format("{}", group.index), fmt::format("{:.3g}", f.worst_bound_ratio),
                          fmt::format("{}", f.over_bound + f.mismatched_non_finite), fmt::format("{:.3g}", f.max_abs),
                          fmt::format("{:.3g}", f.rmse_over_rms), fmt::format("{:.8f}", f.cosine)});
    if (lse) table.rows.back().push_back(fmt::format("{:.3g}", group.lse_max_abs));
  }
  return fmt::format("\nworst of {} {}{}:\n{}", all, what, all == 1 ? "" : "s", reports::to_text(table));
}

}  // namespace

std::string verdict_reason(const Verification& result) {
  for (const RuleResult& rule : result.rules) {
    if (rule.rule == result.decided_by) return fmt::format("{}: {}", to_string(rule.rule), rule.text);
  }
  return "";
}

std::string verdict_text(const std::string& name, const Verification& result) {
  std::string text = fmt::format("{}: {}\n\n", base::printable(name, 200), result.passed ? "PASS" : "FAIL");
  reports::Table rules{{{"rule"}, {"result"}, {"why"}}, {}};
  for (const RuleResult& rule : result.rules) {
    const bool decides = rule.rule == cpu_reference::Rule::bound || rule.rule == cpu_reference::Rule::pattern;
    rules.rows.push_back(
        {to_string(rule.rule) + (decides ? " (decides)" : ""), rule.passed ? "pass" : "fail", rule.text});
  }
  text += reports::to_text(rules);
  const ErrorFigures& f = result.output;
  text += fmt::format("\nerrors: max abs {:.3g}, max relative {:.3g}, rmse / rms(output) {:.3g}, cosine {:.9f}\n",
                      f.max_abs, f.max_relative, f.rmse_over_rms, f.cosine);
  text += fmt::format("distance in ULP: {} (largest {})\n", ulp_text(result.ulps), result.ulps.largest);
  if (result.has_lse)
    text += fmt::format("LSE: max abs {:.3g}, {:.3g} of its bound\n", result.lse_max_abs, result.lse_worst_bound_ratio);
  if (result.worst) {
    const cpu_reference::WorstElement& w = *result.worst;
    text += fmt::format("worst element: {}: {:.8g} where {:.8g} is exact, bound {:.3g}\n", place(w.at), w.value,
                        w.exact, w.bound);
    if (w.heaviest_token >= 0) {
      text += fmt::format("  token {} adds most to it, with weight {:.3g}\n", w.heaviest_token, w.heaviest_weight);
    }
  }
  text += worst_groups("head", result.heads, result.has_lse);
  text += worst_groups("request", result.requests, result.has_lse);
  if (result.passed) return text;
  if (result.findings.empty()) return text + "\ndiagnosis: no fault that is known explains the errors\n";
  text += "\ndiagnosis, best explanation first:\n";
  for (const cpu_reference::Finding& finding : result.findings) {
    text += fmt::format("  {}: {}\n    explains {:.1f} % of the error of {} rows, {:.0f} nats of evidence\n",
                        to_string(finding.fault), finding.text, 100 * finding.explained, finding.rows,
                        finding.evidence_nats);
  }
  return text;
}

std::string verdict_json(const std::string& name, const Verification& result) {
  Json json = {
      {"name", base::printable(name, 200)}, {"passed", result.passed}, {"decided_by", to_string(result.decided_by)}};
  for (const RuleResult& rule : result.rules) {
    json["rules"][to_string(rule.rule)] = {
        {"passed", rule.passed}, {"value", number(rule.value)}, {"limit", number(rule.limit)}, {"text", rule.text}};
  }
  json["rows"] = result.rows;
  json["output"] = json_of(result.output);
  if (result.has_lse)
    json["lse"] = {{"max_abs", number(result.lse_max_abs)},
                   {"worst_bound_ratio", number(result.lse_worst_bound_ratio)}};
  json["ulps"] = {{"counts", result.ulps.counts}, {"largest", result.ulps.largest}};
  if (result.worst) {
    const cpu_reference::WorstElement& w = *result.worst;
    json["worst"] = {{"request", w.at.request},
                     {"query", w.at.query},
                     {"head", w.at.head},
                     {"element", w.at.element},
                     {"value", number(w.value)},
                     {"exact", number(w.exact)},
                     {"bound", number(w.bound)},
                     {"heaviest_token", w.heaviest_token},
                     {"heaviest_weight", number(w.heaviest_weight)}};
  }
  json["findings"] = Json::array();
  for (const cpu_reference::Finding& finding : result.findings) {
    Json one = {{"fault", to_string(finding.fault)},
                {"text", finding.text},
                {"explained", number(finding.explained)},
                {"evidence_nats", number(finding.evidence_nats)},
                {"rows", finding.rows}};
    if (finding.token_begin >= 0) one["tokens"] = {finding.token_begin, finding.token_end};
    json["findings"].push_back(std::move(one));
  }
  json["heads"] = json_of(result.heads, result.has_lse);
  json["requests"] = json_of(result.requests, result.has_lse);
  return json.dump();
}

}  // namespace splitwave::studies
