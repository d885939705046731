// SPDX-License-Identifier: Apache-2.0
// Documents: one workload, a suite, or JSON Lines of them.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <unordered_set>

#include "base/document.h"
#include "base/error.h"
#include "base/fields.h"
#include "base/lines.h"
#include "base/text.h"
#include "workloads/definition.h"
#include "workloads/format_keys.h"
#include "workloads/limits.h"
#include "workloads/load.h"

namespace splitwave::workloads {

namespace {

// Workloads of one file as they come, within its limits.
class Collector {
 public:
  void add(Workload workload, const std::string& where) {
    requests_ += static_cast<std::int64_t>(workload.requests.size());
    if (requests_ > kMaxTotalRequests) {
      throw base::InputError(fmt::format("{}: more than {} requests in one file", where, kMaxTotalRequests));
    }
    if (static_cast<std::int64_t>(workloads_.size()) >= kMaxWorkloads) {
      throw base::InputError(fmt::format("{}: more than {} workloads in one file", where, kMaxWorkloads));
    }
    if (!names_.insert(workload.name).second) {
      throw base::InputError(fmt::format("{}: two workloads are called \"{}\"", where, base::printable(workload.name)));
    }
    workloads_.push_back(std::move(workload));
  }

  void add_definition(const base::JsonValue& value, const std::string& where, const std::string& path) {
    const Sweep sweep(value, where, path);
    for (std::int64_t i = 0; i < sweep.points(); ++i) add(read_workload(sweep.point(i), where, path), where);
  }

  void add_document(const base::JsonValue& document, const std::string& where) {
    const base::JsonValue* suite = document.find("workloads");
    const bool is_suite = suite != nullptr || document.find("suite") != nullptr;
    const std::span<const std::string_view> keys =
        is_suite ? std::span<const std::string_view>(kSuiteKeys) : std::span<const std::string_view>(kWorkloadKeys);
    const base::Fields fields(document, where, "", keys);
    fields.integer("format", kFormatVersion, kFormatVersion);
    if (!is_suite) return add_definition(document, where, "");
    fields.text("suite");
    fields.optional_text("note");
    const base::JsonValue& list = fields.array("workloads");
    for (std::size_t i = 0; i < list.items.size(); ++i) {
      add_definition(list.items[i], where, fmt::format("workloads[{}]", i));
    }
  }

  std::vector<Workload> take() { return std::move(workloads_); }

 private:
  std::vector<Workload> workloads_;
  std::unordered_set<std::string> names_;
  std::int64_t requests_ = 0;
};

// JSON Lines: the first line is a whole document, and another one follows.
bool is_json_lines(std::string_view text) {
  base::Lines lines(text);
  const std::string_view first = lines.next();
  return !lines.next().empty() && nlohmann::json::accept(first);
}

}  // namespace

std::vector<Workload> parse_json(std::string_view text, const std::string& where) {
  const std::string file = base::printable(where, 200);
  if (static_cast<std::int64_t>(text.size()) > base::kMaxFileBytes) {
    throw base::InputError(
        fmt::format("{}: has {} bytes; at most {} are read", file, text.size(), base::kMaxFileBytes));
  }
  Collector collector;
  if (!is_json_lines(text)) {
    collector.add_document(base::parse_document(text, file), file);
    return collector.take();
  }
  base::Lines lines(text);
  for (std::string_view line = lines.next(); !line.empty(); line = lines.next()) {
    const std::string place = fmt::format("{}:{}", file, lines.number());
    collector.add_document(base::parse_document(line, place), place);
  }
  return collector.take();
}

}  // namespace splitwave::workloads
