// SPDX-License-Identifier: Apache-2.0
// Files of other projects. Keys and columns that are not needed are ignored there.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/models.h"

namespace splitwave::workloads {

enum class ForeignFormat { hugging_face_config, azure_trace, mooncake_trace };

/// What a text is, by its beginning: Azure's header line, a JSON line with input_length, or a JSON object. Throws
/// InputError that begins with `where` if it is none of them.
ForeignFormat detect_format(std::string_view text, const std::string& where);

/// A model from Hugging Face's config.json. kv_lora_rank, where it is, decides for absorbed MLA (DeepSeek-V3 says
/// num_key_value_heads 128, but a decode step has one KV head of kv_lora_rank + qk_rope_head_dim). A nested text_config
/// is read where the outer object has no heads. Layers with and without a window give local_window.
Model import_hugging_face_config(std::string_view text, const std::string& where);

/// One request of a trace.
struct TraceRequest {
  double arrival_seconds = 0;  ///< after the first request of the trace
  std::int32_t prompt_tokens = 0;
  std::int32_t output_tokens = 0;
  bool operator==(const TraceRequest&) const = default;
};

/// Azure's CSV of 2023 and 2024 (TIMESTAMP,ContextTokens,GeneratedTokens), in order of arrival.
std::vector<TraceRequest> import_azure_trace(std::string_view text, const std::string& where);

/// Mooncake's JSON Lines (timestamp in milliseconds, input_length, output_length), in order of arrival.
std::vector<TraceRequest> import_mooncake_trace(std::string_view text, const std::string& where);

/// Either of the two, as detect_format says. Throws InputError for a Hugging Face config.
std::vector<TraceRequest> import_trace(std::string_view text, const std::string& where);

}  // namespace splitwave::workloads
