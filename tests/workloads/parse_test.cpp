// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/workloads/refused.h"
#include "workloads/load.h"

namespace splitwave::workloads {
namespace {

constexpr const char* kFull = R"({
  "format": 1, "name": "full", "note": "every key",
  "geometry": {"kind": "gqa", "query_heads": 16, "kv_heads": 2, "head_dim": 128, "value_dim": 64, "dtype": "bf16",
               "causal": false, "window": 512, "softmax_scale": 0.125},
  "requests": [{"query_len": 2, "context_len": 700, "count": 2}, {"context_len": 0}],
  "kv": {"layout": "paged", "page_size": 16, "cache_len": 1024},
  "seed": 18446744073709551615, "distribution": "outliers"
})";

Workload only(const std::string& text) {
  const std::vector<Workload> workloads = parse_json(text, "test.json");
  EXPECT_EQ(workloads.size(), 1U);
  return workloads.at(0);
}

TEST(Parse, EveryKeyArrives) {
  Workload expected;
  expected.name = "full";
  expected.note = "every key";
  expected.geometry = {AttentionKind::gqa, 16, 2, 128, 64, Dtype::bf16, false, 512, 0.125};
  expected.requests = {{2, 700}, {2, 700}, {1, 0}};
  expected.kv = {KvLayout::paged, 16, 1024};
  expected.seed = 18446744073709551615U;
  expected.distribution = Distribution::outliers;
  EXPECT_EQ(only(kFull), expected);
}

TEST(Parse, AbsentKeysHaveTheirDefaults) {
  const Workload w = only(R"({"format": 1, "name": "n", "geometry": {"query_heads": 4, "kv_heads": 4, "head_dim": 64},
                              "requests": []})");
  EXPECT_EQ(w.geometry, (Geometry{AttentionKind::mha, 4, 4, 64, 64, Dtype::f16, true, {}, {}}));
  EXPECT_EQ(w.kv, KvStorage{});
  EXPECT_TRUE(w.requests.empty());
  EXPECT_EQ(w.seed, 0U);
}

TEST(Parse, KindFollowsTheHeads) {
  const auto kind = [](int query_heads, int kv_heads) {
    return only(R"({"format": 1, "name": "n", "requests": [], "geometry": {"head_dim": 64, "query_heads": )" +
                std::to_string(query_heads) + R"(, "kv_heads": )" + std::to_string(kv_heads) + "}}")
        .geometry.kind;
  };
  EXPECT_EQ(kind(8, 8), AttentionKind::mha);
  EXPECT_EQ(kind(8, 2), AttentionKind::gqa);
  EXPECT_EQ(kind(8, 1), AttentionKind::mqa);
}

TEST(Parse, ModelsAreDividedAndThenOverridden) {
  const Workload w = only(R"({"format": 1, "name": "n", "model": "llama-3-70b", "tensor_parallel": 8,
                              "geometry": {"dtype": "bf16", "window": 100}, "requests": [{"context_len": 5}]})");
  EXPECT_EQ(w.geometry, (Geometry{AttentionKind::mqa, 8, 1, 128, 128, Dtype::bf16, true, 100, {}}));
}

TEST(Parse, NullMeansAbsent) {
  const Workload w = only(R"({"format": 1, "name": "n", "model": "mistral-7b-v0.1", "requests": [],
                              "geometry": {"softmax_scale": null}, "kv": {"cache_len": null}, "generate": null})");
  EXPECT_EQ(w.geometry.softmax_scale, std::nullopt);
  EXPECT_EQ(w.kv.cache_len, std::nullopt);
}

TEST(Parse, ByteOrderMarkLineEndsAndSpacesDoNotMatter) {
  std::string text = kFull;
  const Workload clean = only(text);
  EXPECT_EQ(only("\xef\xbb\xbf" + text + "  \r\n\r\n"), clean);
  std::string crlf;
  for (const char c : text) crlf += c == '\n' ? std::string("\r\n") : std::string(1, c);
  EXPECT_EQ(only(crlf), clean);
}

TEST(Parse, JsonLinesAreOneDocumentALine) {
  const Workload a = parse_spec("llama-3-8b:8q1s32k");
  const Workload b = parse_spec("h=32/8,d=128:8q1s32k");
  const std::string text = to_json(a) + "\r\n\n" + to_json(b) + "\n";
  EXPECT_EQ(parse_json(text, "x.jsonl"), (std::vector<Workload>{a, b}));
  EXPECT_EQ(parse_json("\xef\xbb\xbf" + text, "x.jsonl"), (std::vector<Workload>{a, b}));
}

TEST(Parse, JsonLinesNameTheLineOfAFault) {
  const std::string good = to_json(parse_spec("llama-3-8b:1q1s8"));
  tests::expect_refused([&] { parse_json(good + "\n\n{\"format\": 1\n", "x.jsonl"); }, {"x.jsonl:3: ", "JSON"});
  tests::expect_refused([&] { parse_json(good + "\n{\"format\": 1, \"nam\": 2}", "x.jsonl"); },
                        {"x.jsonl:2: ", "nam", "did you mean name"});
  tests::expect_refused([&] { parse_json(good + "\n" + good, "x.jsonl"); },
                        {"x.jsonl:2", "two workloads are called \"llama-3-8b:1q1s8\""});
}

TEST(Parse, PrintingAndParsingAgain) {
  const Workload full = only(kFull);
  EXPECT_EQ(only(to_json(full)), full);
  EXPECT_EQ(to_json(full).find('\n'), std::string::npos);
  EXPECT_NE(to_json(full).find(R"("count":2)"), std::string::npos);
  for (const std::string& name : model_names()) {
    const Workload w = parse_spec(name + ":2q1s100_3q2s7");
    EXPECT_EQ(only(to_json(w)), w);
  }
}

}  // namespace
}  // namespace splitwave::workloads
