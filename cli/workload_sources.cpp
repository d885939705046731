// SPDX-License-Identifier: Apache-2.0
#include "cli/workload_sources.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>

#include "base/error.h"
#include "base/text.h"
#include "workloads/import.h"
#include "workloads/load.h"
#include "workloads/models.h"
#include "workloads/name.h"

namespace splitwave::cli {
namespace {

using base::InputError;

/// Throws InputError if an option stands on the command line that this kind of file has no use for.
void refuse_given(const ImportOptions& options, std::span<const std::string_view> unused, const std::string& file,
                  std::span<const std::string_view> used) {
  for (const std::string& option : options.given) {
    if (std::find(unused.begin(), unused.end(), option) == unused.end()) continue;
    throw InputError(fmt::format("{}: {} is {}; allowed: {}", option, base::printable(options.file, 200), file,
                                 fmt::join(used, ", ")));
  }
}

std::vector<workloads::Workload> import_config(const std::string& text, const ImportOptions& options) {
  refuse_given(options, kTraceOptions, "a model itself", kConfigOptions);
  if (options.batch.empty()) {
    throw InputError("--batch is missing; allowed with a config.json: a batch such as 8q1s32k");
  }
  const workloads::Model model = workloads::import_hugging_face_config(text, options.file);
  workloads::Workload workload;
  workload.note = "imported from " + std::filesystem::path(options.file).filename().string();
  workload.geometry = workloads::divide_heads(model.geometry, options.tensor_parallel, options.file);
  workload.requests = workloads::parse_batch(options.batch, "--batch");
  workload.name = workloads::name_from(model.name + ":" + options.batch, workload.requests.size());
  workload.seed = options.seed;
  std::vector<workloads::Workload> result = {workload};
  if (model.local_window) {
    workload.name = workloads::name_from(model.name + "-local:" + options.batch, workload.requests.size());
    workload.geometry.window = model.local_window;
    result.push_back(workload);
  }
  for (const workloads::Workload& one : result) {
    workloads::validate(one);
  }
  return result;
}

std::vector<workloads::Workload> import_steps(const std::string& text, const ImportOptions& options) {
  if (options.model.empty()) {
    throw InputError("--model is missing; allowed with a trace: a model or geometry such as llama-3-8b");
  }
  refuse_given(options, kConfigOptions, "a trace, which has its own batches", kTraceOptions);
  const std::vector<workloads::TraceRequest> trace = workloads::import_trace(text, options.file);
  workloads::Workload base = workloads::parse_spec(options.model + ":1q1s1");
  base.name = fmt::format("{}/{}", options.model, std::filesystem::path(options.file).stem().string());
  base.note = "decode steps of " + std::filesystem::path(options.file).filename().string();
  base.seed = options.seed;
  const std::vector<workloads::DecodeStep> steps =
      workloads::sample_decode_steps(trace, options.replay, options.steps, options.seed);
  if (steps.empty()) {
    throw InputError(fmt::format(
        "{}: none of its {} requests makes output tokens, so that no step decodes; allowed: at least one that does",
        base::printable(options.file, 200), trace.size()));
  }
  return workloads::workloads_of_steps(base, steps);
}

/// A number as the option had it: integers without a fraction, so that the format's own check speaks of them.
nlohmann::ordered_json json_number(double value) {
  constexpr double kExact = 9007199254740992;  // 2^53
  if (std::floor(value) == value && std::abs(value) <= kExact) {
    return static_cast<std::int64_t>(value);
  }
  return value;
}

}  // namespace

std::vector<workloads::Workload> import_workloads(const ImportOptions& options) {
  const std::string text = base::read_text_file(options.file);
  return workloads::detect_format(text, options.file) == workloads::ForeignFormat::hugging_face_config
             ? import_config(text, options)
             : import_steps(text, options);
}

std::vector<workloads::Workload> generate_workloads(const GenerateOptions& options) {
  nlohmann::ordered_json json;
  json["format"] = 1;
  json["name"] = options.name.empty() ? fmt::format("{}/{}", options.model, options.kind) : options.name;
  json["model"] = options.model;
  if (options.tensor_parallel) {
    json["tensor_parallel"] = *options.tensor_parallel;
  }
  if (options.seed) {
    json["seed"] = *options.seed;
  }
  json["generate"]["kind"] = options.kind;
  for (const auto& [key, value] : options.numbers) {
    if (value) {
      json["generate"][key] = json_number(*value);
    }
  }
  if (options.lengths) {
    json["generate"]["lengths"] = *options.lengths;
  }
  return workloads::parse_json(json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace),
                               "workload generate");
}

}  // namespace splitwave::cli
