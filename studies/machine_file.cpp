// SPDX-License-Identifier: Apache-2.0
#include "studies/machine_file.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace splitwave::studies {
namespace {

using Json = nlohmann::ordered_json;

Json number(double value) {
  const double rounded = std::stod(fmt::format("{:.5g}", value));
  if (rounded == std::floor(rounded) && std::abs(rounded) < 1e15) return static_cast<std::int64_t>(rounded);
  return rounded;
}

Json to_json(const FileConstant& constant) {
  Json value;
  if (constant.is_list) {
    value = Json::array();
    for (const double one : constant.values) value.push_back(number(one));
  } else {
    value = number(constant.values.at(0));
  }
  return {{"value", value}, {"unit", constant.unit}, {"source", constant.source}, {"confidence", constant.confidence}};
}

/// On one line, with spaces after commas and colons.
std::string spaced(const Json& value) {
  if (!value.is_structured()) return value.dump();
  std::string text;
  for (const auto& [key, member] : value.items()) {
    if (!text.empty()) text += ", ";
    text += value.is_object() ? fmt::format("{}: {}", Json(key).dump(), spaced(member)) : spaced(member);
  }
  return value.is_object() ? "{" + text + "}" : "[" + text + "]";
}

/// One line per member, and one per constant, as the shipped files have them.
std::string print(const Json& document) {
  std::string text = "{\n";
  for (const auto& [key, value] : document.items()) {
    if (key == "constants") continue;
    text += fmt::format("  {}: {},\n", Json(key).dump(), spaced(value));
  }
  text += "  \"constants\": {\n";
  std::size_t left = document["constants"].size();
  for (const auto& [key, value] : document["constants"].items()) {
    text += fmt::format("    {}: {}{}\n", Json(key).dump(), spaced(value), --left > 0 ? "," : "");
  }
  return text + "  }\n}\n";
}

}  // namespace

std::string machine_file(std::string_view name, std::string_view title, const std::vector<FileConstant>& constants) {
  Json document = {{"format", 1}, {"name", name}, {"title", title}, {"constants", Json::object()}};
  for (const FileConstant& constant : constants) document["constants"][constant.key] = to_json(constant);
  return print(document);
}

std::string changed_machine_file(const std::string& text, const std::string& where, std::string_view name,
                                 std::string_view title, const std::vector<FileConstant>& constants) {
  Json document = Json::parse(text, nullptr, false);
  if (!document.is_object() || !document.contains("constants") || !document["constants"].is_object()) {
    throw base::InputError(where + ": no machine; allowed: an object with constants (docs/simulator.md)");
  }
  document["name"] = name;
  document["title"] = title;
  document.erase("aliases");
  for (const FileConstant& constant : constants) document["constants"][constant.key] = to_json(constant);
  return print(document);
}

}  // namespace splitwave::studies
