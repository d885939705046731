// SPDX-License-Identifier: Apache-2.0
// The nasty workloads, named. Every schedule must plan them; executors must run those of battery().
#pragma once

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "workloads/workload.h"

namespace splitwave::workloads {

/// GoogleTest shows parameters by it.
inline void PrintTo(const Workload& workload, std::ostream* out) {
  *out << workload.name;
}

}  // namespace splitwave::workloads

namespace splitwave::testing {

/// Geometry with `query_heads` over `kv_heads`, causal, f16; the kind follows from the heads.
inline workloads::Geometry geometry(std::int32_t query_heads, std::int32_t kv_heads, std::int32_t head_dim) {
  workloads::Geometry g;
  g.query_heads = query_heads;
  g.kv_heads = kv_heads;
  g.head_dim = head_dim;
  g.value_dim = head_dim;
  g.kind = query_heads == kv_heads ? workloads::AttentionKind::mha
           : kv_heads == 1         ? workloads::AttentionKind::mqa
                                   : workloads::AttentionKind::gqa;
  return g;
}

/// DeepSeek's latent attention after absorption: one KV head of 512 + 64.
inline workloads::Geometry mla(std::int32_t query_heads) {
  workloads::Geometry g = geometry(query_heads, 1, 576);
  g.kind = workloads::AttentionKind::mla;
  g.value_dim = 512;
  return g;
}

/// One decode request per context length.
inline workloads::Workload decode(std::string name, const workloads::Geometry& g,
                                  const std::vector<std::int32_t>& context_lens) {
  workloads::Workload w;
  w.name = std::move(name);
  w.geometry = g;
  for (const std::int32_t context_len : context_lens) w.requests.push_back({1, context_len});
  w.seed = 7;
  return w;
}

inline workloads::Workload paged(workloads::Workload w, std::int32_t page_size) {
  w.kv.layout = workloads::KvLayout::paged;
  w.kv.page_size = page_size;
  return w;
}

inline workloads::Workload windowed(workloads::Workload w, std::int32_t window, bool causal = true) {
  w.geometry.window = window;
  w.geometry.causal = causal;
  return w;
}

inline workloads::Workload with_queries(workloads::Workload w, const std::vector<std::int32_t>& query_lens,
                                        bool causal = true) {
  for (std::size_t i = 0; i < w.requests.size(); ++i) w.requests[i].query_len = query_lens[i % query_lens.size()];
  w.geometry.causal = causal;
  return w;
}

/// `count` lengths from `least` on that look random and are the same everywhere.
inline std::vector<std::int32_t> scattered(std::int32_t count, std::int32_t least, std::int32_t most) {
  std::vector<std::int32_t> lens;
  std::uint32_t state = 12345;
  for (std::int32_t i = 0; i < count; ++i) {
    state = state * 1664525U + 1013904223U;
    lens.push_back(least + static_cast<std::int32_t>((state >> 8) % static_cast<std::uint32_t>(most - least + 1)));
  }
  return lens;
}

/// Small enough to be computed by every executor.
inline std::vector<workloads::Workload> battery() {
  const workloads::Geometry gqa = geometry(8, 2, 64);
  std::vector<workloads::Workload> all = {
      decode("empty_batch", gqa, {}),
      decode("length_0", gqa, {0}),
      decode("length_1", gqa, {1}),
      decode("all_lengths_0", gqa, {0, 0, 0}),
      decode("zeros_between", gqa, {0, 300, 0, 0, 129, 0}),
      decode("tiles_of_64", gqa, {63, 64, 65, 127, 128, 129}),
      decode("tiles_of_176_and_192", geometry(4, 4, 128), {175, 176, 177, 191, 192, 193}),
      decode("tiles_of_256", gqa, {255, 256, 257, 511, 512, 513, 1025}),
      decode("five_tiles_two_heads", geometry(2, 2, 64), {1280}),
      decode("long_single", geometry(8, 1, 128), {5000}),
      decode("prime_sizes", geometry(21, 3, 80), {1009, 37, 2, 13, 1999}),
      decode("falcon_71_heads", geometry(71, 1, 64), {997, 3}),
      decode("group_of_128", geometry(128, 1, 64), {700, 11}),
      decode("mla_16_heads", mla(16), {640, 0, 65}),
      decode("mla_128_heads", mla(128), {130}),
      decode("wide_heads", geometry(4, 2, 256), {400, 81}),
      decode("narrow_heads", geometry(4, 2, 8), {400, 81}),
      paged(decode("paged_16", gqa, {1, 15, 16, 17, 1000}), 16),
      paged(decode("paged_256", geometry(8, 2, 128), {255, 256, 257, 900}), 256),
      paged(decode("paged_prime_pages", gqa, {500, 0, 7}), 7),
      windowed(decode("window_1", gqa, {0, 1, 2, 700}), 1),
      windowed(decode("window_100", gqa, {50, 100, 101, 1000}), 100),
      windowed(decode("window_longer_than_all", gqa, {10, 300}), 4096),
      windowed(with_queries(decode("window_with_queries", gqa, {500, 700}), {3, 130}), 200),
      windowed(with_queries(decode("window_not_causal", gqa, {500, 300}), {5}), 128, false),
      windowed(with_queries(decode("window_not_causal_row_tiles", gqa, {500, 70}), {90}), 17, false),
      with_queries(decode("speculative_4", gqa, {1000, 4, 129}), {4}),
      with_queries(decode("mixed_queries", gqa, {600, 90, 300}), {1, 90, 17}),
      with_queries(decode("queries_beyond_context", gqa, {0, 5, 70}), {3, 9, 100}),
      with_queries(decode("queries_not_causal", gqa, {200, 33}), {70, 2}, false),
      with_queries(decode("query_tiles_of_64", geometry(4, 4, 64), {400, 400, 400}), {63, 64, 65}),
  };
  std::vector<std::int32_t> one_long(31, 20);
  one_long[17] = 6000;
  all.push_back(decode("one_long_among_short", gqa, one_long));
  all.push_back(decode("thousand_tiny", geometry(2, 1, 64), scattered(1000, 0, 9)));
  all.push_back(decode("ragged_17", geometry(8, 8, 64), scattered(17, 1, 900)));
  workloads::Workload cache = decode("long_cache_short_contexts", gqa, {100, 3});
  cache.kv.cache_len = 8192;
  all.push_back(cache);
  return all;
}

/// battery() and workloads that are only planned: real sizes and limits.
inline std::vector<workloads::Workload> planning_battery() {
  std::vector<workloads::Workload> all = battery();
  const workloads::Geometry llama = geometry(32, 8, 128);
  all.push_back(decode("million_tokens", llama, {1 << 20}));
  all.push_back(decode("longest_context", geometry(8, 1, 128), {1 << 30}));
  all.push_back(decode("longest_and_shortest", llama, {1, (1 << 30) - 1, 0}));
  all.push_back(decode("uniform_64", llama, std::vector<std::int32_t>(64, 8192)));
  all.push_back(decode("one_huge_among_many", llama, [] {
    std::vector<std::int32_t> lens(255, 64);
    lens.push_back(262144);
    return lens;
  }()));
  all.push_back(decode("ragged_1000", llama, scattered(1000, 0, 4000)));
  all.push_back(paged(decode("paged_ragged_300", geometry(64, 8, 64), scattered(300, 1, 9000)), 64));
  all.push_back(paged(decode("mla_paged_64", mla(16), scattered(64, 1, 9000)), 64));
  all.push_back(windowed(with_queries(decode("chunked_prefill", llama, {4096, 9000, 77}), {2048, 1, 1}), 1024));
  all.push_back(with_queries(decode("prefill_and_decodes", llama, scattered(50, 600, 4000)), {1, 1, 1, 1, 512}));
  return all;
}

}  // namespace splitwave::testing
