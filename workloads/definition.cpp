// SPDX-License-Identifier: Apache-2.0
#include "workloads/definition.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/fields.h"
#include "workloads/format_keys.h"
#include "workloads/limits.h"
#include "workloads/load.h"
#include "workloads/models.h"

namespace splitwave::workloads {

namespace {

std::string member_path(const std::string& path, std::string_view key) {
  return path.empty() ? std::string(key) : fmt::format("{}.{}", path, key);
}

// The object called `key`, or an empty one, so that absent and {} mean the same.
const base::JsonValue& member_or_empty(const base::Fields& fields, std::string_view key) {
  static const base::JsonValue empty = [] {
    base::JsonValue value;
    value.kind = base::JsonValue::Kind::object;
    return value;
  }();
  const base::JsonValue* member = fields.find(key);
  return member == nullptr ? empty : *member;
}

// The heads and sizes of a geometry that is written out, not taken from a model.
void read_shape(const base::Fields& fields, Geometry& g) {
  g.query_heads = fields.int32("query_heads", 1, kMaxHeads);
  g.kv_heads = fields.int32("kv_heads", 1, kMaxHeads);
  g.head_dim = fields.int32("head_dim", 1, kMaxHeadDim);
  g.value_dim = g.head_dim;
  g.kind = kind_of_heads(g.query_heads, g.kv_heads);
}

// What the object says on top of what `g` already holds.
void override_geometry(const base::Fields& fields, Geometry& g) {
  const bool new_heads = fields.has("query_heads") || fields.has("kv_heads");
  g.query_heads = fields.optional_int32("query_heads", 1, kMaxHeads).value_or(g.query_heads);
  g.kv_heads = fields.optional_int32("kv_heads", 1, kMaxHeads).value_or(g.kv_heads);
  g.head_dim = fields.optional_int32("head_dim", 1, kMaxHeadDim).value_or(g.head_dim);
  if (new_heads && g.kind != AttentionKind::mla) g.kind = kind_of_heads(g.query_heads, g.kv_heads);
  if (const auto kind = fields.optional_choice("kind", kKindNames)) g.kind = static_cast<AttentionKind>(*kind);
  if (g.kind == AttentionKind::mla && fields.has("kind")) fields.at("value_dim");
  if (fields.has("head_dim") && g.kind != AttentionKind::mla) g.value_dim = g.head_dim;
  g.value_dim = fields.optional_int32("value_dim", 1, kMaxHeadDim).value_or(g.value_dim);
  if (const auto dtype = fields.optional_choice("dtype", kDtypeNames)) g.dtype = static_cast<Dtype>(*dtype);
  g.causal = fields.optional_boolean("causal").value_or(g.causal);
  if (const auto window = fields.optional_int32("window", 1, kMaxContextLen)) g.window = window;
  constexpr double kLargest = std::numeric_limits<double>::max();
  if (const auto scale = fields.optional_number("softmax_scale", -kLargest, kLargest)) g.softmax_scale = scale;
}

Geometry read_geometry(const base::Fields& workload, const std::string& path) {
  const base::Fields fields(member_or_empty(workload, "geometry"), workload.where(), member_path(path, "geometry"),
                            kGeometryKeys);
  Geometry g;
  if (workload.has("model")) {
    const std::string model = workload.text("model");
    const auto tensor_parallel = workload.optional_int32("tensor_parallel", 1, kMaxHeads).value_or(1);
    const std::string where = fmt::format("{}: {}", workload.where(), workload.path_of("model"));
    try {
      g = divide_heads(find_model(model).geometry, tensor_parallel, model);
    } catch (const base::InputError& error) {
      throw base::InputError(fmt::format("{}: {}", where, error.what()));
    }
  } else {
    if (!workload.has("geometry"))
      throw base::InputError(fmt::format("{}: geometry or model is missing", workload.where()));
    if (workload.has("tensor_parallel")) workload.refuse("tensor_parallel", "nothing, unless model is given");
    read_shape(fields, g);
  }
  override_geometry(fields, g);
  return g;
}

std::vector<Request> read_requests(const base::Fields& workload, const std::string& path) {
  std::vector<Request> requests;
  const base::JsonValue& list = workload.array("requests");
  for (std::size_t i = 0; i < list.items.size(); ++i) {
    const base::Fields fields(list.items[i], workload.where(), fmt::format("{}[{}]", member_path(path, "requests"), i),
                              kRequestKeys);
    Request request;
    request.query_len = fields.optional_int32("query_len", 1, kMaxQueryLen).value_or(1);
    request.context_len = fields.int32("context_len", 0, kMaxContextLen);
    const std::int64_t count = fields.optional_integer("count", 1, kMaxRequests).value_or(1);
    if (static_cast<std::int64_t>(requests.size()) + count > kMaxRequests) {
      throw base::InputError(fmt::format("{}: {} holds more than {} requests", workload.where(),
                                         member_path(path, "requests"), kMaxRequests));
    }
    requests.insert(requests.end(), static_cast<std::size_t>(count), request);
  }
  return requests;
}

KvStorage read_storage(const base::Fields& workload, const std::string& path) {
  const base::Fields fields(member_or_empty(workload, "kv"), workload.where(), member_path(path, "kv"), kStorageKeys);
  KvStorage kv;
  if (const auto layout = fields.optional_choice("layout", kLayoutNames)) kv.layout = static_cast<KvLayout>(*layout);
  if (kv.layout == KvLayout::paged) {
    kv.page_size = fields.int32("page_size", 1, kMaxPageSize);
  } else if (fields.has("page_size")) {
    fields.refuse("page_size", "nothing, unless layout is paged");
  }
  kv.cache_len = fields.optional_int32("cache_len", 1, kMaxContextLen);
  return kv;
}

}  // namespace

Workload read_workload(const base::JsonValue& value, const std::string& where, const std::string& path) {
  const base::Fields fields(value, where, path, kWorkloadKeys);
  fields.optional_integer("format", kFormatVersion, kFormatVersion);
  Workload workload;
  workload.name = fields.text("name");
  workload.note = fields.optional_text("note").value_or("");
  workload.seed = fields.optional_uint64("seed").value_or(0);
  if (const auto distribution = fields.optional_choice("distribution", kDistributionNames)) {
    workload.distribution = static_cast<Distribution>(*distribution);
  }
  workload.geometry = read_geometry(fields, path);
  workload.kv = read_storage(fields, path);
  if (fields.has("requests") == fields.has("generate")) {
    throw base::InputError(fmt::format("{}: {} needs either requests or generate", where, path.empty() ? "it" : path));
  }
  workload.requests = fields.has("requests")
                          ? read_requests(fields, path)
                          : read_generator(fields.at("generate"), where, member_path(path, "generate"), workload.seed);
  validate(workload, path.empty() ? where : fmt::format("{}: {}", where, path));
  return workload;
}

}  // namespace splitwave::workloads
