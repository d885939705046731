// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/document.h"
#include "base/error.h"
#include "base/fields.h"
#include "base/text.h"
#include "workloads/definition.h"
#include "workloads/format_keys.h"
#include "workloads/limits.h"

namespace splitwave::workloads {

namespace {

using Kind = base::JsonValue::Kind;

// Whether the text is an index as JSON would write it; few digits, so that it fits any integer.
bool is_index(std::string_view text) {
  return !text.empty() && text.size() <= 7 && text.find_first_not_of("0123456789") == std::string_view::npos &&
         (text.size() == 1 || text.front() != '0');
}

// "requests[0].context_len" -> requests, 0, context_len. None if the text is no such path, or one that leads deeper
// than documents do. Each field has one path, so that axes of different paths are different fields.
std::optional<std::vector<Sweep::Step>> read_path(std::string_view path) {
  std::vector<Sweep::Step> steps;
  while (steps.size() < static_cast<std::size_t>(base::kMaxDepth)) {
    const std::string_view key = path.substr(0, path.find_first_of(".[]"));
    if (key.empty()) return std::nullopt;
    steps.push_back({std::string(key), false});
    path.remove_prefix(key.size());
    while (path.starts_with('[')) {
      const std::size_t end = path.find(']');
      if (end == std::string_view::npos || !is_index(path.substr(1, end - 1))) return std::nullopt;
      steps.push_back({std::string(path.substr(1, end - 1)), true});
      path.remove_prefix(end + 1);
    }
    if (path.empty()) break;
    if (path.front() != '.') return std::nullopt;
    path.remove_prefix(1);
    if (path.empty()) return std::nullopt;
  }
  if (!path.empty() || steps.size() > static_cast<std::size_t>(base::kMaxDepth)) return std::nullopt;
  return steps;
}

base::JsonValue integer_value(std::int64_t number) {
  base::JsonValue value;
  value.kind = Kind::integer;
  value.negative = number < 0;
  value.magnitude = static_cast<std::uint64_t>(number < 0 ? -number : number);
  return value;
}

// {"from": 1024, "to": 8192, "factor": 2} or {"from": 1, "to": 9, "step": 4}
std::vector<base::JsonValue> read_range(const base::JsonValue& value, const std::string& where,
                                        const std::string& path) {
  const base::Fields fields(value, where, path, kRangeKeys);
  constexpr std::int64_t kLargest = std::int64_t{1} << 52;
  const std::int64_t from = fields.integer("from", -kLargest, kLargest);
  const std::int64_t to = fields.integer("to", from, kLargest);
  if (fields.has("step") == fields.has("factor")) {
    throw base::InputError(fmt::format("{}: {} needs either step or factor", where, path));
  }
  std::vector<base::JsonValue> values;
  if (fields.has("step")) {
    const std::int64_t step = fields.integer("step", 1, kLargest);
    if ((to - from) / step >= kMaxWorkloads) fields.refuse("step", fmt::format("at most {} values", kMaxWorkloads));
    for (std::int64_t number = from; number <= to; number += step) values.push_back(integer_value(number));
  } else {
    const std::int64_t factor = fields.integer("factor", 2, 1024);
    if (from < 1) fields.refuse("from", "an integer of at least 1, since factor is given");
    for (std::int64_t number = from; number <= to; number *= factor) values.push_back(integer_value(number));
  }
  return values;
}

// Sets the field at `path`; objects on the way that are absent are made. Whether the field may exist is for the
// reader of the result to say.
void assign(base::JsonValue& root, const std::vector<Sweep::Step>& steps, base::JsonValue value,
            const std::string& problem) {
  base::JsonValue* place = &root;
  for (const Sweep::Step& step : steps) {
    if (step.is_index) {
      const std::size_t index = std::stoul(step.text);
      if (!place->is(Kind::array) || index >= place->items.size()) throw base::InputError(problem);
      place = &place->items[index];
      continue;
    }
    if (place->is(Kind::null)) place->kind = Kind::object;
    if (!place->is(Kind::object)) throw base::InputError(problem);
    if (place->find(step.text) == nullptr) {
      place->keys.push_back(step.text);
      place->items.emplace_back();
    }
    place = place->find(step.text);
  }
  *place = std::move(value);
}

std::string label_of(const base::JsonValue& value, std::size_t index) {
  if (value.is(Kind::array) || value.is(Kind::object)) return fmt::format("#{}", index);
  return value.is(Kind::text) ? base::printable(value.text, 40) : value.shown();
}

}  // namespace

Sweep::Sweep(const base::JsonValue& value, const std::string& where, const std::string& path)
    : where_(where), path_(path) {
  const base::JsonValue* sweep = value.find("sweep");
  base_.kind = value.kind;
  for (std::size_t i = 0; i < value.items.size(); ++i) {
    if (&value.items[i] == sweep) continue;
    base_.items.push_back(value.items[i]);
    if (!value.keys.empty()) base_.keys.push_back(value.keys[i]);
  }
  if (sweep == nullptr) return;
  const std::string sweep_path = path.empty() ? "sweep" : path + ".sweep";
  if (!sweep->is(Kind::object)) base::refuse_value(where, sweep_path, sweep->shown(), "an object");
  if (static_cast<std::int64_t>(sweep->items.size()) > kMaxSweepAxes) {
    throw base::InputError(
        fmt::format("{}: {} has {} axes; allowed: at most {}", where, sweep_path, sweep->items.size(), kMaxSweepAxes));
  }
  for (std::size_t i = 0; i < sweep->items.size(); ++i) {
    const std::string& field = sweep->keys[i];
    const std::string axis_path = fmt::format("{}.{}", sweep_path, base::printable(field));
    const base::JsonValue& values = sweep->items[i];
    std::optional<std::vector<Step>> steps = read_path(field);
    if (!steps) {
      throw base::InputError(
          fmt::format("{}: {} is not a field of the workload; allowed: a path such as geometry.window or "
                      "requests[0].context_len, of at most {} steps",
                      where, axis_path, base::kMaxDepth));
    }
    const std::string& root = steps->front().text;
    if (root == "name" || root == "format" || root == "sweep") {
      throw base::InputError(fmt::format("{}: {} may not be swept", where, axis_path));
    }
    if (!values.is(Kind::array) && !values.is(Kind::object)) {
      base::refuse_value(where, axis_path, values.shown(), "an array of values, or from, to and step or factor");
    }
    Axis axis{field, std::move(*steps), "",
              values.is(Kind::array) ? values.items : read_range(values, where, axis_path)};
    if (axis.values.empty()) base::refuse_value(where, axis_path, "empty", "at least one value");
    if (static_cast<std::int64_t>(axis.values.size()) > kMaxWorkloads / points_) {
      throw base::InputError(fmt::format("{}: {} has more than {} points", where, sweep_path, kMaxWorkloads));
    }
    points_ *= static_cast<std::int64_t>(axis.values.size());
    axes_.push_back(std::move(axis));
  }
  label_axes();
}

void Sweep::label_axes() {
  for (Axis& axis : axes_) {
    const std::string& last = axis.steps.back().text;
    const auto same =
        std::count_if(axes_.begin(), axes_.end(), [&](const Axis& other) { return other.steps.back().text == last; });
    axis.label = base::printable(same > 1 ? axis.path : last, 40);
  }
}

base::JsonValue Sweep::point(std::int64_t index) const {
  base::JsonValue result = base_;
  std::string suffix;
  std::int64_t stride = points_;
  for (const Axis& axis : axes_) {  // the last axis runs fastest
    stride /= static_cast<std::int64_t>(axis.values.size());
    const auto at = static_cast<std::size_t>(index / stride) % axis.values.size();
    assign(result, axis.steps, axis.values[at],
           fmt::format("{}: {}{}sweep.{} is not a field of the workload", where_, path_, path_.empty() ? "" : ".",
                       base::printable(axis.path)));
    suffix += fmt::format("{}{}={}", suffix.empty() ? "/" : ",", axis.label, label_of(axis.values[at], at));
  }
  if (base::JsonValue* name = result.find("name"); name != nullptr && name->is(Kind::text)) name->text += suffix;
  return result;
}

}  // namespace splitwave::workloads
