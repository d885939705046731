// SPDX-License-Identifier: Apache-2.0
// One-line workloads: MODEL[@tp=N][,key=value...]:BATCH or key=value,...:BATCH.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "base/error.h"
#include "base/fields.h"
#include "base/text.h"
#include "workloads/format_keys.h"
#include "workloads/limits.h"
#include "workloads/load.h"
#include "workloads/models.h"
#include "workloads/name.h"

namespace splitwave::workloads {

namespace {

constexpr std::array<std::string_view, 13> kSpecKeys = {"h",     "d",      "dv",   "kind",  "dtype", "causal", "window",
                                                        "scale", "layout", "page", "cache", "seed",  "dist"};

// A number too large for 64 bits counts as the largest: every limit is far below.
constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();

// A decimal number from the front of `text`, which is moved on; none if there is none.
std::optional<std::int64_t> take_number(std::string_view& text) {
  if (text.empty() || text.front() < '0' || text.front() > '9') return std::nullopt;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return error == std::errc() ? number : kHuge;
}

// The same with vLLM's suffix: 4k is 4096.
std::optional<std::int64_t> take_length(std::string_view& text) {
  const std::optional<std::int64_t> number = take_number(text);
  if (!number || text.empty() || text.front() != 'k') return number;
  text.remove_prefix(1);
  return *number > kHuge / 1024 ? kHuge : *number * 1024;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

// One "key=value" of a spec.
class Option {
 public:
  Option(std::string_view text, const std::string& where) : where_(where) {
    const std::size_t equals = text.find('=');
    key_ = text.substr(0, equals);
    if (equals == std::string_view::npos) {
      throw base::InputError(fmt::format("{}: \"{}\" is not of the form key=value", where, base::printable(text)));
    }
    value_ = text.substr(equals + 1);
  }

  std::string_view key() const { return key_; }
  std::string_view value() const { return value_; }
  [[noreturn]] void refuse(const std::string& allowed) const {
    base::refuse_value(where_, std::string(key_), fmt::format("\"{}\"", base::printable(value_)), allowed);
  }

  std::int32_t integer(std::int64_t least, std::int64_t most) const { return integer_of(value_, least, most); }

  std::int32_t integer_of(std::string_view text, std::int64_t least, std::int64_t most) const {
    const std::optional<std::int64_t> number = take_length(text);
    if (!number || !text.empty() || *number < least || *number > most) {
      refuse(fmt::format("an integer from {} to {}", least, most));
    }
    return static_cast<std::int32_t>(*number);
  }

  std::uint64_t seed() const {
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(value_.data(), value_.data() + value_.size(), number);
    if (error != std::errc() || end != value_.data() + value_.size()) refuse("an integer from 0 to 2^64 - 1");
    return number;
  }

  double number() const {
    const std::optional<double> result = base::number_in(value_);
    if (!result || !std::isfinite(*result)) refuse("a number");
    return *result;
  }

  std::size_t choice(std::span<const std::string_view> names) const {
    const auto found = std::find(names.begin(), names.end(), value_);
    if (found == names.end()) refuse(base::join({names.begin(), names.end()}));
    return static_cast<std::size_t>(found - names.begin());
  }

 private:
  const std::string& where_;
  std::string_view key_;
  std::string_view value_;
};

// h=32/8, or h=32 for as many KV heads as query heads.
void read_heads(const Option& option, Geometry& g) {
  const std::vector<std::string_view> parts = split(option.value(), '/');
  if (parts.size() > 2) option.refuse("QUERY_HEADS or QUERY_HEADS/KV_HEADS");
  g.query_heads = option.integer_of(parts.front(), 1, kMaxHeads);
  g.kv_heads = option.integer_of(parts.back(), 1, kMaxHeads);
  g.kind = kind_of_heads(g.query_heads, g.kv_heads);
}

void read_geometry_option(const Option& option, Geometry& g) {
  const std::string_view key = option.key();
  if (key == "h") read_heads(option, g);
  if (key == "d") g.head_dim = option.integer(1, kMaxHeadDim);
  if (key == "dv") g.value_dim = option.integer(1, kMaxHeadDim);
  if (key == "kind") g.kind = static_cast<AttentionKind>(option.choice(kKindNames));
  if (key == "dtype") g.dtype = static_cast<Dtype>(option.choice(kDtypeNames));
  if (key == "causal") g.causal = option.integer(0, 1) == 1;
  if (key == "window") g.window = option.integer(1, kMaxContextLen);
  if (key == "scale") g.softmax_scale = option.number();
}

void read_workload_option(const Option& option, Workload& workload) {
  const std::string_view key = option.key();
  if (key == "layout") workload.kv.layout = static_cast<KvLayout>(option.choice(kLayoutNames));
  if (key == "page") workload.kv.page_size = option.integer(1, kMaxPageSize);
  if (key == "cache") workload.kv.cache_len = option.integer(1, kMaxContextLen);
  if (key == "seed") workload.seed = option.seed();
  if (key == "dist") workload.distribution = static_cast<Distribution>(option.choice(kDistributionNames));
}

void read_options(const std::vector<Option>& options, bool has_model, const std::string& where, Workload& workload) {
  const std::vector<std::string> known(kSpecKeys.begin(), kSpecKeys.end());
  std::vector<std::string_view> seen;
  for (const Option& option : options) {
    const std::string key = base::printable(option.key());
    if (std::find(known.begin(), known.end(), option.key()) == known.end()) {
      throw base::InputError(fmt::format("{}: unknown key {}; allowed: {}", where, key, base::join(known)));
    }
    if (std::find(seen.begin(), seen.end(), option.key()) != seen.end()) {
      throw base::InputError(fmt::format("{}: key {} appears twice", where, key));
    }
    seen.push_back(option.key());
    const bool of_model = key == "h" || key == "d" || key == "dv" || key == "kind";
    if (has_model && of_model) throw base::InputError(fmt::format("{}: {} is given by the model already", where, key));
  }
  const auto has = [&](std::string_view key) { return std::find(seen.begin(), seen.end(), key) != seen.end(); };
  if (!has_model && !(has("h") && has("d"))) {
    throw base::InputError(where + ": needs a model, or h and d (h=32/8,d=128:8q1s32k)");
  }
  Geometry& g = workload.geometry;
  // Heads decide the kind and d the value size, unless they are given themselves.
  const auto first_of = [](const Option& option) { return option.key() == "h" || option.key() == "d"; };
  for (const Option& option : options) {
    if (first_of(option)) read_geometry_option(option, g);
  }
  if (!has_model) g.value_dim = g.head_dim;
  for (const Option& option : options) {
    if (!first_of(option)) read_geometry_option(option, g);
    read_workload_option(option, workload);
  }
  // A layout that is given stands, whatever the order; validate() refuses one that has no pages.
  if (has("page") && !has("layout")) workload.kv.layout = KvLayout::paged;
}

// One segment of a batch.
struct Segment {
  std::int64_t count = 1;
  std::int64_t query_len = 0;
  std::int64_t context_len = 0;
};

// vLLM's [count]q<len>[k][s<len>[k]]. Without s the segment is a prefill, whose context is its query.
std::optional<Segment> read_segment(std::string_view text) {
  const bool counted = !text.empty() && text.front() != 'q';
  const std::optional<std::int64_t> count = counted ? take_number(text) : 1;
  if (!count || text.empty() || text.front() != 'q') return std::nullopt;
  text.remove_prefix(1);
  const std::optional<std::int64_t> query = take_length(text);
  std::optional<std::int64_t> context = query;
  if (!text.empty() && text.front() == 's') {
    text.remove_prefix(1);
    context = take_length(text);
  }
  if (!query || !context || !text.empty()) return std::nullopt;
  return Segment{*count, *query, *context};
}

void add_segment(std::string_view text, const std::string& where, std::vector<Request>& requests) {
  const std::optional<Segment> segment = read_segment(text);
  const std::string shown = fmt::format("\"{}\"", base::printable(text));
  if (!segment) {
    base::refuse_value(where, "the batch", shown,
                       "[COUNT]qLEN[sLEN] joined by _, LEN with an optional k for 1024 (8q1s4k_1q1s128k)");
  }
  const auto check = [&](const std::string& what, std::int64_t value, std::int64_t least, std::int64_t most) {
    if (value >= least && value <= most) return;
    base::refuse_value(where, what, fmt::format("{}{}", value, value == kHuge ? " or more" : ""),
                       fmt::format("an integer from {} to {}", least, most));
  };
  check("the count of requests in " + shown, segment->count, 1, kMaxRequests);
  check("the query length in " + shown, segment->query_len, 1, kMaxQueryLen);
  check("the context length in " + shown, segment->context_len, 0, kMaxContextLen);
  check("the number of requests", static_cast<std::int64_t>(requests.size()) + segment->count, 0, kMaxRequests);
  requests.insert(
      requests.end(), static_cast<std::size_t>(segment->count),
      Request{static_cast<std::int32_t>(segment->query_len), static_cast<std::int32_t>(segment->context_len)});
}

// MODEL or MODEL@tp=N
Geometry read_model_name(std::string_view text, const std::string& where) {
  const std::vector<std::string_view> parts = split(text, '@');
  std::int32_t tensor_parallel = 1;
  if (parts.size() > 2) throw base::InputError(fmt::format("{}: more than one @", where));
  if (parts.size() == 2) {
    const Option option(parts[1], where);
    if (option.key() != "tp") throw base::InputError(fmt::format("{}: only tp=N may follow @", where));
    tensor_parallel = option.integer(1, kMaxHeads);
  }
  try {
    return model_geometry(parts[0], tensor_parallel);
  } catch (const base::InputError& error) {
    throw base::InputError(fmt::format("{}: {}", where, error.what()));
  }
}

}  // namespace

std::vector<Request> parse_batch(std::string_view batch, const std::string& where) {
  std::vector<Request> requests;
  for (const std::string_view segment : split(batch, '_')) add_segment(segment, where, requests);
  return requests;
}

Workload parse_spec(std::string_view spec) {
  const std::string where = fmt::format("workload \"{}\"", base::printable(spec, 100));
  const std::size_t colon = spec.rfind(':');
  if (colon == std::string_view::npos) throw base::InputError(where + ": a batch is missing, as in llama-3-8b:8q1s32k");
  Workload workload;
  std::vector<std::string_view> parts = split(spec.substr(0, colon), ',');
  const std::string_view first = parts.front().substr(0, parts.front().find('@'));
  const bool has_model = first.find('=') == std::string_view::npos;
  if (has_model) {
    workload.geometry = read_model_name(parts.front(), where);
    parts.erase(parts.begin());
  }
  std::vector<Option> options;
  options.reserve(parts.size());
  for (const std::string_view part : parts) options.push_back(Option(part, where));
  read_options(options, has_model, where, workload);
  workload.requests = parse_batch(spec.substr(colon + 1), where);
  workload.name = name_from(spec, workload.requests.size());
  validate(workload, where);
  return workload;
}

}  // namespace splitwave::workloads
