// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu/bench_candidates.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "schedules/cut.h"
#include "schedules/schedules.h"
#include "studies/candidate_bounds.h"
#include "studies/predict.h"

namespace splitwave::testing {

using gpu::KernelConfig;
using workloads::Workload;

namespace {

bool ragged(const Workload& w) {
  return std::any_of(w.requests.begin(), w.requests.end(),
                     [&](const workloads::Request& r) { return r != w.requests.front(); });
}

void add_fixed_splits(const Workload& w, const KernelConfig& v, std::int64_t workers, std::vector<Candidate>& all) {
  const std::int64_t outputs = static_cast<std::int64_t>(w.requests.size()) * w.geometry.kv_heads;
  const std::int32_t longest = workloads::padded_context_len(w);
  for (const std::int32_t splits : {1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32, 48, 64, 96, 128}) {
    if (splits > 1 && outputs * splits > std::max<std::int64_t>(4 * workers, 1)) break;
    if (splits > 1 && longest < splits * v.cluster * 64) break;
    all.push_back({splits == 1 ? "fixed-split:1" : fmt::format("fixed-split:{}+last_arriver", splits), v});
  }
}

/// Partial results of a latent cache are wide: to merge them takes a kernel of its own. Kernels of half the rows, or a
/// quarter, read K as often more from L2: only where SMs would be idle otherwise.
void add_latent(const Workload& w, const KernelConfig& v, std::int32_t row_tiles, std::int64_t workers,
                std::vector<Candidate>& all) {
  if (v.row_tiles > row_tiles || 4 * v.row_tiles < row_tiles) return;
  const bool all_rows = v.row_tiles == row_tiles;
  const std::int64_t most = all_rows ? 2 * workers : workers / schedules::ceil_div(w.geometry.group(), 8 * v.row_tiles);
  const auto requests = static_cast<std::int64_t>(w.requests.size());
  if (!all_rows && requests > most) return;
  const std::int32_t longest = workloads::padded_context_len(w);
  all.push_back({"fixed-split:1", v});
  for (const std::int32_t splits : {2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32, 48, 64, 96, 128}) {
    if (ragged(w) || requests * splits > most || longest < splits * kTile) break;
    all.push_back({fmt::format("fixed-split:{}+kernel", splits), v});
  }
  if (!all_rows) return;
  for (const char* schedule : {"flashmla", "lean+kernel", "lean+last_arriver"}) all.push_back({schedule, v});
}

/// Cuts into parts that a kernel without rings may hold. Those that CTAs wait for are all resident.
std::vector<Candidate> held_parts(const Workload& w, const KernelConfig& v) {
  std::vector<Candidate> all;
  const std::int32_t longest = workloads::padded_context_len(w);
  const std::string merge = '+' + schedules::to_string(v.merge_of_parts());
  const auto blocks = static_cast<std::int32_t>(schedules::ceil_div(w.geometry.group(), 8 * v.row_tiles));
  const std::int32_t most = v.holds_latent_items() ? gpu::residency(w, v).workers / blocks : 1024 / v.cluster;
  const auto add = [&](std::int32_t tokens, std::int64_t lists, const std::string& schedule) {
    if (tokens < longest && tokens <= v.most_tokens() && lists <= most) all.push_back({schedule + merge, v});
  };
  if (ragged(w)) {
    for (std::int32_t size = 128; size <= 2048; size *= 2) {
      add(size, studies::pieces_of(w, size).lists, fmt::format("fixed-size:{}", size));
    }
    return all;
  }
  const auto outputs = static_cast<std::int64_t>(w.requests.size()) * w.geometry.kv_heads;
  for (const std::int32_t splits : {2, 3, 4, 5, 6, 8, 10, 12, 14, 16, 24, 28, 32, 48, 64}) {
    add((longest + splits - 1) / splits, outputs * splits, fmt::format("fixed-split:{}", splits));
  }
  return all;
}

/// Kernels without rings, where they hold the items.
void add_whole_item(const Workload& w, std::int32_t row_tiles, std::vector<Candidate>& all) {
  for (const KernelConfig& v : gpu::whole_item_configs(w)) {
    const Candidate whole{"fixed-split:1", v};
    const bool in_blocks = v.team == gpu::Team::group && v.row_tiles < row_tiles;
    if ((v.row_tiles != row_tiles && !in_blocks) || gpu::residency(w, v).workers == 0) continue;
    if (gpu::fits_single_item_kernel(w, plan_of(w, whole), v)) all.push_back(whole);
    for (const Candidate& parts : held_parts(w, v)) {
      if (gpu::fits_single_item_kernel(w, plan_of(w, parts), v)) all.push_back(parts);
    }
  }
}

void add_pieces(const Workload& w, const KernelConfig& v, std::int64_t workers, std::vector<Candidate>& all) {
  const std::int64_t tokens = workloads::kv_bytes(w) / workloads::kv_bytes_per_token(w.geometry);
  for (std::int32_t size = 256; size <= 65536; size *= 2) {
    const std::int64_t items = tokens / size;
    if (items > 16 * workers || (items < workers / 8 && size > 256)) continue;
    all.push_back({fmt::format("fixed-size:{}+last_arriver", size), v});
    if (items > workers / 2) all.push_back({fmt::format("longest-first:{}+last_arriver", size), v});
  }
}

void add_ragged(const Workload& w, const KernelConfig& v, std::int64_t workers, std::vector<Candidate>& all) {
  add_pieces(w, v, workers, all);
  all.push_back({"lean+last_arriver", v});
}

/// Kernels for head pairs, those of the least rows.
void add_pairs(const Workload& w, std::vector<Candidate>& all) {
  std::int32_t row_tiles = 0;
  for (const KernelConfig& v : gpu::pair_configs(w)) {
    if (8 * v.row_tiles < 2 * w.geometry.group() || (row_tiles > 0 && v.row_tiles != row_tiles)) continue;
    row_tiles = v.row_tiles;
    const std::int64_t workers = gpu::residency(w, v).workers;
    if (workers == 0) continue;
    if (!ragged(w)) {
      add_fixed_splits(w, v, 2 * workers, all);
    } else if (v.cluster <= 2) {
      add_pieces(w, v, 2 * workers, all);
    }
  }
}

}  // namespace

std::vector<Candidate> sweep_candidates(const Workload& w) {
  std::vector<Candidate> all;
  const std::int32_t row_tiles = gpu::row_tiles_for(w.geometry, w.geometry.group());
  add_whole_item(w, row_tiles, all);
  add_pairs(w, all);
  for (const KernelConfig& v : gpu::kernel_configs(w)) {
    const bool latent = w.geometry.kind == workloads::AttentionKind::mla;
    if (v.row_tiles != row_tiles && !latent) continue;
    const std::int64_t workers = gpu::residency(w, v).workers;
    if (workers == 0) continue;
    if (latent) {
      add_latent(w, v, row_tiles, workers, all);
    } else if (ragged(w)) {
      if (v.cluster <= 2) add_ragged(w, v, workers, all);
    } else {
      add_fixed_splits(w, v, workers, all);
      if (v.cluster == 1) all.push_back({"lean+last_arriver", v});
    }
  }
  return all;
}

Candidate plain_candidate(const std::string& schedule, const Workload& w) {
  const std::int32_t row_tiles = gpu::row_tiles_for(w.geometry, w.geometry.group());
  for (const KernelConfig& v : gpu::kernel_configs(w)) {
    if (v.row_tiles == row_tiles && v.warps == 4 && v.stages == 2 && v.cluster == 1) return {schedule, v};
  }
  throw base::InputError(fmt::format("workload {}: no kernel of 4 warps with 2 stages", w.name));
}

schedules::Plan plan_of(const Workload& w, const Candidate& candidate) {
  schedules::Grid grid = gpu::grid_of(w, candidate.config);
  grid.tile_q = candidate.config.row_tiles * 8;
  grid = studies::with_whole_rows(grid, candidate.schedule, w, grid.tile_q);
  grid.tile_kv = candidate.tile_kv;
  return schedules::make_plan(candidate.schedule, w, grid);
}

std::string to_string(const Candidate& candidate) {
  const std::string text = fmt::format("{}@{}", candidate.schedule, gpu::to_string(candidate.config));
  return candidate.tile_kv == kTile ? text : fmt::format("{}/{}", text, candidate.tile_kv);
}

Candidate parse_candidate(const std::string& text) {
  const std::size_t at = text.find('@');
  if (at == std::string::npos) {
    throw base::InputError(fmt::format("candidate '{}': expected SCHEDULE@VARIANT or SCHEDULE@VARIANT/TILE", text));
  }
  const std::size_t slash = text.find('/', at);
  Candidate candidate{text.substr(0, at), gpu::parse_kernel_config(text.substr(at + 1, slash - at - 1))};
  if (slash == std::string::npos) return candidate;
  const double tile = base::number_in(text.substr(slash + 1)).value_or(0);
  if (!(tile >= 1 && tile <= 65536)) {
    throw base::InputError(fmt::format("candidate '{}': the tile is a number of tokens, 1 to 65536", text));
  }
  candidate.tile_kv = static_cast<std::int32_t>(tile);
  return candidate;
}

}  // namespace splitwave::testing
