// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>

#include "tests/workloads/refused.h"
#include "workloads/load.h"

namespace splitwave::workloads {
namespace {

std::vector<Request> batch(const std::string& text) {
  return parse_spec("h=1,d=8:" + text).requests;
}

// vLLM's own examples (benchmarks/attention_benchmarks/batch_spec.py).
TEST(Spec, BatchGrammar) {
  EXPECT_EQ(batch("8q1s1k"), std::vector<Request>(8, {1, 1024}));
  EXPECT_EQ(batch("q2k"), (std::vector<Request>{{2048, 2048}}));
  std::vector<Request> mixed(2, {2048, 2048});
  mixed.insert(mixed.end(), 32, {1, 1024});
  EXPECT_EQ(batch("2q2k_32q1s1k"), mixed);
  EXPECT_EQ(batch("16q4s1k"), std::vector<Request>(16, {4, 1024}));
  EXPECT_EQ(batch("8q1s4k_1q1s128k").back(), (Request{1, 131072}));
  EXPECT_EQ(batch("q1s0"), (std::vector<Request>{{1, 0}}));
}

TEST(Spec, ModelAndBatch) {
  const Workload w = parse_spec("llama-3-8b:8q1s32k");
  EXPECT_EQ(w.name, "llama-3-8b:8q1s32k");
  EXPECT_EQ(w.geometry, model_geometry("llama-3-8b"));
  EXPECT_EQ(w.requests, std::vector<Request>(8, {1, 32768}));
  EXPECT_EQ(parse_spec("llama-3-70b@tp=8:1q1s1").geometry, model_geometry("llama-3-70b", 8));
}

TEST(Spec, KeysAndBatch) {
  const Workload w = parse_spec("h=32/8,d=128:8q1s32k");
  EXPECT_EQ(w.geometry, (Geometry{AttentionKind::gqa, 32, 8, 128, 128, Dtype::f16, true, {}, {}}));
  const Workload all = parse_spec(
      "dv=512,kind=mla,h=16/"
      "1,d=576,dtype=bf16,causal=0,window=4k,scale=-0.5,page=64,cache=8k,seed=18446744073709551615,"
      "dist=outliers:2q3s4k");
  EXPECT_EQ(all.geometry, (Geometry{AttentionKind::mla, 16, 1, 576, 512, Dtype::bf16, false, 4096, -0.5}));
  EXPECT_EQ(all.kv, (KvStorage{KvLayout::paged, 64, 8192}));
  EXPECT_EQ(all.seed, 18446744073709551615U);
  EXPECT_EQ(all.distribution, Distribution::outliers);
  EXPECT_EQ(parse_spec("qwen3-8b@tp=4,layout=bhsd,dtype=bf16:1q1s1").kv.layout, KvLayout::bhsd);
  EXPECT_EQ(parse_spec("h=4,d=8:q1").geometry.kind, AttentionKind::mha);
}

TEST(Spec, Refusals) {
  const auto refused = [](const std::string& spec, std::initializer_list<const char*> parts) {
    tests::expect_refused([&] { parse_spec(spec); }, parts);
  };
  for (const char* text : {"", "8", "q", "8q1s", "8q1sk", "8q1s4kk", "8q1s4k_", "_8q1", "8q1s4m", "-1q1", "8Q1",
                           "8q1s1.5", "8q1 s1", "q1s-1"}) {
    refused(std::string("h=1,d=8:") + text, {"the batch is", "8q1s4k_1q1s128k"});
  }
  refused("llama-3-8b", {"a batch is missing"});
  refused("llama-3-8:8q1", {"no model is called llama-3-8", "llama-3-8b"});
  refused(":8q1", {"no model is called"});
  refused("llama-3-8b@tp=3:8q1", {"tensor_parallel is 3"});
  refused("llama-3-8b@tp=0:8q1", {"tp is \"0\""});
  refused("llama-3-8b@pp=2:8q1", {"only tp=N"});
  refused("llama-3-8b@tp=2@tp=2:8q1", {"more than one @"});
  refused("llama-3-8b,d=64:8q1", {"d is given by the model"});
  refused("h=8:8q1", {"needs a model, or h and d"});
  refused("h=8/3,d=64:8q1", {"kv_heads is 3", "divisors"});
  refused("h=8/2/1,d=64:8q1", {"h is \"8/2/1\""});
  refused("h=,d=64:8q1", {"h is \"\""});
  refused("h=8,d=0:8q1", {"d is \"0\""});
  refused("h=8,d=12:8q1", {"head_dim is 12", "multiples of 8"});
  refused("h=8,d=64,d=64:8q1", {"key d appears twice"});
  refused("h=8,d=64,:8q1", {"not of the form key=value"});
  refused("h=8,d=64,widow=3:8q1", {"unknown key widow", "window"});
  refused("h=8,d=64,dtype=fp8_e5m2:8q1", {"fp8_e5m2", "f16, bf16, f32"});
  refused("h=8,d=64,scale=nan:8q1", {"scale is \"nan\""});
  refused("h=8,d=64,layout=paged:8q1", {"kv.page_size is 0"});
  refused("h=8,d=64,page=16,layout=bhsd:8q1", {"kv.page_size is 16"});
  refused("h=8,d=64,layout=bhsd,page=16:8q1", {"kv.page_size is 16"});
  refused("h=8,d=64,seed=-1:8q1", {"seed is \"-1\""});
  refused("h=8,d=64,causal=2:8q1", {"causal is \"2\""});
  refused("h=8,d=64,cache=10:8q1s11", {"context_len is 11", "kv.cache_len (10)"});
  refused("h=8,d=64:\x01\xff", {"\\x01\\xff"});
  refused(std::string(1'000'000, ','), {"batch is missing"});
}

// The message names the number that is out of its range, not the grammar and not another number.
TEST(Spec, NumbersOutOfRangeAreNamed) {
  const auto refused = [](const std::string& batch, std::initializer_list<const char*> parts) {
    tests::expect_refused([&] { parse_spec("h=1,d=8:" + batch); }, parts);
    tests::expect_refused([&] { parse_batch(batch, "--batch"); }, parts);
  };
  refused("8q1_q1s2097153k", {"the context length in \"q1s2097153k\" is 2147484672", "from 0 to 1073741824"});
  refused("q1s1073741825", {"the context length in \"q1s1073741825\" is 1073741825", "from 0 to 1073741824"});
  refused("q1s4294967296k", {"the context length", "4398046511104"});
  refused("q1s99999999999999999999", {"the context length", "9223372036854775807 or more", "from 0 to 1073741824"});
  refused("q1s99999999999999999k", {"the context length", "9223372036854775807 or more"});
  refused("q2k_8q1048577", {"the query length in \"8q1048577\" is 1048577", "from 1 to 1048576"});
  refused("8q0s4", {"the query length in \"8q0s4\" is 0", "from 1 to 1048576"});
  refused("q99999999999999999999", {"the query length", "from 1 to 1048576"});
  refused("0q1", {"the count of requests in \"0q1\" is 0", "from 1 to 1048576"});
  refused("1048577q1", {"the count of requests in \"1048577q1\" is 1048577", "from 1 to 1048576"});
  refused("600000q1_600000q1", {"the number of requests is 1200000", "from 0 to 1048576"});
}

std::string ragged_list(int requests, std::uint32_t seed) {
  std::string spec = "llama-3-8b,page=16:";
  for (int i = 0; i < requests; ++i) {
    seed = seed * 1664525U + 1013904223U;
    spec += "_1q1s" + std::to_string(1 + (seed >> 8) % 30000);
  }
  spec.erase(spec.find(":_") + 1, 1);
  return spec;
}

TEST(Spec, NameIsTheSpecWhereItFits) {
  for (const int requests : {1, 10, 18}) {
    const std::string spec = ragged_list(requests, 1);
    ASSERT_LE(spec.size(), 200U);
    EXPECT_EQ(parse_spec(spec).name, spec);
  }
}

TEST(Spec, LongRaggedListsGetAShortName) {
  const std::string spec = ragged_list(1000, 1);
  const Workload workload = parse_spec(spec);
  EXPECT_EQ(workload.requests.size(), 1000U);
  EXPECT_EQ(workload.name,
            "llama-3-8b,page=16:1q1s7066_1q1s15334_1q1s29778_1q1s5979_...(1000 requests, c7bd9c5335455a33)");
  EXPECT_EQ(workload.name, parse_spec(spec).name);
  EXPECT_EQ(parse_json(to_json(workload), "printed"), std::vector<Workload>{workload});
}

TEST(Spec, NamesOfDifferentListsDiffer) {
  const std::string spec = ragged_list(1000, 1);
  std::set<std::string> names = {parse_spec(spec).name, parse_spec(ragged_list(1000, 2)).name};
  for (std::size_t at = spec.size() - 1; spec[at] != 's'; --at) {  // each digit of the last length
    std::string other = spec;
    other[at] = spec[at] == '1' ? '2' : '1';
    names.insert(parse_spec(other).name);
  }
  const std::size_t digits = spec.size() - 1 - spec.rfind('s');
  EXPECT_EQ(names.size(), 2 + digits);
}

}  // namespace
}  // namespace splitwave::workloads
