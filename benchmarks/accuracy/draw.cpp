// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/accuracy/draw.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace splitwave::accuracy {
namespace {

using workloads::Workload;

constexpr std::int64_t kMostBytes = 2'000'000'000;
constexpr std::int32_t kMostQueryHeads = 128;

/// Uniform in the logarithm, so that small ones are as frequent as large ones. mt19937's numbers are the standard's.
std::int32_t draw_log(std::mt19937& random, double least, double most) {
  const double unit = static_cast<double>(random()) / 4294967296.0;
  return static_cast<std::int32_t>(std::lround(std::exp(std::log(least) + unit * (std::log(most) - std::log(least)))));
}

workloads::Geometry draw_geometry(std::mt19937& random) {
  workloads::Geometry g;
  g.kv_heads = draw_log(random, 1, 32);
  const std::int32_t group = draw_log(random, 1, kMostQueryHeads / g.kv_heads);
  const std::uint32_t dim = random() % 8;
  g.head_dim = dim < 5 ? 128 : dim < 7 ? 64 : 256;
  g.value_dim = g.head_dim;
  g.query_heads = g.kv_heads * group;
  g.kind = group == 1        ? workloads::AttentionKind::mha
           : g.kv_heads == 1 ? workloads::AttentionKind::mqa
                             : workloads::AttentionKind::gqa;
  return g;
}

workloads::Geometry draw_latent_geometry(std::mt19937& random) {
  workloads::Geometry g;
  g.kind = workloads::AttentionKind::mla;
  g.query_heads = draw_log(random, 8, kMostQueryHeads);
  g.kv_heads = 1;
  g.head_dim = 576;
  g.value_dim = 512;
  return g;
}

/// Within what the batches of a kind are drawn.
struct Range {
  double most_requests;
  double least_tokens;
  std::uint32_t most_queries;
};

Workload draw_workload(std::mt19937& random, const workloads::Geometry& geometry, const Range& range, bool ragged) {
  Workload w;
  w.geometry = geometry;
  const std::int32_t batch = draw_log(random, 1, range.most_requests);
  const std::int32_t longest = draw_log(random, range.least_tokens, 200'000);
  const std::int32_t queries =
      random() % 4 == 0 ? 2 + static_cast<std::int32_t>(random() % (range.most_queries - 1)) : 1;
  const std::uint32_t layout = random() % 4;
  if (layout >= 2) {
    w.kv.layout = workloads::KvLayout::paged;
    w.kv.page_size = layout == 2 ? 16 : 64;
  }
  for (std::int32_t r = 0; r < batch; ++r) {
    w.requests.push_back({queries, ragged ? draw_log(random, range.least_tokens, longest) : longest});
  }
  const char* form = layout < 2 ? "" : layout == 2 ? "-p16" : "-p64";
  w.name = fmt::format("h{}/{}-d{}-b{}-{}{}-q{}{}", w.geometry.query_heads, w.geometry.kv_heads, w.geometry.head_dim,
                       batch, longest, ragged ? "r" : "", queries, form);
  return w;
}

}  // namespace

std::vector<Workload> draw_workloads(std::int32_t count, std::uint32_t seed, Drawn kind) {
  std::mt19937 random(seed);
  const bool latent = kind == Drawn::latent;
  const Range range = latent ? Range{256, 128, 4} : Range{512, 16, 8};
  const char* prefix = latent ? "l" : kind == Drawn::ragged ? "r" : "u";
  std::vector<Workload> all;
  while (static_cast<std::int32_t>(all.size()) < count) {
    const workloads::Geometry geometry = latent ? draw_latent_geometry(random) : draw_geometry(random);
    const bool ragged = latent ? all.size() % 2 != 0 : kind == Drawn::ragged;
    Workload w = draw_workload(random, geometry, range, ragged);
    if (workloads::kv_bytes(w) > kMostBytes) continue;
    w.name = fmt::format("{}{}-{}", prefix, all.size(), w.name);
    workloads::validate(w);
    all.push_back(std::move(w));
  }
  return all;
}

}  // namespace splitwave::accuracy
