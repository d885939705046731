// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "workloads/format_keys.h"
#include "workloads/load.h"

namespace splitwave::workloads {

namespace {

using Json = nlohmann::ordered_json;

Json geometry_json(const Geometry& g) {
  Json json = {{"kind", to_string(g.kind)}, {"query_heads", g.query_heads}, {"kv_heads", g.kv_heads},
               {"head_dim", g.head_dim},    {"value_dim", g.value_dim},     {"dtype", to_string(g.dtype)},
               {"causal", g.causal}};
  if (g.window) json["window"] = *g.window;
  if (g.softmax_scale) json["softmax_scale"] = *g.softmax_scale;
  return json;
}

// Equal neighbours become one entry with a count.
Json requests_json(const std::vector<Request>& requests) {
  Json list = Json::array();
  for (std::size_t begin = 0; begin < requests.size();) {
    std::size_t end = begin;
    while (end < requests.size() && requests[end] == requests[begin]) ++end;
    Json entry = {{"query_len", requests[begin].query_len}, {"context_len", requests[begin].context_len}};
    if (end - begin > 1) entry["count"] = end - begin;
    list.push_back(std::move(entry));
    begin = end;
  }
  return list;
}

Json storage_json(const KvStorage& kv) {
  Json json = {{"layout", to_string(kv.layout)}};
  if (kv.layout == KvLayout::paged) json["page_size"] = kv.page_size;
  if (kv.cache_len) json["cache_len"] = *kv.cache_len;
  return json;
}

}  // namespace

std::string to_json(const Workload& workload) {
  Json json = {{"format", kFormatVersion}, {"name", workload.name}};
  if (!workload.note.empty()) json["note"] = workload.note;
  json["geometry"] = geometry_json(workload.geometry);
  json["requests"] = requests_json(workload.requests);
  json["kv"] = storage_json(workload.kv);
  json["seed"] = workload.seed;
  json["distribution"] = to_string(workload.distribution);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace splitwave::workloads
