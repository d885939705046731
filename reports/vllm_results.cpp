// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/document.h"
#include "base/error.h"
#include "base/fields.h"
#include "base/text.h"
#include "reports/foreign_records.h"
#include "workloads/load.h"

namespace splitwave::reports {
namespace {

using base::Fields;

constexpr double kMost = std::numeric_limits<double>::max();

/// Python's json.dump writes NaN, Infinity and -Infinity, which are no JSON: null in their place.
std::string without_non_finite(std::string_view text) {
  constexpr std::array<std::string_view, 3> kNames = {"-Infinity", "Infinity", "NaN"};
  std::string result;
  bool quoted = false;
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view* name = nullptr;
    for (const std::string_view& one : kNames) {
      if (!quoted && name == nullptr && text.substr(at).starts_with(one)) name = &one;
    }
    if (name != nullptr) {
      result += "null";
      at += name->size();
      continue;
    }
    const std::size_t length = quoted && text[at] == '\\' ? 2 : 1;  // an escaped quote ends no text
    if (text[at] == '"') quoted = !quoted;
    result += text.substr(at, length);
    at += length;
  }
  return result;
}

/// The one-line spec of what was measured; names as splitwave gives them to such a workload.
std::string spec_of(const Fields& config) {
  const auto count = [&](std::string_view key) { return config.integer(key, 1, 1 << 20); };
  const std::int64_t query_heads = count("num_q_heads");
  const std::int64_t kv_heads = count("num_kv_heads");
  std::string spec = fmt::format("h={}/{},d={}", query_heads, kv_heads, count("head_dim"));
  if (config.has("kv_lora_rank")) spec += fmt::format(",dv={},kind=mla", count("kv_lora_rank"));
  if (config.optional_text("dtype").value_or("").ends_with("bfloat16")) spec += ",dtype=bf16";
  return fmt::format("{},page={}:{}", spec, count("block_size"), config.label("batch_spec"));
}

Record read_result(const base::JsonValue& json, const std::string& place) {
  const Fields result(json, place, "");
  const Fields config(result.at("config"), place, "config");
  Record record;
  record.workload = spec_of(config);
  try {
    const workloads::Workload workload = workloads::parse_spec(record.workload);
    record.workload = workload.name;
    record.bytes = workloads::minimal_bytes(workload);
  } catch (const base::InputError&) {
    // A batch or shape beyond splitwave's limits is a workload all the same, known by its name.
  }
  record.schedule = config.label("backend");
  const std::string kv_type = config.optional_text("kv_cache_dtype").value_or("auto");
  if (kv_type != "auto") record.schedule += " kv_cache_dtype=" + base::printable(kv_type);
  record.executor = "peer:vllm";
  record.machine = config.optional_label("device").value_or("unknown");
  record.num_splits = config.optional_integer("num_kv_splits", 0, 1 << 20);
  if (!record.num_splits) record.num_splits = config.optional_integer("num_splits", 0, 1 << 20);
  if (const std::optional<std::string> error = result.optional_text("error")) {
    record.failure = base::printable(*error, 200);
    return record;
  }
  record.seconds = result.optional_number("median_time", 0, kMost);
  if (!record.seconds) record.seconds = result.number("mean_time", 0, kMost);
  if (record.bytes && *record.seconds > 0) {
    record.bytes_per_second = static_cast<double>(*record.bytes) / *record.seconds;
  }
  return record;
}

}  // namespace

void parse_vllm(std::string_view text, const std::string& where, const RecordTaker& taker) {
  const base::JsonValue json = base::parse_document(without_non_finite(text), where);
  if (!json.is(base::JsonValue::Kind::array)) {
    base::refuse_value(where, "the document", json.shown(), "an array of vLLM's results");
  }
  for (std::size_t i = 0; i < json.items.size(); ++i) {
    const std::string place = fmt::format("{}: result {}", where, i + 1);
    try {
      taker.take(read_result(json.items[i], place), place);
    } catch (const base::InputError& error) {
      taker.skip(error.what());
    }
  }
}

std::string to_vllm(const Record& record) {
  using Json = nlohmann::ordered_json;
  const workloads::Workload workload = workloads::parse_spec(record.workload);
  const workloads::Geometry& g = workload.geometry;
  const bool mla = g.kind == workloads::AttentionKind::mla;
  const std::string batch = record.workload.substr(record.workload.rfind(':') + 1);
  Json config = {{"backend", record.schedule},
                 {"batch_spec", batch},
                 {"num_layers", 1},
                 {"head_dim", g.head_dim},
                 {"num_q_heads", g.query_heads},
                 {"num_kv_heads", g.kv_heads},
                 {"block_size", workload.kv.page_size},
                 {"device", record.machine},
                 {"dtype", to_string(g.dtype)}};
  if (g.dtype == workloads::Dtype::bf16) config["dtype"] = "torch.bfloat16";
  if (g.dtype == workloads::Dtype::f16) config["dtype"] = "torch.float16";
  if (mla) config["kv_lora_rank"] = g.value_dim;
  if (record.num_splits) config["num_splits"] = *record.num_splits;
  Json result = {{"config", config},    {"mean_time", nullptr}, {"median_time", nullptr}, {"std_time", nullptr},
                 {"min_time", nullptr}, {"max_time", nullptr},  {"error", nullptr}};
  if (record.seconds) result["median_time"] = *record.seconds;
  if (record.failure) result["error"] = *record.failure;
  return result.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace splitwave::reports
