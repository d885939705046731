// SPDX-License-Identifier: Apache-2.0
// The constants of a kernel config as they are written to its file.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

namespace splitwave::studies {

/// A constant is written with five digits.
inline double rounded(double value) {
  return std::stod(fmt::format("{:.5g}", value));
}

class ConstantList {
 public:
  explicit ConstantList(std::string source) : source_(std::move(source)) {}

  void add(const std::string& key, const char* unit, const nlohmann::ordered_json& value,
           const char* confidence = "measured") {
    list_[key] = {{"value", value}, {"unit", unit}, {"source", source_}, {"confidence", confidence}};
  }
  /// At least 0.
  void add_ns(const std::string& key, double value) { add(key, "ns", rounded(std::max(0.0, value))); }

  const nlohmann::ordered_json& value(const std::string& key) const { return list_.at(key).at("value"); }
  nlohmann::ordered_json take() && { return std::move(list_); }

 private:
  std::string source_;
  nlohmann::ordered_json list_ = nlohmann::ordered_json::object();
};

}  // namespace splitwave::studies
