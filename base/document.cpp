// SPDX-License-Identifier: Apache-2.0
// A reader of its own: a library's that builds the same tree takes three times as long, which is what a million records
// wait for.
#include "base/document.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <unordered_set>
#include <utility>

#include "base/error.h"
#include "base/text.h"

namespace splitwave::base {

namespace {

using Kind = JsonValue::Kind;

bool is_digit(char letter) {
  return letter >= '0' && letter <= '9';
}

/// Reads a text from its beginning to its end (RFC 8259).
class Parser {
 public:
  Parser(std::string_view text, const std::string& where) : text_(text), where_(where) {
    if (text_.starts_with("\xef\xbb\xbf")) at_ = 3;
  }

  JsonValue document() {
    JsonValue root;
    skip_spaces();
    if (at_ == text_.size()) throw InputError(where_ + ": holds no JSON");
    value(root, 0);
    skip_spaces();
    if (at_ != text_.size()) invalid();
    return root;
  }

 private:
  [[noreturn]] void fail(const std::string& problem) const { throw InputError(where_ + ": " + problem); }

  /// What is at the place is not what has to be there.
  [[noreturn]] void invalid() const {
    const std::size_t begin = at_ - std::min<std::size_t>(at_, 12);
    fail(fmt::format("no valid JSON at byte {}, near \"{}\"", at_ + 1, printable(text_.substr(begin, 30), 30)));
  }

  /// The byte at the place; 0, which is nowhere allowed, behind the end.
  char here() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  void skip_spaces() {
    while (here() == ' ' || here() == '\n' || here() == '\t' || here() == '\r') ++at_;
  }

  /// Passes over the letter, if it is there.
  bool passes(char letter) {
    if (here() != letter) return false;
    ++at_;
    return true;
  }

  void expect(std::string_view letters) {
    for (const char letter : letters) {
      if (!passes(letter)) invalid();
    }
  }

  void value(JsonValue& result, int depth) {
    if (++values_ > kMaxValues) fail(fmt::format("holds more than {} values", kMaxValues));
    switch (here()) {
      case '{':
      case '[':
        if (depth >= kMaxDepth) fail(fmt::format("nested more than {} levels deep", kMaxDepth));
        here() == '{' ? object(result, depth) : array(result, depth);
        break;
      case '"':
        result.kind = Kind::text;
        string(result.text);
        break;
      case 'n':
        expect("null");
        break;
      case 't':
      case 'f':
        result.kind = Kind::boolean;
        result.boolean = here() == 't';
        expect(result.boolean ? "true" : "false");
        break;
      default:
        number(result);
    }
  }

  void array(JsonValue& result, int depth) {
    result.kind = Kind::array;
    ++at_;
    skip_spaces();
    if (passes(']')) return;
    do {
      skip_spaces();
      value(result.items.emplace_back(), depth + 1);
      skip_spaces();
    } while (passes(','));
    expect("]");
  }

  void object(JsonValue& result, int depth) {
    constexpr std::size_t kFewKeys = 48;  // which are compared one by one: faster than a set
    result.kind = Kind::object;
    std::unordered_set<std::string> seen;
    ++at_;
    skip_spaces();
    if (passes('}')) return;
    do {
      skip_spaces();
      std::string key;
      string(key);
      std::vector<std::string>& keys = result.keys;
      if (keys.size() == kFewKeys) seen.insert(keys.begin(), keys.end());
      const bool added =
          keys.size() < kFewKeys ? std::find(keys.begin(), keys.end(), key) == keys.end() : seen.insert(key).second;
      if (!added) fail(fmt::format("key \"{}\" appears twice", printable(key)));
      if (keys.empty()) {
        keys.reserve(8);
        result.items.reserve(8);
      }
      keys.push_back(std::move(key));
      skip_spaces();
      expect(":");
      skip_spaces();
      value(result.items.emplace_back(), depth + 1);
      skip_spaces();
    } while (passes(','));
    expect("}");
  }

  void string(std::string& result) {
    expect("\"");
    const std::size_t begin = at_;
    bool ascii = true;
    while (true) {
      const std::size_t from = at_;
      while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\\' &&
             static_cast<unsigned char>(text_[at_]) >= 0x20) {
        ascii = ascii && static_cast<unsigned char>(text_[at_]) < 0x80;
        ++at_;
      }
      result.append(text_, from, at_ - from);
      if (here() != '\\') break;
      ++at_;
      escape(result);
    }
    if (here() != '"') invalid();
    if (!ascii) {
      const std::size_t bad = invalid_utf8_at(text_.substr(begin, at_ - begin));
      if (bad != std::string_view::npos) {
        at_ = begin + bad;
        invalid();
      }
    }
    ++at_;
  }

  /// What is behind a backslash.
  void escape(std::string& result) {
    constexpr std::string_view letters = "\"\\/bfnrt";
    constexpr std::string_view meanings = "\"\\/\b\f\n\r\t";
    if (const std::size_t which = letters.find(here()); which != std::string_view::npos) {
      result += meanings[which];
      ++at_;
      return;
    }
    expect("u");
    std::uint32_t code = hexadecimal();
    if (code >= 0xdc00 && code <= 0xdfff) invalid();
    if (code >= 0xd800 && code <= 0xdbff) {  // the first of a pair of surrogates
      expect("\\u");
      const std::uint32_t second = hexadecimal();
      if (second < 0xdc00 || second > 0xdfff) invalid();
      code = 0x10000 + ((code - 0xd800) << 10) + (second - 0xdc00);
    }
    const int more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;  // bytes behind the first
    constexpr std::uint32_t first_byte[] = {0, 0xc0, 0xe0, 0xf0};
    result += static_cast<char>(first_byte[more] | (code >> (6 * more)));
    for (int i = more - 1; i >= 0; --i) result += static_cast<char>(0x80 | ((code >> (6 * i)) & 0x3f));
  }

  std::uint32_t hexadecimal() {
    std::uint32_t code = 0;
    for (int i = 0; i < 4; ++i, ++at_) {
      const char letter = here();
      const bool upper = letter >= 'A' && letter <= 'F';
      if (!is_digit(letter) && !upper && !(letter >= 'a' && letter <= 'f')) invalid();
      code = code * 16 + static_cast<std::uint32_t>(is_digit(letter) ? letter - '0' : (letter | 0x20) - 'a' + 10);
    }
    return code;
  }

  void digits() {
    if (!is_digit(here())) invalid();
    while (is_digit(here())) ++at_;
  }

  void number(JsonValue& result) {
    const std::size_t begin = at_;
    const bool minus = passes('-');
    const std::size_t first = at_;
    if (!passes('0')) digits();
    const std::string_view whole = text_.substr(first, at_ - first);
    bool real = passes('.');
    if (real) digits();
    if (here() == 'e' || here() == 'E') {
      real = true;
      ++at_;
      if (!passes('+')) passes('-');
      digits();
    }
    if (!real && integer(result, whole, minus)) return;
    result.kind = Kind::real;
    result.text = text_.substr(begin, at_ - begin);
    const std::optional<double> read = number_in(result.text);
    if (!read) fail(fmt::format("number {} is out of range", printable(result.text)));
    result.real = *read;
  }

  /// Whether the digits are an integer of 64 bits; with a sign, of a signed one.
  static bool integer(JsonValue& result, std::string_view whole, bool minus) {
    std::uint64_t magnitude = 0;
    for (const char letter : whole) {
      const auto digit = static_cast<std::uint64_t>(letter - '0');
      if (magnitude > (std::numeric_limits<std::uint64_t>::max() - digit) / 10) return false;
      magnitude = magnitude * 10 + digit;
    }
    if (minus && magnitude > std::uint64_t{1} << 63) return false;
    result.kind = Kind::integer;
    result.negative = minus && magnitude > 0;
    result.magnitude = magnitude;
    return true;
  }

  std::string_view text_;
  const std::string& where_;
  std::size_t at_ = 0;
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
  return Parser(text, where).document();
}

}  // namespace splitwave::base
