// SPDX-License-Identifier: Apache-2.0
#include "workloads/models.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/workloads/refused.h"
#include "workloads/load.h"

namespace splitwave::workloads {
namespace {

TEST(Models, TheCatalogueIsLargeSortedSourcedAndValid) {
  std::set<std::string> names;
  std::size_t full = 0;
  for (const Model& model : models()) {
    EXPECT_TRUE(names.insert(model.name).second) << model.name;
    EXPECT_FALSE(model.source.empty()) << model.name;
    EXPECT_GT(model.layers, 0) << model.name;
    Workload w;
    w.name = model.name;
    w.geometry = model.geometry;
    EXPECT_NO_THROW(validate(w));
    if (model.name.find("-local") == std::string::npos) ++full;
  }
  EXPECT_GE(full, 40U);
  const std::vector<std::string> sorted = model_names();
  EXPECT_TRUE(std::is_sorted(sorted.begin(), sorted.end()));
}

TEST(Models, SomeThatAreEasyToGetWrong) {
  EXPECT_EQ(find_model("deepseek-v3").geometry.kind, AttentionKind::mla);
  EXPECT_EQ(find_model("deepseek-v3").geometry.kv_heads, 1);
  EXPECT_EQ(find_model("deepseek-v3").geometry.head_dim, 576);
  EXPECT_EQ(find_model("deepseek-v3").geometry.value_dim, 512);
  EXPECT_EQ(find_model("falcon-7b").geometry.kind, AttentionKind::mqa);
  EXPECT_EQ(find_model("llama-2-7b").geometry.kind, AttentionKind::mha);
  EXPECT_EQ(find_model("mistral-7b-v0.1").geometry.window, 4096);
  EXPECT_EQ(find_model("mistral-7b-v0.1").max_context, std::nullopt);
  EXPECT_EQ(find_model("gemma-3-27b").geometry.window, std::nullopt);
  EXPECT_EQ(find_model("gemma-3-27b").local_window, 1024);
  EXPECT_EQ(find_model("gemma-3-27b-local").geometry.window, 1024);
  EXPECT_EQ(find_model("qwen2.5-0.5b").geometry.head_dim, 64);
}

TEST(Models, TensorParallelDividesQueryHeadsAndDividesOrReplicatesKvHeads) {
  const auto heads = [](const char* model, std::int32_t gpus) {
    const Geometry g = model_geometry(model, gpus);
    return std::pair(g.query_heads, g.kv_heads);
  };
  EXPECT_EQ(heads("llama-3-70b", 1), std::pair(64, 8));
  EXPECT_EQ(heads("llama-3-70b", 4), std::pair(16, 2));
  EXPECT_EQ(heads("llama-3-70b", 8), std::pair(8, 1));
  EXPECT_EQ(heads("llama-3-70b", 16), std::pair(4, 1));  // each KV head on two GPUs
  EXPECT_EQ(heads("qwen2.5-7b", 4), std::pair(7, 1));
  EXPECT_EQ(heads("deepseek-v3", 8), std::pair(16, 1));
  EXPECT_EQ(model_geometry("llama-3-70b", 8).kind, AttentionKind::mqa);
  EXPECT_EQ(model_geometry("llama-3-70b", 64).kind, AttentionKind::mha);
  EXPECT_EQ(model_geometry("deepseek-v3", 128).kind, AttentionKind::mla);
}

TEST(Models, Refusals) {
  tests::expect_refused([] { model_geometry("llama-3-8B"); }, {"llama-3-8B", "did you mean llama-3-8b"});
  tests::expect_refused([] { model_geometry("zzzzzzzzzzzzzzzz"); }, {"zzzz", "docs/workloads.md"});
  tests::expect_refused([] { model_geometry("llama-3-8b", 0); }, {"tensor_parallel is 0"});
  tests::expect_refused([] { model_geometry("llama-3-8b", 3); }, {"tensor_parallel is 3", "divisors of 32"});
  tests::expect_refused([] { model_geometry("llama-3-8b", 64); }, {"tensor_parallel is 64"});
  tests::expect_refused([] { model_geometry("phi-4", 4); }, {"tensor_parallel is 4", "10 KV heads"});
}

}  // namespace
}  // namespace splitwave::workloads
