// SPDX-License-Identifier: Apache-2.0
// Hugging Face's config.json.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/document.h"
#include "base/fields.h"
#include "base/text.h"
#include "workloads/import.h"
#include "workloads/limits.h"

namespace splitwave::workloads {

namespace {

// Before num_key_value_heads there were Falcon's keys.
std::int32_t read_kv_heads(const base::Fields& config, std::int32_t query_heads) {
  if (const auto heads = config.optional_int32("num_key_value_heads", 1, kMaxHeads)) return *heads;
  const bool new_falcon = config.optional_boolean("new_decoder_architecture").value_or(false);
  if (new_falcon) return config.int32("num_kv_heads", 1, kMaxHeads);
  if (config.optional_boolean("multi_query").value_or(false)) return 1;
  return query_heads;
}

std::int32_t read_head_dim(const base::Fields& config, std::int32_t query_heads) {
  if (const auto dim = config.optional_int32("head_dim", 1, kMaxHeadDim)) return *dim;
  const std::int64_t hidden = config.integer("hidden_size", query_heads, kMaxHeads * kMaxHeadDim);
  if (hidden % query_heads != 0 || hidden / query_heads > kMaxHeadDim) {
    config.refuse("hidden_size", fmt::format("multiples of num_attention_heads ({}), without head_dim", query_heads));
  }
  return static_cast<std::int32_t>(hidden / query_heads);
}

// Absorbed MLA: K is the latent part and the rope part, V the latent part; the scale stays that of the heads before
// absorption.
void read_mla(const base::Fields& config, Geometry& g) {
  g.kind = AttentionKind::mla;
  g.kv_heads = 1;
  g.value_dim = config.int32("kv_lora_rank", 1, kMaxHeadDim);
  g.head_dim = g.value_dim + config.int32("qk_rope_head_dim", 1, kMaxHeadDim);
  const std::int32_t unabsorbed =
      config.int32("qk_nope_head_dim", 1, kMaxHeadDim) + config.int32("qk_rope_head_dim", 1, kMaxHeadDim);
  g.softmax_scale = 1.0 / std::sqrt(unabsorbed);
}

// The key is torch_dtype, since transformers 4.56 dtype. Quantised types that hold no attention dtype are left at f16.
void read_dtype(const base::Fields& config, Geometry& g) {
  const base::JsonValue* dtype = config.find("dtype");
  if (dtype == nullptr) dtype = config.find("torch_dtype");
  if (dtype == nullptr) return;
  if (dtype->text == "bfloat16") g.dtype = Dtype::bf16;
  if (dtype->text == "float32") g.dtype = Dtype::f32;
}

enum class WindowedLayers { none, some, all };

// layer_types says it layer by layer; older files of some model types mix without saying so.
WindowedLayers windowed_layers(const base::Fields& config) {
  if (config.has("layer_types")) {
    const std::vector<base::JsonValue>& layers = config.array("layer_types").items;
    const auto windowed = std::count_if(layers.begin(), layers.end(),
                                        [](const base::JsonValue& layer) { return layer.text == "sliding_attention"; });
    if (windowed == 0) return WindowedLayers::none;
    return windowed == static_cast<std::ptrdiff_t>(layers.size()) ? WindowedLayers::all : WindowedLayers::some;
  }
  if (!config.optional_boolean("use_sliding_window").value_or(true)) return WindowedLayers::none;
  constexpr std::array<std::string_view, 5> kMixed = {"gemma2", "gemma3", "gemma3_text", "cohere2", "gpt_oss"};
  const std::string type = config.optional_text("model_type").value_or("");
  const bool mixed = std::find(kMixed.begin(), kMixed.end(), type) != kMixed.end();
  return mixed ? WindowedLayers::some : WindowedLayers::all;
}

void read_window(const base::Fields& config, Model& model) {
  const auto window = config.optional_int32("sliding_window", 1, kMaxContextLen);
  if (!window) return;
  const WindowedLayers layers = windowed_layers(config);
  if (layers == WindowedLayers::all) model.geometry.window = window;
  if (layers == WindowedLayers::some) model.local_window = window;
}

Model read_model(const base::Fields& config) {
  Model model;
  model.layers = config.int32("num_hidden_layers", 1, 10'000);
  model.max_context = config.optional_int32("max_position_embeddings", 1, kMaxContextLen);
  Geometry& g = model.geometry;
  g.query_heads = config.int32("num_attention_heads", 1, kMaxHeads);
  if (config.has("kv_lora_rank")) {
    read_mla(config, g);
  } else {
    g.kv_heads = read_kv_heads(config, g.query_heads);
    g.kind = kind_of_heads(g.query_heads, g.kv_heads);
    g.head_dim = read_head_dim(config, g.query_heads);
    g.value_dim = g.head_dim;
  }
  // Gemma divides by the square root of this instead of the head dim.
  if (const auto scalar = config.optional_number("query_pre_attn_scalar", 1, 1e6)) {
    g.softmax_scale = 1.0 / std::sqrt(*scalar);
  }
  read_dtype(config, g);
  read_window(config, model);
  return model;
}

}  // namespace

Model import_hugging_face_config(std::string_view text, const std::string& where) {
  const std::string file = base::printable(where, 200);
  const base::JsonValue document = base::parse_document(text, file);
  const base::Fields outer(document, file, "");
  const bool nested = !outer.has("num_attention_heads") && outer.has("text_config");
  const base::Fields config(nested ? outer.at("text_config") : document, file, nested ? "text_config" : "");
  Model model = read_model(config);
  if (nested && !config.has("dtype") && !config.has("torch_dtype")) read_dtype(outer, model.geometry);
  model.name = outer.optional_text("_name_or_path").value_or("");
  if (model.name.empty()) model.name = outer.optional_text("model_type").value_or("imported");
  model.source = file;
  Workload probe;
  probe.name = "probe";
  probe.geometry = model.geometry;
  validate(probe, file);
  return model;
}

}  // namespace splitwave::workloads
