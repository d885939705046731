// SPDX-License-Identifier: Apache-2.0
// From what a user types to workloads.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "workloads/workload.h"

namespace splitwave::workloads {

/// The workloads that -w/--workload stands for, all validated. In this order: an existing file (JSON, JSON Lines or a
/// suite), the name of a shipped suite ("real"), a one-line spec ("llama-3-8b:8q1s32k", "h=32/8,d=128:8q1s32k").
/// Throws InputError with the nearest names when nothing fits.
std::vector<Workload> load(const std::string& argument);

/// Workloads of a JSON document, a JSON Lines text or a suite. `where` (a file name) begins every error message.
std::vector<Workload> parse_json(std::string_view text, const std::string& where);

/// One workload as one line of JSON in the documented format; parse_json reads back an equal workload.
std::string to_json(const Workload& workload);

/// Workload of a one-line spec: MODEL[@tp=N][,key=value...]:BATCH or key=value,...:BATCH (docs/workloads.md). Its name
/// is the spec, or what name_from() makes of a long one.
Workload parse_spec(std::string_view spec);

/// Requests of a batch in vLLM's batch-spec grammar (benchmarks/attention_benchmarks/batch_spec.py: segments
/// [count]q<len>[k][s<len>[k]] joined by _). Throws InputError that begins with `where`.
std::vector<Request> parse_batch(std::string_view batch, const std::string& where);

/// Names of the shipped suites and of the catalogue's models, sorted.
std::vector<std::string> suite_names();
std::vector<std::string> model_names();

/// Geometry of a catalogue model on one of `tensor_parallel` GPUs: query heads are divided, KV heads divided or
/// replicated. Throws InputError with the nearest names if there is no such model, or if the heads do not divide.
Geometry model_geometry(std::string_view model, std::int32_t tensor_parallel = 1);

}  // namespace splitwave::workloads
