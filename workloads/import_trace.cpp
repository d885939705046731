// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <optional>

#include "base/document.h"
#include "base/error.h"
#include "base/fields.h"
#include "base/lines.h"
#include "base/text.h"
#include "workloads/import.h"
#include "workloads/limits.h"

namespace splitwave::workloads {

namespace {

constexpr std::string_view kAzureHeader = "TIMESTAMP,ContextTokens,GeneratedTokens";
constexpr std::int64_t kMaxOutputTokens = kMaxQueryLen;
constexpr std::int64_t kMaxPromptTokens = kMaxContextLen - kMaxOutputTokens;

// The whole of `text` as a number from `least` to `most`.
std::optional<std::int64_t> whole_number(std::string_view text, std::int64_t least, std::int64_t most) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < least || number > most) return std::nullopt;
  return number;
}

// Seconds since 1970 of "2023-11-16 18:17:03.9799600", with or without the fraction and "+00:00".
std::optional<double> read_timestamp(std::string_view text) {
  if (text.size() > 6 && text.substr(text.size() - 6) == "+00:00") text.remove_suffix(6);
  if (text.size() < 19 || text[4] != '-' || text[7] != '-' || text[10] != ' ' || text[13] != ':' || text[16] != ':') {
    return std::nullopt;
  }
  const auto year = whole_number(text.substr(0, 4), 1970, 9999);
  const auto month = whole_number(text.substr(5, 2), 1, 12);
  const auto day = whole_number(text.substr(8, 2), 1, 31);
  const auto hour = whole_number(text.substr(11, 2), 0, 23);
  const auto minute = whole_number(text.substr(14, 2), 0, 59);
  const std::string_view digits = text.substr(17);
  const bool plain = digits.find_first_not_of("0123456789.") == std::string_view::npos;
  const double second = plain ? base::number_in(digits).value_or(-1) : -1;
  const bool good_second = second >= 0 && second < 61;
  if (!year || !month || !day || !hour || !minute || !good_second) return std::nullopt;
  const std::chrono::year_month_day date(std::chrono::year(static_cast<int>(*year)),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day)));
  if (!date.ok()) return std::nullopt;
  const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  return static_cast<double>(days * 86400 + *hour * 3600 + *minute * 60) + second;
}

std::string_view without_line_end(std::string_view line) {
  while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
  return line;
}

TraceRequest read_azure_row(std::string_view line, const std::string& where) {
  const std::size_t first = line.find(',');
  const std::size_t second = first == std::string_view::npos ? first : line.find(',', first + 1);
  if (second == std::string_view::npos) {
    throw base::InputError(fmt::format("{}: \"{}\" is no row of {}", where, base::printable(line), kAzureHeader));
  }
  const std::string_view columns[] = {line.substr(0, first), line.substr(first + 1, second - first - 1),
                                      line.substr(second + 1)};
  const auto refuse = [&](const char* key, std::string_view value, const std::string& allowed) {
    base::refuse_value(where, key, fmt::format("\"{}\"", base::printable(value)), allowed);
  };
  const auto seconds = read_timestamp(columns[0]);
  if (!seconds) refuse("TIMESTAMP", columns[0], "YYYY-MM-DD HH:MM:SS with an optional fraction, in UTC");
  const auto prompt = whole_number(columns[1], 0, kMaxPromptTokens);
  if (!prompt) refuse("ContextTokens", columns[1], fmt::format("an integer from 0 to {}", kMaxPromptTokens));
  const auto output = whole_number(columns[2], 0, kMaxOutputTokens);
  if (!output) refuse("GeneratedTokens", columns[2], fmt::format("an integer from 0 to {}", kMaxOutputTokens));
  return {*seconds, static_cast<std::int32_t>(*prompt), static_cast<std::int32_t>(*output)};
}

// Arrivals count from the first one, in order.
std::vector<TraceRequest> in_order(std::vector<TraceRequest> trace, const std::string& where) {
  if (trace.empty()) throw base::InputError(where + ": holds no requests");
  std::stable_sort(trace.begin(), trace.end(),
                   [](const TraceRequest& a, const TraceRequest& b) { return a.arrival_seconds < b.arrival_seconds; });
  const double first = trace.front().arrival_seconds;
  for (TraceRequest& request : trace) request.arrival_seconds -= first;
  return trace;
}

}  // namespace

std::vector<TraceRequest> import_azure_trace(std::string_view text, const std::string& where) {
  const std::string file = base::printable(where, 200);
  base::Lines lines(text);
  const std::string_view header = without_line_end(lines.next());
  if (header != kAzureHeader) {
    base::refuse_value(file, "the first line", fmt::format("\"{}\"", base::printable(header)),
                       std::string(kAzureHeader));
  }
  std::vector<TraceRequest> trace;
  for (std::string_view line = lines.next(); !line.empty(); line = lines.next()) {
    trace.push_back(read_azure_row(without_line_end(line), fmt::format("{}:{}", file, lines.number())));
  }
  return in_order(std::move(trace), file);
}

std::vector<TraceRequest> import_mooncake_trace(std::string_view text, const std::string& where) {
  const std::string file = base::printable(where, 200);
  constexpr double kMaxMilliseconds = 1e15;
  base::Lines lines(text);
  std::vector<TraceRequest> trace;
  for (std::string_view line = lines.next(); !line.empty(); line = lines.next()) {
    const std::string place = fmt::format("{}:{}", file, lines.number());
    const base::JsonValue value = base::parse_document(line, place);
    const base::Fields fields(value, place, "");
    const double milliseconds = fields.number("timestamp", 0, kMaxMilliseconds);
    trace.push_back({milliseconds * 1e-3, fields.int32("input_length", 0, kMaxPromptTokens),
                     fields.int32("output_length", 0, kMaxOutputTokens)});
  }
  return in_order(std::move(trace), file);
}

ForeignFormat detect_format(std::string_view text, const std::string& where) {
  const std::string_view first = base::Lines(text).next();
  if (first.rfind("TIMESTAMP", 0) == 0) return ForeignFormat::azure_trace;
  if (first.find("\"input_length\"") != std::string_view::npos) return ForeignFormat::mooncake_trace;
  if (first.find('{') != std::string_view::npos) return ForeignFormat::hugging_face_config;
  throw base::InputError(
      fmt::format("{}: begins with \"{}\"; allowed: Hugging Face's config.json, Azure's CSV ({}), Mooncake's "
                  "JSON Lines (input_length)",
                  base::printable(where, 200), base::printable(first, 30), kAzureHeader));
}

std::vector<TraceRequest> import_trace(std::string_view text, const std::string& where) {
  switch (detect_format(text, where)) {
    case ForeignFormat::azure_trace:
      return import_azure_trace(text, where);
    case ForeignFormat::mooncake_trace:
      return import_mooncake_trace(text, where);
    case ForeignFormat::hugging_face_config:
      break;
  }
  throw base::InputError(fmt::format("{}: is a Hugging Face config, not a trace", base::printable(where, 200)));
}

}  // namespace splitwave::workloads
