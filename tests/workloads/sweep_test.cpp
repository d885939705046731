// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/workloads/refused.h"
#include "workloads/load.h"

namespace splitwave::workloads {
namespace {

std::string swept(const std::string& sweep) {
  return R"({"format": 1, "suite": "s", "workloads": [{"name": "b", "model": "llama-3-8b",
             "requests": [{"context_len": 100}, {"context_len": 50, "count": 2}], "sweep": )" +
         sweep + "}]}";
}

std::vector<Workload> expand(const std::string& sweep) {
  return parse_json(swept(sweep), "s.json");
}

void refused(const std::string& sweep, std::initializer_list<const char*> parts) {
  tests::expect_refused([&] { expand(sweep); }, parts);
}

TEST(Sweep, ValuesOfOneField) {
  const std::vector<Workload> w = expand(R"({"requests[1].context_len": [7, 9]})");
  ASSERT_EQ(w.size(), 2U);
  EXPECT_EQ(w[0].name, "b/context_len=7");
  EXPECT_EQ(w[1].name, "b/context_len=9");
  EXPECT_EQ(w[1].requests, (std::vector<Request>{{1, 100}, {1, 9}, {1, 9}}));
}

TEST(Sweep, CartesianProductWithTheLastAxisFastest) {
  const std::vector<Workload> w = expand(R"({"geometry.dtype": ["f16", "bf16"], "tensor_parallel": [1, 2, 4]})");
  ASSERT_EQ(w.size(), 6U);
  EXPECT_EQ(w[0].name, "b/dtype=f16,tensor_parallel=1");
  EXPECT_EQ(w[1].name, "b/dtype=f16,tensor_parallel=2");
  EXPECT_EQ(w[5].name, "b/dtype=bf16,tensor_parallel=4");
  EXPECT_EQ(w[5].geometry.dtype, Dtype::bf16);
  EXPECT_EQ(w[5].geometry.kv_heads, 2);
}

TEST(Sweep, RangesByStepAndByFactor) {
  std::vector<std::int32_t> lengths;
  for (const Workload& w : expand(R"({"requests[0].context_len": {"from": 3, "to": 10, "step": 3}})")) {
    lengths.push_back(w.requests[0].context_len);
  }
  EXPECT_EQ(lengths, (std::vector<std::int32_t>{3, 6, 9}));
  lengths.clear();
  for (const Workload& w : expand(R"({"requests[0].context_len": {"from": 1024, "to": 8192, "factor": 2}})")) {
    lengths.push_back(w.requests[0].context_len);
  }
  EXPECT_EQ(lengths, (std::vector<std::int32_t>{1024, 2048, 4096, 8192}));
}

TEST(Sweep, WholeObjectsAndAbsentFields) {
  const std::vector<Workload> w =
      expand(R"({"geometry.window": [null, 64], "kv": [{"layout": "bhsd"}, {"layout": "paged", "page_size": 16}]})");
  ASSERT_EQ(w.size(), 4U);
  EXPECT_EQ(w[0].name, "b/window=null,kv=#0");
  EXPECT_EQ(w[0].geometry.window, std::nullopt);
  EXPECT_EQ(w[3].geometry.window, 64);
  EXPECT_EQ(w[3].kv.page_size, 16);
}

TEST(Sweep, EqualLastKeysAreNamedByTheirWholePath) {
  const std::vector<Workload> w = expand(R"({"requests[0].context_len": [1], "requests[1].context_len": [2]})");
  EXPECT_EQ(w.at(0).name, "b/requests[0].context_len=1,requests[1].context_len=2");
}

TEST(Sweep, AWorkloadFileMaySweepToo) {
  const std::vector<Workload> w = parse_json(
      R"({"format": 1, "name": "g", "model": "llama-3-8b", "seed": 1, "sweep": {"seed": [1, 2]},
          "generate": {"kind": "ragged", "batch": 4, "max_context_len": 100, "ratio": 0.5}})",
      "w.json");
  ASSERT_EQ(w.size(), 2U);
  EXPECT_NE(w[0].requests, w[1].requests);
}

TEST(Sweep, Refusals) {
  refused("[]", {"s.json: workloads[0].sweep is an array", "an object"});
  refused(R"({"geometry.windw": [1]})", {"unknown key workloads[0].geometry.windw", "window"});
  refused(R"({"geometri.window": [1]})", {"unknown key workloads[0].geometri", "geometry"});
  refused(R"({"requests[9].context_len": [1]})", {"requests[9].context_len is not a field"});
  refused(R"({"requests[-1]": [1]})", {"is not a field"});
  refused(R"({"requests[99999999999999999999].context_len": [1]})", {"is not a field"});
  refused(R"({"": [1]})", {"is not a field"});
  refused(R"({"geometry..window": [1]})", {"is not a field"});
  refused(R"({"geometry.window.": [1]})", {"is not a field"});
  refused(R"({"requests[0]context_len": [1]})", {"is not a field"});
  refused(R"({"requests[0": [1]})", {"is not a field"});
  refused(R"({"geometry[0]": [1]})", {"is not a field"});
  refused(R"({"name.x": [1]})", {"may not be swept"});
  refused(R"({"name": ["a"]})", {"may not be swept"});
  refused(R"({"sweep": [1]})", {"may not be swept"});
  refused(R"({"seed": []})", {"sweep.seed is empty"});
  refused(R"({"seed": 5})", {"sweep.seed is 5", "array"});
  refused(R"({"seed": {"from": 1, "to": 5}})", {"either step or factor"});
  refused(R"({"seed": {"from": 1, "to": 5, "step": 0}})", {"sweep.seed.step is 0"});
  refused(R"({"seed": {"from": 5, "to": 1, "step": 1}})", {"sweep.seed.to is 1", "from 5"});
  refused(R"({"seed": {"from": 0, "to": 5, "factor": 2}})", {"sweep.seed.from is 0"});
  refused(R"({"seed": {"from": 1, "to": 4503599627370496, "step": 1}})", {"at most 10000 values"});
  refused(R"({"seed": [1, 1]})", {"two workloads are called \"b/seed=1\""});
  refused(R"({"seed": [1, "x"]})", {"workloads[0].seed is \"x\""});
}

// Each field has one path: of two spellings one axis would go over the other's values.
TEST(Sweep, PathsHaveOneSpelling) {
  for (const char* path : {"geometry.window]", "requests.0.context_len", "requests[00].context_len", "requests[0]]"}) {
    refused(std::string("{\"") + path + R"(": [1]})", {path, "is not a field of the workload"});
  }
}

// They took all of the stack, or over a minute.
TEST(Sweep, LongPathsAndManyAxesAreRefused) {
  std::string path = "geometry";
  for (int i = 0; i < 1'000'000; ++i) path += ".a";
  refused("{\"" + path + "\": [1]}", {"is not a field", "at most 32 steps"});
  std::string indices = "requests";
  for (int i = 0; i < 32; ++i) indices += "[0]";
  refused("{\"" + indices + "\": [1]}", {"is not a field", "at most 32 steps"});
  std::string sweep = "{";
  for (int i = 0; i < 60'000; ++i) sweep += (i == 0 ? "\"a" : ",\"a") + std::to_string(i) + "\": [1]";
  refused(sweep + "}", {"workloads[0].sweep has 60000 axes; allowed: at most 64"});
}

TEST(Sweep, ProductsAreBoundedBeforeTheyAreMade) {
  std::string sweep = "{";
  for (int i = 0; i < 10; ++i) {
    sweep += (i == 0 ? "" : ",") + std::string("\"a") + std::to_string(i) + R"(": {"from": 1, "to": 5000, "step": 1})";
  }
  refused(sweep + "}", {"workloads[0].sweep has more than 10000 points"});
  refused(R"({"requests[0].count": {"from": 1000000, "to": 1009000, "step": 1000}})", {"more than 4194304 requests"});
}

}  // namespace
}  // namespace splitwave::workloads
