// SPDX-License-Identifier: Apache-2.0
#include "base/document.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <unordered_set>
#include <utility>

#include "base/error.h"
#include "base/text.h"

namespace splitwave::base {

namespace {

using Kind = JsonValue::Kind;
using Sax = nlohmann::json_sax<nlohmann::json>;

// Builds the tree. The stack holds the open containers by value, so that nothing points into a growing vector.
class TreeBuilder final : public Sax {
 public:
  explicit TreeBuilder(std::string where) : where_(std::move(where)) {}

  JsonValue take() { return std::move(root_); }

  bool null() override { return add(JsonValue{}); }

  bool boolean(bool value) override {
    JsonValue result;
    result.kind = Kind::boolean;
    result.boolean = value;
    return add(std::move(result));
  }

  bool number_integer(number_integer_t value) override {
    JsonValue result;
    result.kind = Kind::integer;
    result.negative = value < 0;
    result.magnitude = value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
    return add(std::move(result));
  }

  bool number_unsigned(number_unsigned_t value) override {
    JsonValue result;
    result.kind = Kind::integer;
    result.magnitude = value;
    return add(std::move(result));
  }

  bool number_float(number_float_t value, const string_t& written) override {
    JsonValue result;
    result.kind = Kind::real;
    result.real = value;
    result.text = written;
    return add(std::move(result));
  }

  bool string(string_t& value) override {
    JsonValue result;
    result.kind = Kind::text;
    result.text = std::move(value);
    return add(std::move(result));
  }

  bool binary(binary_t&) override { return false; }  // JSON text has none

  bool start_object(std::size_t) override { return open(Kind::object); }
  bool start_array(std::size_t) override { return open(Kind::array); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& value) override {
    Container& container = open_.back();
    if (!container.add(value)) fail(fmt::format("key \"{}\" appears twice", printable(value)));
    return true;
  }

  bool parse_error(std::size_t position, const std::string& token, const nlohmann::detail::exception& error) override {
    constexpr int kNumberOverflow = 406;
    if (error.id == kNumberOverflow) fail(fmt::format("number {} is out of range", printable(token)));
    fail(fmt::format("no valid JSON at byte {}, near \"{}\"", position, printable(token, 30)));
  }

 private:
  struct Container {
    /// Keys of objects up to this size are compared one by one, which is faster than a set.
    static constexpr std::size_t kFewKeys = 48;
    JsonValue value;
    std::unordered_set<std::string> seen;  ///< of objects with more keys

    /// False if the key is there already.
    bool add(std::string& key) {
      std::vector<std::string>& keys = value.keys;
      if (keys.size() < kFewKeys) {
        if (std::find(keys.begin(), keys.end(), key) != keys.end()) return false;
      } else {
        if (seen.empty()) seen.insert(keys.begin(), keys.end());
        if (!seen.insert(key).second) return false;
      }
      keys.push_back(std::move(key));
      return true;
    }
  };

  [[noreturn]] void fail(const std::string& problem) const { throw InputError(where_ + ": " + problem); }

  bool add(JsonValue value) {
    count();
    attach(std::move(value));
    return true;
  }

  bool open(Kind kind) {
    count();
    if (static_cast<int>(open_.size()) >= kMaxDepth) {
      fail(fmt::format("nested more than {} levels deep", kMaxDepth));
    }
    open_.emplace_back();
    open_.back().value.kind = kind;
    return true;
  }

  bool close() {
    JsonValue value = std::move(open_.back().value);
    open_.pop_back();
    attach(std::move(value));
    return true;
  }

  void attach(JsonValue value) {
    if (open_.empty()) {
      root_ = std::move(value);
    } else {
      open_.back().value.items.push_back(std::move(value));
    }
  }

  void count() {
    if (++values_ > kMaxValues) fail(fmt::format("holds more than {} values", kMaxValues));
  }

  std::string where_;
  JsonValue root_;
  std::vector<Container> open_;
  std::int64_t values_ = 0;
};

}  // namespace

const JsonValue* JsonValue::find(std::string_view key) const {
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (keys[i] == key) return &items[i];
  }
  return nullptr;
}

JsonValue* JsonValue::find(std::string_view key) {
  return const_cast<JsonValue*>(std::as_const(*this).find(key));  // NOLINT: the object itself is not const here
}

std::optional<std::int64_t> JsonValue::as_int64() const {
  constexpr auto kLargest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (kind != Kind::integer || magnitude > kLargest) return std::nullopt;
  const auto value = static_cast<std::int64_t>(magnitude);
  return negative ? -value : value;
}

std::optional<double> JsonValue::as_double() const {
  if (kind == Kind::real) return real;
  if (kind != Kind::integer) return std::nullopt;
  const auto value = static_cast<double>(magnitude);
  return negative ? -value : value;
}

std::string JsonValue::shown() const {
  switch (kind) {
    case Kind::null:
      return "null";
    case Kind::boolean:
      return boolean ? "true" : "false";
    case Kind::integer:
      return fmt::format("{}{}", negative ? "-" : "", magnitude);
    case Kind::real:
      return printable(text, 40);
    case Kind::text:
      return fmt::format("\"{}\"", printable(text, 40));
    case Kind::array:
      return "an array";
    case Kind::object:
      return "an object";
  }
  return "";
}

JsonValue parse_document(std::string_view text, const std::string& where) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) throw InputError(where + ": holds no JSON");
  TreeBuilder builder(where);
  nlohmann::json::sax_parse(text.begin(), text.end(), &builder);
  return builder.take();
}

}  // namespace splitwave::base
