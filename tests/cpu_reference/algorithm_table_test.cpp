// SPDX-License-Identifier: Apache-2.0
// Names of algorithms, as people type them.
#include <gtest/gtest.h>

#include "base/error.h"
#include "cpu_reference/algorithms/algorithms.h"
#include "cpu_reference/algorithms/functions.h"

namespace splitwave::cpu_reference::algorithms {
namespace {

std::string refusal(const std::string& name) {
  try {
    parse(name);
  } catch (const base::InputError& error) {
    return error.what();
  }
  return "";
}

TEST(AlgorithmTable, NamesStandForThemselvesWithTheStandardValues) {
  for (const Algorithm& algorithm : all()) {
    const Call call = parse(algorithm.name);
    EXPECT_EQ(call.algorithm, &algorithm);
    ASSERT_EQ(call.values.size(), algorithm.parameters.size()) << algorithm.name;
    for (std::size_t i = 0; i < call.values.size(); ++i) EXPECT_EQ(call.values[i], algorithm.parameters[i].standard);
    EXPECT_EQ(parse(call.name()).values, call.values);
    EXPECT_FALSE(algorithm.source.empty());
  }
}

TEST(AlgorithmTable, ValuesReachTheAlgorithmInTheirOrder) {
  const HeadShape shape{100, 1000, 8, 8, false};
  EXPECT_EQ(parse("lean-attention:10x20x30").io(shape), lean_attention_io(shape, 10, 20, 30));
  EXPECT_EQ(parse("flash-attention-1:1234").io(shape), flash_attention_1_io(shape, 1234));
}

TEST(AlgorithmTable, RefusalsNameWhatIsAllowed) {
  EXPECT_NE(refusal("flash-atention-2").find("did you mean flash-attention-2"), std::string::npos);
  EXPECT_NE(refusal("flash-atention-2").find("allowed: standard, three-pass"), std::string::npos);
  for (const char* name : {"flash-decoding:", "flash-decoding:64", "flash-decoding:64x0", "flash-decoding:64x-1",
                           "flash-decoding:64x8x2", "flash-decoding:64x8 ", "flash-decoding:64,8", "flash-decoding:x",
                           "flash-decoding:64x99999999999999999999", "flash-decoding:64x65537"}) {
    EXPECT_NE(refusal(name).find("allowed after the colon: block_tokens (1 to 1073741824) x splits (1 to 65536), such "
                                 "as flash-decoding:128x8"),
              std::string::npos)
        << name << ": " << refusal(name);
  }
  EXPECT_NE(refusal("standard:4").find("allowed after the colon: nothing"), std::string::npos);
  EXPECT_NE(refusal("").find("not known"), std::string::npos);
}

}  // namespace
}  // namespace splitwave::cpu_reference::algorithms
