// SPDX-License-Identifier: Apache-2.0
// The keys and names of the workload format: what the parser accepts, and what the JSON Schema must list.
#pragma once

#include <array>
#include <string_view>

namespace splitwave::workloads {

inline constexpr int kFormatVersion = 1;

inline constexpr std::array<std::string_view, 4> kSuiteKeys = {"format", "suite", "note", "workloads"};
inline constexpr std::array<std::string_view, 12> kWorkloadKeys = {
    "format",   "name", "note", "model",        "geometry", "requests",
    "generate", "kv",   "seed", "distribution", "sweep",    "tensor_parallel"};
inline constexpr std::array<std::string_view, 9> kGeometryKeys = {
    "kind", "query_heads", "kv_heads", "head_dim", "value_dim", "dtype", "causal", "window", "softmax_scale"};
inline constexpr std::array<std::string_view, 3> kRequestKeys = {"query_len", "context_len", "count"};
inline constexpr std::array<std::string_view, 3> kStorageKeys = {"layout", "page_size", "cache_len"};
inline constexpr std::array<std::string_view, 4> kRangeKeys = {"from", "to", "step", "factor"};

/// Keys of "generate", by its kind.
inline constexpr std::array<std::string_view, 5> kGeneratorNames = {"uniform", "ragged", "zipf", "one_long",
                                                                    "published"};
inline constexpr std::array<std::string_view, 4> kUniformKeys = {"kind", "batch", "query_len", "context_len"};
inline constexpr std::array<std::string_view, 6> kRaggedKeys = {"kind",  "batch", "query_len", "max_context_len",
                                                                "ratio", "seed"};
inline constexpr std::array<std::string_view, 6> kZipfKeys = {"kind",     "batch", "query_len", "mean_context_len",
                                                              "exponent", "seed"};
inline constexpr std::array<std::string_view, 6> kOneLongKeys = {
    "kind", "batch", "query_len", "long_context_len", "short_context_len", "seed"};
inline constexpr std::array<std::string_view, 6> kPublishedKeys = {"kind",    "batch", "query_len",
                                                                   "lengths", "seed",  "max_context_len"};

/// In the order of the enumerations of workload.h.
inline constexpr std::array<std::string_view, 4> kKindNames = {"mha", "gqa", "mqa", "mla"};
inline constexpr std::array<std::string_view, 5> kDtypeNames = {"f16", "bf16", "f32", "fp8_e4m3", "fp8_e5m2"};
inline constexpr std::array<std::string_view, 3> kLayoutNames = {"bshd", "bhsd", "paged"};
inline constexpr std::array<std::string_view, 2> kDistributionNames = {"normal", "outliers"};

}  // namespace splitwave::workloads
