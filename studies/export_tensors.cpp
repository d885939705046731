// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/array_files.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/output_files.h"
#include "base/text.h"
#include "cpu_reference/attention_case.h"
#include "cpu_reference/oracle.h"
#include "studies/verify_case.h"
#include "workloads/load.h"
#include "workloads/tensors.h"

namespace splitwave::studies {
namespace {

using base::ArrayView;
using base::c_order_view;
using base::ElementType;
using workloads::KvLayout;

/// Entries of a block table beyond a request's pages: a kernel that reads them shows it.
constexpr std::int32_t kUnusedPage = 2147480000;

/// What the views look at.
struct Export {
  workloads::Tensors tensors;
  workloads::Bytes output;
  std::vector<float> lse;
  std::vector<std::int32_t> block_table;
  std::vector<std::int32_t> context_lens;
  std::vector<std::int32_t> cu_seqlens_q = {0};
  std::vector<std::int32_t> cu_seqlens_k = {0};
  std::vector<std::pair<std::string, ArrayView>> views;
  std::string kv_layout = "token";
};

std::vector<std::int64_t> kv_shape(const workloads::Workload& workload, const workloads::Tensors& tensors,
                                   std::int64_t elements) {
  const std::int64_t heads = workload.geometry.kv_heads;
  switch (workload.kv.layout) {
    case KvLayout::bshd:
      return {tensors.first_token.back(), heads, elements};
    case KvLayout::bhsd:
      return {static_cast<std::int64_t>(workload.requests.size()), heads,
              workload.requests.empty() ? 0 : workload.requests.front().context_len, elements};
    case KvLayout::paged:
      break;
  }
  return {tensors.first_page.back(), workload.kv.page_size, heads, elements};
}

void require_one_length(const workloads::Workload& workload) {
  for (const workloads::Request& request : workload.requests) {
    if (request.context_len != workload.requests.front().context_len) {
      throw base::InputError(
          fmt::format("workload {}: kv.layout is bhsd with contexts of different lengths, which no "
                      "array holds; allowed: bshd, paged",
                      base::printable(workload.name, 200)));
    }
  }
}

/// Cumulative lengths are int32, which sums of contexts can leave (those of queries cannot: kMaxQueryTokens).
void require_countable_tokens(const workloads::Workload& workload) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  std::int64_t tokens = 0;
  for (const workloads::Request& request : workload.requests) tokens += request.context_len;
  if (tokens <= kMost) return;
  throw base::InputError(
      fmt::format("workload {}: its contexts have {} tokens, more than cu_seqlens_k counts; allowed: at most {}, or "
                  "kv.layout bhsd, paged",
                  base::printable(workload.name, 200), tokens, kMost));
}

void add_lengths(const workloads::Workload& workload, Export& e) {
  const auto requests = static_cast<std::int64_t>(workload.requests.size());
  std::int64_t columns = 1;
  for (const workloads::Request& request : workload.requests) {
    e.context_lens.push_back(request.context_len);
    e.cu_seqlens_q.push_back(e.cu_seqlens_q.back() + request.query_len);
    if (workload.kv.layout != KvLayout::paged) continue;
    columns =
        std::max<std::int64_t>(columns, (request.context_len + workload.kv.page_size - 1) / workload.kv.page_size);
  }
  e.views.emplace_back("context_lens", c_order_view(e.context_lens.data(), ElementType::i32, {requests}));
  e.views.emplace_back("cu_seqlens_q", c_order_view(e.cu_seqlens_q.data(), ElementType::i32, {requests + 1}));
  if (workload.kv.layout == KvLayout::bshd) {
    for (const std::int32_t length : e.context_lens) {
      e.cu_seqlens_k.push_back(e.cu_seqlens_k.back() + length);
    }
    e.views.emplace_back("cu_seqlens_k", c_order_view(e.cu_seqlens_k.data(), ElementType::i32, {requests + 1}));
  }
  if (workload.kv.layout != KvLayout::paged) return;
  e.block_table.assign(static_cast<std::size_t>(requests * columns), kUnusedPage);
  for (std::size_t r = 0; r < workload.requests.size(); ++r) {
    std::copy(e.tensors.block_table.begin() + e.tensors.first_page[r],
              e.tensors.block_table.begin() + e.tensors.first_page[r + 1],
              e.block_table.begin() + static_cast<std::ptrdiff_t>(r) * columns);
  }
  e.views.emplace_back("block_table", c_order_view(e.block_table.data(), ElementType::i32, {requests, columns}));
}

void add_result(const workloads::Workload& workload, Export& e) {
  const workloads::Geometry& g = workload.geometry;
  const cpu_reference::Result<double> exact = cpu_reference::attend(workload, e.tensors);
  e.output.resize(exact.output.size() * static_cast<std::size_t>(workloads::bytes_per_element(g.dtype)));
  for (std::size_t i = 0; i < exact.output.size(); ++i) {
    workloads::store_element(g.dtype, e.output, static_cast<std::int64_t>(i), static_cast<float>(exact.output[i]));
  }
  e.lse.assign(exact.lse.begin(), exact.lse.end());
  const std::int64_t tokens = e.tensors.first_query.back();
  e.views.emplace_back("output", c_order_view(e.output.data(), cpu_reference::element_type(g.dtype),
                                              {tokens, g.query_heads, g.value_dim}));
  e.views.emplace_back("lse", c_order_view(e.lse.data(), ElementType::f32, {tokens, g.query_heads}));
}

std::string settings(const workloads::Workload& workload, const Export& e) {
  nlohmann::ordered_json json;
  json["causal"] = workload.geometry.causal;
  if (workload.geometry.window) json["window"] = *workload.geometry.window;
  json["scale"] = workload.geometry.scale();
  json["kv_layout"] = e.kv_layout;
  json["lse_head_first"] = false;
  return json.dump() + '\n';
}

}  // namespace

void export_tensors(const workloads::Workload& workload, const std::string& folder, TensorFormat format) {
  const workloads::Geometry& g = workload.geometry;
  if (workload.kv.layout == KvLayout::bhsd) require_one_length(workload);
  if (workload.kv.layout == KvLayout::bshd) require_countable_tokens(workload);
  base::make_folder(folder);
  const std::filesystem::path in = folder;
  for (const char* const name : {"workload.json", "case.json", "tensors.safetensors", "q.npy"})
    base::expect_absent(in / name);
  Export e;
  e.tensors = workloads::make_tensors(workload, base::available_memory_bytes());
  const ElementType type = cpu_reference::element_type(g.dtype);
  e.views.emplace_back(
      "q", c_order_view(e.tensors.q.data(), type, {e.tensors.first_query.back(), g.query_heads, g.head_dim}));
  e.views.emplace_back("k", c_order_view(e.tensors.k.data(), type, kv_shape(workload, e.tensors, g.head_dim)));
  if (!e.tensors.v.empty() || g.kind != workloads::AttentionKind::mla) {
    e.views.emplace_back("v", c_order_view(e.tensors.v.data(), type, kv_shape(workload, e.tensors, g.value_dim)));
  }
  if (workload.kv.layout == KvLayout::bhsd) e.kv_layout = "head";
  add_lengths(workload, e);
  add_result(workload, e);
  if (format == TensorFormat::safetensors) {
    base::write_safetensors((in / "tensors.safetensors").string(), e.views);
  } else {
    for (const auto& [name, view] : e.views) base::write_npy((in / (name + ".npy")).string(), view);
  }
  base::write_new_file(in / "workload.json", workloads::to_json(workload) + '\n');
  // Last: a folder with it is whole.
  base::write_new_file(in / "case.json", settings(workload, e));
}

}  // namespace splitwave::studies
