// SPDX-License-Identifier: Apache-2.0
#include "studies/advise_export.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <span>

#include "base/error.h"
#include "reports/table.h"

namespace splitwave::studies {

namespace {

using Json = nlohmann::ordered_json;
using reports::Align;

constexpr std::size_t kShownCliffs = 10;

/// "bshd", "paged by 16", "bshd, cache of 8192 tokens".
std::string storage_words(const workloads::KvStorage& kv) {
  std::string words = to_string(kv.layout);
  if (kv.page_size > 0) words += fmt::format(" by {}", kv.page_size);
  if (kv.cache_len) words += fmt::format(", cache of {} tokens", *kv.cache_len);
  return words;
}

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Schedules whose predicted times differ by less than this are not told apart: twice the median error of the kernels
/// that were judged (docs/accuracy.md).
constexpr double kTie = 0.05;

/// Whether `best` is `available`, or a given count of its library's call.
bool same_library(const std::string& best, const std::string& available) {
  return best == available || std::any_of(kSplitCalls.begin(), kSplitCalls.end(), [&](const SplitCall& call) {
           return available == call.rule && best.rfind(std::string(call.schedule) + ":", 0) == 0;
         });
}

/// Points at which another available schedule is that near to the best.
std::size_t ties(const Advice& advice) {
  return static_cast<std::size_t>(
      std::count_if(advice.points.begin(), advice.points.end(), [&](const AdvicePoint& point) {
        for (std::size_t i = 0; i < point.available_seconds.size(); ++i) {
          const std::optional<double>& seconds = point.available_seconds[i];
          const bool other = !same_library(point.best.schedule, advice.question.available[i]);
          if (other && seconds && *seconds < point.best.seconds * (1 + kTie)) return true;
        }
        return false;
      }));
}

/// The origin as lines that each begin with `mark`, the comment sign of the format.
std::string comment(const Advice& advice, const AdviceOrigin& origin, std::string_view mark) {
  const workloads::Geometry& g = advice.question.geometry;
  std::string text;
  const auto line = [&](std::string words) {
    std::replace_if(
        words.begin(), words.end(), [](char c) { return c >= 0 && c < ' '; }, ' ');  // one line stays one
    text += fmt::format("{} {}\n", mark, words);
  };
  const std::int32_t cap = advice.question.max_splits;
  line(fmt::format("Best on {} among {}{}.", advice.machine, fmt::join(advice.question.available, ", "),
                   cap > 0 ? fmt::format(", num_splits at most {}", cap) : ""));
  line(fmt::format("Geometry: {}, {} query heads, {} KV heads, head_dim {}, value_dim {}, {}, {}, query length {}.",
                   to_string(g.kind), g.query_heads, g.kv_heads, g.head_dim, g.value_dim, to_string(g.dtype),
                   storage_words(advice.question.kv), advice.question.query_len));
  line(fmt::format("Error band of the predictions: {}.", origin.error_band));
  if (const std::size_t equal = ties(advice); equal > 0) {
    line(fmt::format(
        "At {} of {} points another schedule is within {:.0f} % of the best, less than predictions err: take "
        "them as equal there.",
        equal, advice.points.size(), kTie * 100));
  }
  line(fmt::format("Made by {} with: {}", origin.build, origin.command));
  return text;
}

/// The call that the exports with one table of counts are for.
std::size_t first_call(const Advice& advice) {
  if (!advice.calls.empty()) return advice.calls.front();
  throw base::InputError(
      fmt::format("advise: nothing available takes num_splits (FlashAttention's schedules do); "
                  "allowed with {}: --format table, csv, json",
                  fmt::join(advice.question.available, ",")));
}

const Alternative& split_of(const AdvicePoint& point, std::size_t call) {
  if (!point.splits[call]) {
    throw base::InputError(fmt::format(
        "advise: {} cannot serve batch {} context {}; allowed with this geometry: --format table, csv, json",
        kSplitCalls[call].library, point.batch, point.context));
  }
  return *point.splits[call];
}

/// Rows of split counts, one per batch, each between `open` and `close`.
std::string split_rows(const Advice& advice, std::string_view open, std::string_view close) {
  const std::size_t call = first_call(advice);
  std::string text;
  for (std::size_t b = 0; b < advice.question.batches.size(); ++b) {
    std::vector<std::int32_t> row;
    for (std::size_t c = 0; c < advice.question.contexts.size(); ++c) {
      row.push_back(split_of(advice.at(b, c), call).num_splits);
    }
    text += fmt::format("    {}{}{},  {} batch {}\n", open, fmt::join(row, ", "), close, open == "{" ? "//" : "#",
                        advice.question.batches[b]);
  }
  return text;
}

std::string regret_text(const std::optional<double>& regret) {
  return regret ? fmt::format("{:+.1f} %", *regret * 100) : "-";
}

std::string cliff_lines(const Advice& advice) {
  if (advice.cliffs.empty())
    return "no cliffs: time per unit of work never grows by more than 5 % from point to point\n";
  std::string text = fmt::format("{} cliffs (time per request, or per token of context, grows by more than 5 %):\n",
                                 advice.cliffs.size());
  for (std::size_t i = 0; i < std::min(kShownCliffs, advice.cliffs.size()); ++i) {
    const Cliff& cliff = advice.cliffs[i];
    text += cliff.along_batch ? fmt::format("  {}: batch {} to {} at context {}: {:.2f}x per request\n", cliff.schedule,
                                            cliff.before, cliff.batch, cliff.context, cliff.jump)
                              : fmt::format("  {}: context {} to {} at batch {}: {:.2f}x per token\n", cliff.schedule,
                                            cliff.before, cliff.context, cliff.batch, cliff.jump);
  }
  if (advice.cliffs.size() > kShownCliffs) text += "  ... --format json has them all\n";
  return text;
}

/// Mean and worst regret of each rule over the points that it serves.
std::string rule_lines(const Advice& advice) {
  reports::Table table{{{"rule"}, {"mean regret", Align::right}, {"worst", Align::right}, {"worst at"}}, {}};
  for (std::size_t rule = 0; rule < advice.question.rules.size(); ++rule) {
    double sum = 0;
    std::int64_t count = 0;
    const AdvicePoint* worst = nullptr;
    for (const AdvicePoint& point : advice.points) {
      if (!point.regret(rule)) continue;
      sum += *point.regret(rule);
      ++count;
      if (worst == nullptr || *point.regret(rule) > *worst->regret(rule)) worst = &point;
    }
    table.rows.push_back({advice.question.rules[rule], regret_text(sum / static_cast<double>(count)),
                          regret_text(worst->regret(rule)),
                          fmt::format("batch {}, context {}", worst->batch, worst->context)});
  }
  return reports::to_text(table);
}

reports::Table point_table(const Advice& advice) {
  reports::Table table{{{"batch", Align::right}, {"context", Align::right}, {"best schedule"}, {"time", Align::right}},
                       {}};
  for (const std::size_t call : advice.calls) {
    table.columns.push_back({fmt::format("{}:N", kSplitCalls[call].schedule), Align::right});
    table.columns.push_back({"time", Align::right});
  }
  for (const std::string& rule : advice.question.rules) table.columns.push_back({rule, Align::right});
  for (const AdvicePoint& point : advice.points) {
    std::vector<std::string> row = {std::to_string(point.batch), std::to_string(point.context), point.best.schedule,
                                    reports::format_seconds(point.best.seconds)};
    for (const std::size_t call : advice.calls) {
      const std::optional<Alternative>& split = point.splits[call];
      row.push_back(split ? std::to_string(split->num_splits) : "-");
      row.push_back(split ? reports::format_seconds(split->seconds) : "-");
    }
    for (std::size_t rule = 0; rule < advice.question.rules.size(); ++rule) {
      row.push_back(regret_text(point.regret(rule)));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

Json alternative_json(const Alternative& one) {
  return {{"schedule", one.schedule}, {"num_splits", one.num_splits}, {"seconds", one.seconds}};
}

Json storage_json(const workloads::KvStorage& kv) {
  Json json = {{"layout", to_string(kv.layout)}};
  if (kv.page_size > 0) json["page_size"] = kv.page_size;
  if (kv.cache_len) json["cache_len"] = *kv.cache_len;
  return json;
}

/// The call's best counts, a row per batch.
Json counts_json(const Advice& advice, std::size_t call) {
  Json rows = Json::array();
  for (std::size_t b = 0; b < advice.question.batches.size(); ++b) {
    Json row = Json::array();
    for (std::size_t c = 0; c < advice.question.contexts.size(); ++c) {
      const std::optional<Alternative>& split = advice.at(b, c).splits[call];
      row.push_back(split ? Json(split->num_splits) : Json(nullptr));
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

Json point_json(const Advice& advice, const AdvicePoint& point) {
  Json json = {{"batch", point.batch}, {"context", point.context}, {"best", alternative_json(point.best)}};
  json["splits"] = Json::object();
  for (const std::size_t call : advice.calls) {
    if (const auto& split = point.splits[call]) json["splits"][kSplitCalls[call].schedule] = alternative_json(*split);
  }
  json["regret"] = Json::object();
  for (std::size_t rule = 0; rule < advice.question.rules.size(); ++rule) {
    if (const auto regret = point.regret(rule)) json["regret"][advice.question.rules[rule]] = *regret;
  }
  return json;
}

}  // namespace

std::vector<std::string> shown_schedules(const Advice& advice) {
  std::vector<std::string> shown = advice.question.rules;
  const auto add = [&](const std::string& name) {
    if (std::find(shown.begin(), shown.end(), name) == shown.end()) shown.push_back(name);
  };
  for (const std::size_t call : advice.calls) add(std::string(kSplitCalls[call].rule));
  for (const AdvicePoint& point : advice.points) {
    const auto is_split = [&](const auto& split) { return split && split->schedule == point.best.schedule; };
    if (!std::any_of(point.splits.begin(), point.splits.end(), is_split)) add(point.best.schedule);
  }
  return shown;
}

std::string advice_table(const Advice& advice, const AdviceOrigin& origin) {
  return comment(advice, origin, "#") + '\n' + reports::to_text(point_table(advice)) +
         "\nUnder NAME:N its best split count; under each rule the time lost by following it, against the best "
         "schedule.\n\n" +
         rule_lines(advice) + '\n' + cliff_lines(advice);
}

std::string advice_csv(const Advice& advice, const AdviceOrigin& origin) {
  reports::Table table{{{"batch"}, {"context"}, {"best_schedule"}, {"best_num_splits"}, {"best_seconds"}}, {}};
  for (const std::size_t call : advice.calls) {
    table.columns.push_back({fmt::format("{} num_splits", kSplitCalls[call].schedule)});
    table.columns.push_back({fmt::format("{} seconds", kSplitCalls[call].schedule)});
  }
  for (const std::string& rule : advice.question.rules) table.columns.push_back({"regret " + rule});
  for (const AdvicePoint& point : advice.points) {
    std::vector<std::string> row = {std::to_string(point.batch), std::to_string(point.context), point.best.schedule,
                                    std::to_string(point.best.num_splits), fmt::format("{}", point.best.seconds)};
    for (const std::size_t call : advice.calls) {
      const std::optional<Alternative>& split = point.splits[call];
      row.push_back(split ? std::to_string(split->num_splits) : "");
      row.push_back(split ? fmt::format("{}", split->seconds) : "");
    }
    for (std::size_t rule = 0; rule < advice.question.rules.size(); ++rule) {
      const auto regret = point.regret(rule);
      row.push_back(regret ? fmt::format("{}", *regret) : "");
    }
    table.rows.push_back(std::move(row));
  }
  return comment(advice, origin, "#") + reports::to_csv(table);
}

std::string advice_json(const Advice& advice, const AdviceOrigin& origin) {
  const workloads::Geometry& g = advice.question.geometry;
  Json json = {{"format", 2},
               {"machine", advice.machine},
               {"geometry",
                {{"kind", to_string(g.kind)},
                 {"query_heads", g.query_heads},
                 {"kv_heads", g.kv_heads},
                 {"head_dim", g.head_dim},
                 {"value_dim", g.value_dim},
                 {"dtype", to_string(g.dtype)}}},
               {"kv", storage_json(advice.question.kv)},
               {"query_len", advice.question.query_len},
               {"available", advice.question.available},
               {"max_splits", advice.question.max_splits > 0 ? Json(advice.question.max_splits) : Json(nullptr)},
               {"error_band", origin.error_band},
               {"command", origin.command},
               {"build", origin.build},
               {"batches", advice.question.batches},
               {"contexts", advice.question.contexts}};
  json["num_splits"] = Json::object();
  for (const std::size_t call : advice.calls)
    json["num_splits"][kSplitCalls[call].schedule] = counts_json(advice, call);
  json["points"] = Json::array();
  for (const AdvicePoint& point : advice.points) json["points"].push_back(point_json(advice, point));
  json["cliffs"] = Json::array();
  for (const Cliff& cliff : advice.cliffs) {
    json["cliffs"].push_back({{"schedule", cliff.schedule},
                              {"along", cliff.along_batch ? "batch" : "context"},
                              {"before", cliff.before},
                              {"batch", cliff.batch},
                              {"context", cliff.context},
                              {"jump", cliff.jump}});
  }
  return dump(json) + '\n';
}

std::string advice_cpp(const Advice& advice, const AdviceOrigin& origin) {
  return fmt::format(R"({}#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace splitwave_advice {{

inline constexpr int kBatches[] = {{{}}};
inline constexpr int kContexts[] = {{{}}};
inline constexpr int kNumSplits[{}][{}] = {{
{}}};

/// num_splits for {}: that of the largest tabulated batch and context (tokens) that are not above the given ones.
inline int num_splits(int batch, int context) {{
  const auto floor_index = [](const auto& values, int value) {{
    const auto above = std::upper_bound(std::begin(values), std::end(values), value) - std::begin(values);
    return static_cast<std::size_t>(above > 0 ? above - 1 : 0);
  }};
  return kNumSplits[floor_index(kBatches, batch)][floor_index(kContexts, context)];
}}

}}  // namespace splitwave_advice
)",
                     comment(advice, origin, "//"), fmt::join(advice.question.batches, ", "),
                     fmt::join(advice.question.contexts, ", "), advice.question.batches.size(),
                     advice.question.contexts.size(), split_rows(advice, "{", "}"),
                     kSplitCalls[first_call(advice)].library);
}

std::string advice_python(const Advice& advice, const AdviceOrigin& origin) {
  return fmt::format(R"({}from bisect import bisect_right

BATCHES = ({},)
CONTEXTS = ({},)
NUM_SPLITS = (
{})


def num_splits(batch: int, context: int) -> int:
    """num_splits for {}: that of the largest tabulated batch and context (tokens) that are not above the given ones."""
    row = NUM_SPLITS[max(bisect_right(BATCHES, batch) - 1, 0)]
    return row[max(bisect_right(CONTEXTS, context) - 1, 0)]
)",
                     comment(advice, origin, "#"), fmt::join(advice.question.batches, ", "),
                     fmt::join(advice.question.contexts, ", "), split_rows(advice, "(", ",)"),
                     kSplitCalls[first_call(advice)].library);
}

}  // namespace splitwave::studies
