// SPDX-License-Identifier: Apache-2.0
// What is JSON and what it says is judged by nlohmann's parser.
#include "base/document.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.h"

namespace splitwave::base {
namespace {

/// The tree as the other parser's.
nlohmann::ordered_json tree(const JsonValue& value) {
  nlohmann::ordered_json result;
  switch (value.kind) {
    case JsonValue::Kind::null:
      break;
    case JsonValue::Kind::boolean:
      result = value.boolean;
      break;
    case JsonValue::Kind::integer:
      result = value.magnitude;
      if (value.negative) result = static_cast<std::int64_t>(0 - value.magnitude);
      break;
    case JsonValue::Kind::real:
      result = value.real;
      break;
    case JsonValue::Kind::text:
      result = value.text;
      break;
    case JsonValue::Kind::array:
      result = nlohmann::ordered_json::array();
      for (const JsonValue& item : value.items) result.push_back(tree(item));
      break;
    case JsonValue::Kind::object:
      result = nlohmann::ordered_json::object();
      for (std::size_t i = 0; i < value.items.size(); ++i) result[value.keys[i]] = tree(value.items[i]);
      break;
  }
  return result;
}

std::string refusal(const std::string& text) {
  try {
    parse_document(text, "t");
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

/// Both parsers take the text and read the same of it, or neither does.
void expect_agreement(const std::string& text) {
  const nlohmann::ordered_json theirs = nlohmann::ordered_json::parse(text, nullptr, false);
  const std::string problem = refusal(text);
  if (problem.find("appears twice") != std::string::npos) return;  // which the other one allows
  ASSERT_EQ(problem.empty(), !theirs.is_discarded()) << text << "\n" << problem;
  if (problem.empty()) {
    ASSERT_EQ(tree(parse_document(text, "t")).dump(), theirs.dump()) << text;
  }
}

/// Some of them JSON.
constexpr const char* kTexts[] = {"0",
                                  "-0",
                                  "-0.0",
                                  "1",
                                  "-1",
                                  "01",
                                  "-01",
                                  "-",
                                  "--1",
                                  "+1",
                                  "1.",
                                  ".5",
                                  "1.5",
                                  "1e5",
                                  "1E+5",
                                  "1e-5",
                                  "1e",
                                  "1e+",
                                  "1.e5",
                                  "0e0",
                                  "00",
                                  "0x10",
                                  "9223372036854775807",
                                  "9223372036854775808",
                                  "-9223372036854775808",
                                  "-9223372036854775809",
                                  "18446744073709551615",
                                  "18446744073709551616",
                                  "123456789012345678901234567890",
                                  "4.9e-324",
                                  "2.2250738585072011e-308",
                                  "1.7976931348623157e308",
                                  "0.1",
                                  "1e-7",
                                  "null",
                                  "true",
                                  "false",
                                  "nul",
                                  "nulll",
                                  "True",
                                  "NaN",
                                  "Infinity",
                                  "[]",
                                  "[1]",
                                  "[1,]",
                                  "[,1]",
                                  "[1 2]",
                                  "[1",
                                  "]",
                                  "{}",
                                  "{\"a\":1}",
                                  "{\"a\":1,}",
                                  "{\"a\"}",
                                  "{\"a\":}",
                                  "{a:1}",
                                  "{\"a\":1 \"b\":2}",
                                  "{\"a\":1",
                                  " \t\r\n1 \t\r\n",
                                  "\v1",
                                  "1 1",
                                  "\xef\xbb\xbf[1]",
                                  "\xef\xbb[1]",
                                  "// c\n1",
                                  "\"\"",
                                  "\"a",
                                  "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"",
                                  "\"\\a\"",
                                  "\"\\",
                                  "\"\\u0041\\u00e9\\u20ac\\u0000\"",
                                  "\"\\ud83d\\ude00\"",
                                  "\"\\ud83d\"",
                                  "\"\\ud83d\\u0041\"",
                                  "\"\\ude00\"",
                                  "\"\\u12g4\"",
                                  "\"\\u12\"",
                                  "\"\x01\"",
                                  "\"\x7f\"",
                                  "\"\t\"",
                                  "\"\xc3\xa9\"",
                                  "\"\xc3\"",
                                  "\"\xed\xa0\x80\"",
                                  "\"\xf4\x90\x80\x80\"",
                                  "\"\xc0\x80\"",
                                  "'a'",
                                  "[[[[]]]]",
                                  "{\"\":{\"\":[]}}"};

TEST(Document, NumbersLiteralsAndTexts) {
  for (const char* text : kTexts) expect_agreement(text);
  expect_agreement(std::string("[1\0]", 4));
  expect_agreement(std::string("\"a\0b\"", 5));
}

/// A document that holds a bit of everything.
const std::string& sample() {
  static const std::string text =
      R"({"a":[1,-2,3.5e-7,true,false,null,{"b":"\u00e9\n\ud83d\ude00"}],"long key of a record":"text","c":{"d":{},"e":[]},)"
      "\"\xc3\xa9\":18446744073709551615, \"x\" : [ [ 0.125 ] ] }";
  return text;
}

RC_GTEST_PROP(Document, DamagedTextsAreJudgedAlike, ()) {
  std::string text = sample();
  const int changes = *rc::gen::inRange(0, 4);
  for (int i = 0; i < changes; ++i) {
    const auto at = static_cast<std::size_t>(*rc::gen::inRange<int>(0, static_cast<int>(text.size())));
    const char letter =
        *rc::gen::oneOf(rc::gen::elementOf(std::string("{}[],:\"\\0123456789.eE+-u tfn")), rc::gen::arbitrary<char>());
    switch (*rc::gen::inRange(0, 3)) {
      case 0:
        text[at] = letter;
        break;
      case 1:
        text.insert(at, 1, letter);
        break;
      default:
        text.erase(at, static_cast<std::size_t>(*rc::gen::inRange(1, 20)));
    }
    if (text.empty()) text = "0";
  }
  expect_agreement(text);
}

TEST(Document, SaysWhereItEnds) {
  expect_agreement(sample());
  EXPECT_EQ(refusal("  "), "t: holds no JSON");
  EXPECT_EQ(refusal("[1, 2, x]"), "t: no valid JSON at byte 8, near \"[1, 2, x]\"");
  EXPECT_EQ(refusal("[1, 2"), "t: no valid JSON at byte 6, near \"[1, 2\"");
  EXPECT_EQ(refusal("{\"a\":1e999}"), "t: number 1e999 is out of range");
  EXPECT_EQ(refusal(std::string(kMaxDepth, '[') + std::string(kMaxDepth, ']')), "");
  EXPECT_EQ(refusal(std::string(kMaxDepth + 1, '[')), "t: nested more than 32 levels deep");
}

TEST(Document, ManyKeysAreDifferentOnes) {
  std::string text = "{\"k0\":0";
  for (int i = 1; i < 100; ++i) text += ",\"k" + std::to_string(i) + "\":0";
  EXPECT_EQ(refusal(text + "}"), "");
  EXPECT_EQ(refusal(text + ",\"k3\":0}"), "t: key \"k3\" appears twice");
  EXPECT_EQ(refusal(text + ",\"k77\":0}"), "t: key \"k77\" appears twice");
}

}  // namespace
}  // namespace splitwave::base
