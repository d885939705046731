// SPDX-License-Identifier: Apache-2.0
#include "cpu_reference/probes.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <stdexcept>
#include <utility>

#include "base/parallel.h"
#include "base/quantile.h"
#include "base/stop.h"
#include "cpu_reference/cached_run.h"
#include "cpu_reference/cold_memory.h"
#include "cpu_reference/interruptions.h"
#include "cpu_reference/kv_rows.h"
#include "cpu_reference/measure.h"
#include "cpu_reference/thread_counts.h"

namespace splitwave::cpu_reference {
namespace {

using workloads::KvRange;
using workloads::Workload;

constexpr std::int64_t kCacheLineBytes = 64;
/// How far ahead run_plan asks for the lines of a row, in tokens.
constexpr std::int32_t kAheadTokens = 16;
/// Tokens of a tile in cache: K and V of f16 rows of 128 elements take 256 KiB.
constexpr std::int32_t kTileTokens = 512;
/// A tile probe lasts about as long as a run, so that what interrupts the one as often interrupts the other.
constexpr double kTileSeconds = 5e-4;
constexpr int kForks = 21;
/// What stands for a tile time that a disturbance made 0 or less.
constexpr double kLeastTileSeconds = 1e-9;

double seconds_of(const auto& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// The tokens that one KV head of one request shows to any of its queries.
struct HeadRows {
  std::int32_t request = 0;
  std::int32_t kv_head = 0;
  KvRange tokens;
};

std::vector<HeadRows> visible_rows(const Workload& workload) {
  std::vector<HeadRows> heads;
  for (std::int32_t request = 0; request < static_cast<std::int32_t>(workload.requests.size()); ++request) {
    const workloads::Request& one = workload.requests[request];
    const KvRange seen = workloads::visible_to_queries(workload.geometry, one, 0, one.query_len);
    if (seen.size() <= 0) continue;
    for (std::int32_t head = 0; head < workload.geometry.kv_heads; ++head) heads.push_back({request, head, seen});
  }
  return heads;
}

/// Touches every line of `bytes` at the row, and asks for those of the row ahead.
std::uint64_t read_row(const std::byte* row, const std::byte* ahead, std::int64_t bytes) {
  std::uint64_t sum = 0;
  for (std::int64_t offset = 0; offset < bytes; offset += kCacheLineBytes) {
    __builtin_prefetch(ahead + offset);
    sum += static_cast<std::uint64_t>(row[offset]);
  }
  return sum;
}

/// Reads the K and V rows of a token range as run_plan does: block by block, asking for lines some tokens ahead.
std::uint64_t read_range(const Workload& workload, const workloads::Tensors& tensors, const HeadRows& head,
                         KvRange range, std::array<KvRows, 2>& rows) {
  const workloads::Geometry& geometry = workload.geometry;
  const std::int64_t element_bytes = workloads::bytes_per_element(geometry.dtype);
  const std::int64_t k_bytes = geometry.head_dim * element_bytes;
  const std::int64_t v_bytes = geometry.kind == workloads::AttentionKind::mla ? 0 : geometry.value_dim * element_bytes;
  std::uint64_t sum = 0;
  KvRows* block = &rows[0];
  KvRows* next = &rows[1];
  locate(workload, tensors, head.request, head.kv_head, range, *block);
  for (range.begin += block->tokens; block->tokens > 0; range.begin += block->tokens) {
    locate(workload, tensors, head.request, head.kv_head, range, *next);
    for (std::int32_t t = 0; t < block->tokens; ++t) {
      const std::int32_t beyond = t + kAheadTokens - block->tokens;
      const bool inside = beyond < 0 || beyond >= next->tokens;
      const KvRows& there = inside ? *block : *next;
      const std::int32_t ahead = inside ? std::min(t + kAheadTokens, block->tokens - 1) : beyond;
      sum += read_row(block->k[t], there.k[ahead], k_bytes) + read_row(block->v[t], there.v[ahead], v_bytes);
    }
    std::swap(block, next);
  }
  return sum;
}

/// Time per unit of work of threads that began together with equal shares.
struct Pace {
  double slowest = 0;  ///< seconds per unit of the last to end
  double shared = 0;   ///< seconds per unit if the shares were such that all ended together
};

/// Seconds from the begin until each of `count` threads of the team has done its share.
std::vector<double> thread_seconds(int threads, int count, const std::function<void(int)>& share) {
  std::vector<double> seconds(static_cast<std::size_t>(count));
  const auto begin = std::chrono::steady_clock::now();
  base::parallel(threads, [&](int thread, int /*team*/) {
    if (thread >= count) return;
    share(thread);
    seconds[static_cast<std::size_t>(thread)] =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  });
  return seconds;
}

/// Of threads that took so long for `share` units each.
Pace pace_of(const std::vector<double>& seconds, double share) {
  double rates = 0;
  for (const double one : seconds) rates += share / one;
  return {*std::max_element(seconds.begin(), seconds.end()) / share, static_cast<double>(seconds.size()) / rates};
}

/// A probe's paces by round.
struct Paces {
  std::vector<double> slowest;
  std::vector<double> shared;
  void add(const Pace& pace) {
    slowest.push_back(pace.slowest);
    shared.push_back(pace.shared);
  }
};

/// Tiles of so many rows in each thread's cache, with and without tokens.
struct TileProbe {
  std::int32_t rows = 0;
  std::vector<std::unique_ptr<CachedRun>> full;   ///< by thread
  std::vector<std::unique_ptr<CachedRun>> empty;  ///< by thread
  int repeats = 1;
  Paces seconds_per_kv_byte;
};

/// Seconds of `repeats` runs by each thread, all at once.
std::vector<double> run_seconds(const std::vector<std::unique_ptr<CachedRun>>& runs, int repeats) {
  const auto threads = static_cast<int>(runs.size());
  return thread_seconds(threads, threads, [&](int thread) {
    for (int i = 0; i < repeats; ++i) (*runs[static_cast<std::size_t>(thread)])();
  });
}

/// Seconds per unit of `share`, of which the runs without tokens are not a part.
Pace tile_pace(const TileProbe& probe, double share) {
  base::stop_if_asked();
  std::vector<double> seconds;
  const auto wake = [&] { wake_threads(static_cast<int>(probe.full.size())); };
  until_uninterrupted(wake, [&] { seconds = run_seconds(probe.full, probe.repeats); });
  double empty = 0;
  until_uninterrupted(wake, [&] { empty = base::quantile(run_seconds(probe.empty, probe.repeats), 0.5); });
  for (double& one : seconds) one = std::max(one - empty, kLeastTileSeconds);
  return pace_of(seconds, share);
}

TileProbe make_tile_probe(const workloads::Geometry& geometry, std::int32_t rows, int threads) {
  TileProbe probe;
  probe.rows = rows;
  for (int thread = 0; thread < threads; ++thread) {
    probe.full.push_back(std::make_unique<CachedRun>(cached_workload(geometry, rows, 1, kTileTokens), 1));
    probe.empty.push_back(std::make_unique<CachedRun>(cached_workload(geometry, rows, 1, 0), 1));
  }
  run_seconds(probe.full, 1);
  run_seconds(probe.empty, 1);
  probe.repeats = std::clamp(static_cast<int>(kTileSeconds / run_seconds(probe.full, 1).front()), 1, 1000);
  return probe;
}

/// Bandwidth by 1..threads threads from seconds per byte of one thread at the probed counts.
std::vector<double> bandwidths(const std::vector<int>& counts, const std::vector<double>& seconds_per_byte) {
  std::vector<double> rates;
  for (std::size_t i = 0; i < counts.size(); ++i) rates.push_back(counts[i] / seconds_per_byte[i]);
  return rates_between(counts, rates);
}

}  // namespace

struct Probes::State {
  const Workload& workload;
  const workloads::Tensors& tensors;
  int threads = 0;
  std::vector<HeadRows> heads;
  std::int64_t tokens = 0;  ///< of all heads
  std::vector<int> counts;
  std::vector<Paces> read_seconds_per_byte;  ///< by count: of one thread
  std::vector<TileProbe> tiles;
  std::vector<double> fork_seconds;

  /// Of `count` threads that read as many tokens each as all threads would.
  Pace read_pace(int count) const {
    base::stop_if_asked();
    std::vector<double> seconds;
    until_uninterrupted([&] { evict_caches(threads); },
                        [&] {
                          seconds = thread_seconds(threads, count, [&](int thread) {
                            keep(read_tokens(tokens * thread / threads, tokens * (thread + 1) / threads));
                          });
                        });
    const double bytes =
        static_cast<double>(tokens) / threads * static_cast<double>(workloads::kv_bytes_per_token(workload.geometry));
    return pace_of(seconds, bytes);
  }

  /// Reads the tokens [begin, end) of all heads in a row.
  std::uint64_t read_tokens(std::int64_t begin, std::int64_t end) const {
    std::array<KvRows, 2> rows;
    std::uint64_t sum = 0;
    std::int64_t first = 0;  // of the head among all tokens
    for (const HeadRows& head : heads) {
      const auto from = static_cast<std::int32_t>(std::clamp<std::int64_t>(begin - first, 0, head.tokens.size()));
      const auto to = static_cast<std::int32_t>(std::clamp<std::int64_t>(end - first, 0, head.tokens.size()));
      if (from < to) {
        sum += read_range(workload, tensors, head, {head.tokens.begin + from, head.tokens.begin + to}, rows);
      }
      first += head.tokens.size();
    }
    return sum;
  }
};

Probes::Probes(const Workload& workload, const workloads::Tensors& tensors, const std::vector<std::int32_t>& rows,
               int threads) {
  if (threads < 1) throw std::logic_error("Probes: threads must be positive");
  const std::vector<int> counts = doubling_counts(threads);
  state_.reset(new State{
      workload, tensors, threads, visible_rows(workload), 0, counts, std::vector<Paces>(counts.size()), {}, {}});
  for (const HeadRows& head : state_->heads) state_->tokens += head.tokens.size();
  for (const std::int32_t count : rows) {
    if (count < 1) throw std::logic_error("Probes: rows must be positive");
    state_->tiles.push_back(make_tile_probe(workload.geometry, count, threads));
  }
}

Probes::~Probes() = default;

void Probes::measure() {
  State& state = *state_;
  if (state.tokens > 0) {
    for (std::size_t i = 0; i < state.counts.size(); ++i) {
      state.read_seconds_per_byte[i].add(state.read_pace(state.counts[i]));
    }
  }
  const double bytes = static_cast<double>(kTileTokens * workloads::kv_bytes_per_token(state.workload.geometry));
  for (TileProbe& tile : state.tiles) tile.seconds_per_kv_byte.add(tile_pace(tile, tile.repeats * bytes));
  std::vector<double> forks;
  for (int i = 0; i < kForks; ++i) forks.push_back(seconds_of([&] { base::parallel(state.threads, [](int, int) {}); }));
  state.fork_seconds.push_back(base::quantile(forks, 0.5));
}

ProbedCpu Probes::result() const {
  const State& state = *state_;
  if (state.fork_seconds.empty()) throw std::logic_error("Probes: no round was measured");
  ProbedCpu result;
  result.rounds = static_cast<std::int64_t>(state.fork_seconds.size());
  result.fork_seconds = base::quantile(state.fork_seconds, 0.5);
  for (const TileProbe& tile : state.tiles) {
    const Paces& paces = tile.seconds_per_kv_byte;
    result.equal_shares.tile_seconds_per_kv_byte[tile.rows] = base::quantile(paces.slowest, 0.5);
    result.queue.tile_seconds_per_kv_byte[tile.rows] = base::quantile(paces.shared, 0.5);
    result.tile_spread = std::max(result.tile_spread, base::relative_spread(paces.shared));
  }
  if (state.tokens == 0) return result;
  std::vector<double> slowest;
  std::vector<double> shared;
  for (const Paces& paces : state.read_seconds_per_byte) {
    slowest.push_back(base::quantile(paces.slowest, 0.5));
    shared.push_back(base::quantile(paces.shared, 0.5));
  }
  result.equal_shares.read_bytes_per_second = bandwidths(state.counts, slowest);
  result.queue.read_bytes_per_second = bandwidths(state.counts, shared);
  result.read_spread = base::relative_spread(state.read_seconds_per_byte.back().shared);
  return result;
}

}  // namespace splitwave::cpu_reference
