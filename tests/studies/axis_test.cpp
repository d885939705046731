// SPDX-License-Identifier: Apache-2.0
#include "studies/sweep_axis.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/error.h"
#include "studies/sweep_fields.h"

namespace splitwave::studies {
namespace {

const AxisDomain kTokens{"context", AxisType::integer, 0, 1 << 30, true};
const AxisDomain kCount{"sms", AxisType::integer, 1, 65536, false};
const AxisDomain kReal{"bandwidth", AxisType::real, 1e-12, 1e24, false};
const AxisDomain kWord{"dtype", AxisType::text, 0, 0, false};

std::vector<std::string> texts(const AxisDomain& domain, const std::string& values) {
  std::vector<std::string> result;
  for (const AxisValue& value : parse_axis(domain, values).values) result.push_back(value.text);
  return result;
}

using Texts = std::vector<std::string>;

TEST(Axis, Lists) {
  EXPECT_EQ(texts(kTokens, "1,2,3k"), (Texts{"1", "2", "3072"}));
  EXPECT_EQ(texts(kCount, "108, 132"), (Texts{"108", "132"}));
  EXPECT_EQ(texts(kReal, "0.5,4.8k"), (Texts{"0.5", "4800"}));
  EXPECT_EQ(texts(kWord, "f16,bf16"), (Texts{"f16", "bf16"}));
}

TEST(Axis, Ranges) {
  EXPECT_EQ(texts(kCount, "1:4"), (Texts{"1", "2", "3", "4"}));
  EXPECT_EQ(texts(kCount, "1:10:4"), (Texts{"1", "5", "9"}));
  EXPECT_EQ(texts(kCount, "1:9:4"), (Texts{"1", "5", "9"}));
  EXPECT_EQ(texts(kReal, "0.1:0.4:0.1").size(), 4U);
  EXPECT_EQ(texts(kTokens, "1,8:16:4,1k"), (Texts{"1", "8", "12", "16", "1024"}));
}

TEST(Axis, LogRanges) {
  EXPECT_EQ(texts(kTokens, "1k..4kx2"), (Texts{"1024", "2048", "4096"}));
  EXPECT_EQ(texts(kTokens, "1k..4k x2"), (Texts{"1024", "2048", "4096"}));
  EXPECT_EQ(texts(kTokens, "1k..1M x2").size(), 11U);
  EXPECT_EQ(texts(kCount, "1..100x10"), (Texts{"1", "10", "100"}));
  EXPECT_EQ(texts(kCount, "1..3x1.1"), (Texts{"1", "2", "3"})) << "repeats after rounding are left out";
}

TEST(Axis, SuffixesArePowersOf1024ForTokensAndOf1000Elsewhere) {
  EXPECT_EQ(texts(kTokens, "1k,1M"), (Texts{"1024", "1048576"}));
  EXPECT_EQ(texts(kCount, "1k"), (Texts{"1000"}));
}

TEST(Axis, RefusesWhatIsWrongAndNamesIt) {
  const std::vector<std::string> wrong = {"",
                                          ",",
                                          "1,",
                                          "1,,2",
                                          "x",
                                          "1:",
                                          ":1",
                                          "4:1",
                                          "1:2:0",
                                          "1:2:-1",
                                          "1:2:3:4",
                                          "1..4",
                                          "1..4x",
                                          "1..4x1",
                                          "1..4x0.5",
                                          "0..4x2",
                                          "4..1x2",
                                          "..",
                                          "1..x2",
                                          "nan",
                                          "inf",
                                          "1e99",
                                          "-1",
                                          "1.5",
                                          "1,1",
                                          "1kk",
                                          "0x10",
                                          "1:2:0.5",
                                          "1..1e9x1.0000001",
                                          "99999999999999999999",
                                          "1:1e300",
                                          "1 2",
                                          std::string("1\0", 2),
                                          "1\n2"};
  for (const std::string& values : wrong) {
    try {
      parse_axis(kTokens, values);
      ADD_FAILURE() << "accepted: " << values;
    } catch (const base::InputError& error) {
      const std::string message = error.what();
      EXPECT_NE(message.find("--axis context"), std::string::npos) << message;
      EXPECT_NE(message.find("allowed: "), std::string::npos) << message;
      EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    }
  }
  EXPECT_THROW(parse_axis(kCount, "0"), base::InputError);
  EXPECT_THROW(parse_axis(kCount, "1:2000000"), base::InputError);
  EXPECT_THROW(parse_axis(kWord, "f16,,bf16"), base::InputError);
}

TEST(Axis, NeedsAKeyAndValues) {
  for (const char* argument : {"", "context", "=1", "context="}) {
    EXPECT_THROW(split_axis(argument), base::InputError) << argument;
  }
  EXPECT_EQ(split_axis("context=1,2").key, "context");
}

RC_GTEST_PROP(AxisProperty, ARangeHasItsCountAndStaysInside, ()) {
  const int first = *rc::gen::inRange(0, 1000);
  const int last = first + *rc::gen::inRange(0, 1000);
  const int step = *rc::gen::inRange(1, 50);
  const Axis axis =
      parse_axis(kTokens, std::to_string(first) + ":" + std::to_string(last) + ":" + std::to_string(step));
  RC_ASSERT(static_cast<int>(axis.values.size()) == (last - first) / step + 1);
  RC_ASSERT(axis.values.front().integer() == first);
  RC_ASSERT(axis.values.back().integer() <= last);
}

RC_GTEST_PROP(AxisProperty, ALogRangeAscendsWithinItsEnds, ()) {
  const int first = *rc::gen::inRange(1, 1000);
  const int last = first + *rc::gen::inRange(0, 100000);
  const double factor = 1 + *rc::gen::inRange(1, 400) / 100.0;
  const Axis axis =
      parse_axis(kTokens, std::to_string(first) + ".." + std::to_string(last) + "x" + std::to_string(factor));
  RC_ASSERT(axis.values.front().integer() == first);
  RC_ASSERT(axis.values.back().integer() <= last);
  RC_ASSERT(std::is_sorted(axis.values.begin(), axis.values.end(),
                           [](const AxisValue& a, const AxisValue& b) { return a.number < b.number; }));
}

TEST(Fields, AreFoundByNameOrNearNamesAreOffered) {
  EXPECT_EQ(sweep_fields()[find_field("context")].domain.name, "context");
  try {
    find_field("contxt");
    ADD_FAILURE() << "found contxt";
  } catch (const base::InputError& error) {
    EXPECT_NE(std::string(error.what()).find("did you mean context"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace splitwave::studies
