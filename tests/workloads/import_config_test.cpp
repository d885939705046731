// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "tests/workloads/refused.h"
#include "workloads/import.h"
#include "workloads/load.h"

namespace splitwave::workloads {
namespace {

Model config(const std::string& text) {
  return import_hugging_face_config(text, "config.json");
}

TEST(ImportConfig, LlamaAsItsFileHasIt) {
  const Model m = config(R"({"architectures": ["LlamaForCausalLM"], "attention_bias": false, "hidden_size": 4096,
      "max_position_embeddings": 131072, "model_type": "llama", "num_attention_heads": 32, "num_hidden_layers": 32,
      "num_key_value_heads": 8, "rope_scaling": {"factor": 8.0, "rope_type": "llama3"}, "torch_dtype": "bfloat16"})");
  Geometry expected = model_geometry("llama-3.1-8b");
  expected.dtype = Dtype::bf16;
  EXPECT_EQ(m.geometry, expected);
  EXPECT_EQ(m.layers, 32);
  EXPECT_EQ(m.max_context, 131072);
  EXPECT_EQ(m.name, "llama");
}

// num_key_value_heads says 128, but absorbed decode has one KV head of 512 + 64.
TEST(ImportConfig, KvLoraRankDecidesForMla) {
  const Model m = config(R"({"model_type": "deepseek_v3", "num_attention_heads": 128, "num_key_value_heads": 128,
      "hidden_size": 7168, "num_hidden_layers": 61, "kv_lora_rank": 512, "q_lora_rank": 1536, "qk_nope_head_dim": 128,
      "qk_rope_head_dim": 64, "v_head_dim": 128, "max_position_embeddings": 163840, "torch_dtype": "float16"})");
  EXPECT_EQ(m.geometry, model_geometry("deepseek-v3"));
}

TEST(ImportConfig, HeadsDefaultToQueryHeadsAndHeadDimToTheirShare) {
  const Model m = config(R"({"num_attention_heads": 32, "hidden_size": 2560, "num_hidden_layers": 32})");
  EXPECT_EQ(m.geometry, model_geometry("phi-2"));
  const Model own =
      config(R"({"num_attention_heads": 16, "num_key_value_heads": 8, "hidden_size": 1024, "head_dim": 128,
                               "num_hidden_layers": 28, "sliding_window": null})");
  EXPECT_EQ(own.geometry, model_geometry("qwen3-0.6b"));
}

TEST(ImportConfig, FalconsOwnKeys) {
  EXPECT_EQ(config(R"({"num_attention_heads": 71, "hidden_size": 4544, "num_hidden_layers": 32, "multi_query": true,
                       "new_decoder_architecture": false})")
                .geometry,
            model_geometry("falcon-7b"));
  EXPECT_EQ(config(R"({"num_attention_heads": 128, "num_kv_heads": 8, "hidden_size": 8192, "num_hidden_layers": 60,
                       "multi_query": true, "new_decoder_architecture": true})")
                .geometry,
            model_geometry("falcon-40b"));
}

TEST(ImportConfig, NestedTextConfig) {
  const Model m = config(R"({"model_type": "llava", "dtype": "bfloat16", "vision_config": {"num_attention_heads": 16},
      "text_config": {"num_attention_heads": 40, "num_key_value_heads": 8, "hidden_size": 5120, "num_hidden_layers": 48}})");
  Geometry expected = model_geometry("llama-4-scout");
  expected.dtype = Dtype::bf16;
  EXPECT_EQ(m.geometry, expected);
}

std::string windowed(const std::string& more) {
  return R"({"num_attention_heads": 8, "hidden_size": 512, "num_hidden_layers": 2, "sliding_window": 64)" + more + "}";
}

TEST(ImportConfig, Windows) {
  EXPECT_EQ(config(windowed("")).geometry.window, 64);
  EXPECT_EQ(config(windowed("")).local_window, std::nullopt);
  EXPECT_EQ(config(windowed(R"(, "use_sliding_window": false)")).geometry.window, std::nullopt);
  const Model mixed = config(windowed(R"(, "layer_types": ["sliding_attention", "full_attention"])"));
  EXPECT_EQ(mixed.geometry.window, std::nullopt);
  EXPECT_EQ(mixed.local_window, 64);
  EXPECT_EQ(config(windowed(R"(, "layer_types": ["sliding_attention", "sliding_attention"])")).geometry.window, 64);
  const Model full = config(windowed(R"(, "layer_types": ["full_attention"])"));
  EXPECT_EQ(full.geometry.window, std::nullopt);
  EXPECT_EQ(full.local_window, std::nullopt);
  EXPECT_EQ(config(windowed(R"(, "model_type": "gemma2", "query_pre_attn_scalar": 256)")).local_window, 64);
  EXPECT_DOUBLE_EQ(config(windowed(R"(, "model_type": "gemma2", "query_pre_attn_scalar": 144)")).geometry.scale(),
                   1.0 / 12);
}

TEST(ImportConfig, Refusals) {
  const auto refused = [](const std::string& text, std::initializer_list<const char*> parts) {
    tests::expect_refused([&] { config(text); }, parts);
  };
  refused("", {"config.json", "no JSON"});
  refused("[]", {"config.json: the document is an array"});
  refused("{}", {"config.json: num_hidden_layers is missing"});
  refused(R"({"num_hidden_layers": 2})", {"num_attention_heads is missing"});
  refused(R"({"num_hidden_layers": 2, "num_attention_heads": 0})", {"num_attention_heads is 0"});
  refused(R"({"num_hidden_layers": 2, "num_attention_heads": 8.0})", {"num_attention_heads is 8.0"});
  refused(R"({"num_hidden_layers": 2, "num_attention_heads": 8})", {"hidden_size is missing"});
  refused(R"({"num_hidden_layers": 2, "num_attention_heads": 8, "hidden_size": 100})", {"hidden_size is 100"});
  refused(R"({"num_hidden_layers": 2, "num_attention_heads": 8, "hidden_size": 96})", {"head_dim is 12"});
  refused(R"({"num_hidden_layers": 2, "num_attention_heads": 8, "hidden_size": 512, "num_key_value_heads": 3})",
          {"kv_heads is 3"});
  refused(R"({"num_hidden_layers": 2, "num_attention_heads": 8, "kv_lora_rank": 512})",
          {"qk_rope_head_dim is missing"});
  refused(R"({"text_config": 5})", {"text_config is 5"});
  refused(R"({"num_hidden_layers": 2, "num_hidden_layers": 2})", {"appears twice"});
  refused(windowed(R"(, "layer_types": "all")"), {"layer_types is \"all\""});
}

}  // namespace
}  // namespace splitwave::workloads
