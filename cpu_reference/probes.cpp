// SPDX-License-Identifier: Apache-2.0
#include "cpu_reference/probes.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <stdexcept>
#include <utility>

#include "base/parallel.h"
#include "base/quantile.h"
#include "base/stop.h"
#include "cpu_reference/cold_memory.h"
#include "cpu_reference/interruptions.h"
#include "cpu_reference/kv_rows.h"
#include "cpu_reference/made_up_run.h"
#include "cpu_reference/measure.h"
#include "cpu_reference/stream_probe.h"
#include "cpu_reference/team_pace.h"
#include "cpu_reference/thread_counts.h"

namespace splitwave::cpu_reference {
namespace {

using workloads::KvRange;
using workloads::Workload;

constexpr std::int64_t kCacheLineBytes = 64;
/// How far ahead run_plan asks for the lines of a row, in tokens.
constexpr std::int32_t kAheadTokens = 16;
/// K and V of a tile in cache. Of several KV heads whose rows lie side by side one is taken, and no more tokens than
/// all heads could have in so many bytes: its rows find room in the few sets of the cache that they share.
constexpr std::int64_t kTileBytes = 512 << 10;
constexpr std::int32_t kLeastTileTokens = 32;
constexpr std::int32_t kMostTileTokens = 512;
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

/// Tiles of so many rows in each thread's cache, with and without tokens.
struct TileProbe {
  enum : std::size_t { kFull, kEmpty };
  MadeUpRun run;     ///< plans by kind, of each one by thread
  double bytes = 0;  ///< K and V of one thread
  int repeats = 1;
  TeamTimes seconds{};  ///< of `repeats` runs
};

/// Seconds of `repeats` runs by each thread, all at once.
std::vector<double> run_seconds(MadeUpRun& run, std::size_t kind, int threads, int repeats) {
  return thread_seconds(threads, threads, [&](int thread) {
    const std::size_t plan = kind * static_cast<std::size_t>(threads) + static_cast<std::size_t>(thread);
    for (int i = 0; i < repeats; ++i) run.run(plan);
  });
}

/// By thread, without what runs without tokens take.
std::vector<double> tile_seconds(TileProbe& probe, int threads) {
  base::stop_if_asked();
  std::vector<double> seconds;
  const auto wake = [&] { wake_threads(threads); };
  until_uninterrupted(wake, [&] { seconds = run_seconds(probe.run, TileProbe::kFull, threads, probe.repeats); });
  double empty = 0;
  until_uninterrupted(
      wake, [&] { empty = base::quantile(run_seconds(probe.run, TileProbe::kEmpty, threads, probe.repeats), 0.5); });
  for (double& one : seconds) one = std::max(one - empty, kLeastTileSeconds);
  return seconds;
}

TileProbe make_tile_probe(const Workload& like, std::int32_t rows, int threads) {
  const std::int64_t token_bytes = workloads::kv_bytes_per_token(like.geometry);
  const std::int64_t fits = kTileBytes / (token_bytes * like.geometry.kv_heads);
  const auto tokens = static_cast<std::int32_t>(std::clamp<std::int64_t>(fits, kLeastTileTokens, kMostTileTokens));
  const Workload workload = made_up_workload(like, rows, threads, tokens);
  std::vector<schedules::Plan> plans;
  for (const std::int32_t of_item : {tokens, 0}) {
    for (int thread = 0; thread < threads; ++thread) {
      plans.push_back(items_plan(workload, {thread, thread + 1, 1}, of_item, Lists::one));
    }
  }
  TileProbe probe{MadeUpRun(workload, std::move(plans)), static_cast<double>(tokens * token_bytes)};
  run_seconds(probe.run, TileProbe::kFull, threads, 1);
  run_seconds(probe.run, TileProbe::kEmpty, threads, 1);
  const double once = run_seconds(probe.run, TileProbe::kFull, threads, 1).front();
  probe.repeats = std::clamp(static_cast<int>(kTileSeconds / once), 1, 1000);
  return probe;
}

/// The probes of outputs of so many rows.
struct RowsProbe {
  std::int32_t rows = 0;
  TileProbe tile;
  StreamProbe stream;
};

/// Reads of all tokens in one order, by so many threads.
struct ReadProbe {
  std::vector<HeadRows> heads;   ///< in the order in which they are read
  std::vector<TeamTimes> times;  ///< by count of threads
};

}  // namespace

struct Probes::State {
  const Workload& workload;
  const workloads::Tensors& tensors;
  int threads = 0;
  std::int64_t tokens = 0;  ///< of all heads
  std::vector<int> counts;
  std::vector<ReadProbe> reads;  ///< by heads; by requests, unless that is the same
  std::vector<RowsProbe> rows;
  std::vector<double> fork_seconds;

  double bytes_per_thread() const {
    return static_cast<double>(tokens) / threads *
           static_cast<double>(workloads::kv_bytes_per_token(workload.geometry));
  }

  /// Of `count` threads that read as many tokens each as all threads would.
  std::vector<double> read_seconds(const ReadProbe& read, int count) const {
    base::stop_if_asked();
    std::vector<double> seconds;
    until_uninterrupted([&] { evict(tensors, threads); },
                        [&] {
                          seconds = thread_seconds(threads, count, [&](int thread) {
                            keep(read_tokens(read.heads, tokens * thread / threads, tokens * (thread + 1) / threads));
                          });
                        });
    return seconds;
  }

  /// Reads the tokens [begin, end) of all heads in a row.
  std::uint64_t read_tokens(const std::vector<HeadRows>& heads, std::int64_t begin, std::int64_t end) const {
    std::array<KvRows, 2> blocks;
    std::uint64_t sum = 0;
    std::int64_t first = 0;  // of the head among all tokens
    for (const HeadRows& head : heads) {
      const auto from = static_cast<std::int32_t>(std::clamp<std::int64_t>(begin - first, 0, head.tokens.size()));
      const auto to = static_cast<std::int32_t>(std::clamp<std::int64_t>(end - first, 0, head.tokens.size()));
      if (from < to) {
        sum += read_range(workload, tensors, head, {head.tokens.begin + from, head.tokens.begin + to}, blocks);
      }
      first += head.tokens.size();
    }
    return sum;
  }

  /// Bandwidth by 1..threads threads that share their work in one way.
  std::vector<double> bandwidths(const ReadProbe& read, double Pace::*pace) const {
    std::vector<double> rates;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      rates.push_back(counts[i] / read.times[i].pace(bytes_per_thread()).*pace);
    }
    return rates_between(counts, rates);
  }

  ProbedThreads probed(double Pace::*pace) const {
    ProbedThreads result;
    if (tokens > 0) {
      result.read_by_heads = bandwidths(reads.front(), pace);
      result.read_by_requests = bandwidths(reads.back(), pace);
    }
    for (const RowsProbe& one : rows) {
      const StreamCost cost = one.stream.cost(pace);
      const double tile = one.tile.seconds.pace(one.tile.repeats * one.tile.bytes).*pace;
      // What a stream takes holds the tile.
      result.rows[one.rows] = {std::min(tile, cost.seconds_per_kv_byte), cost.seconds_per_kv_byte, cost.list_seconds,
                               cost.item_seconds};
    }
    return result;
  }
};

Probes::Probes(const Workload& workload, const workloads::Tensors& tensors, const std::vector<std::int32_t>& rows,
               int threads) {
  if (threads < 1) throw std::logic_error("Probes: threads must be positive");
  state_.reset(new State{workload, tensors, threads, 0, doubling_counts(threads), {}, {}, {}});
  State& state = *state_;
  std::vector<HeadRows> heads = visible_rows(workload);
  for (const HeadRows& head : heads) state.tokens += head.tokens.size();
  const std::vector<TeamTimes> none(state.counts.size());
  state.reads.push_back({heads, none});
  const auto by_head = [](const HeadRows& a, const HeadRows& b) { return a.kv_head < b.kv_head; };
  if (!std::is_sorted(heads.begin(), heads.end(), by_head)) {
    std::stable_sort(heads.begin(), heads.end(), by_head);
    state.reads.push_back({std::move(heads), none});
  }
  for (const std::int32_t count : rows) {
    if (count < 1) throw std::logic_error("Probes: rows must be positive");
    state.rows.push_back({count, make_tile_probe(workload, count, threads), StreamProbe(workload, count, threads)});
  }
}

Probes::~Probes() = default;

void Probes::measure() {
  State& state = *state_;
  if (state.tokens > 0) {
    for (ReadProbe& read : state.reads) {
      for (std::size_t i = 0; i < state.counts.size(); ++i) {
        read.times[i].add(state.read_seconds(read, state.counts[i]));
      }
    }
  }
  for (RowsProbe& one : state.rows) {
    one.tile.seconds.add(tile_seconds(one.tile, state.threads));
    one.stream.measure();
  }
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
  result.equal_shares = state.probed(&Pace::slowest);
  result.queue = state.probed(&Pace::shared);
  for (const RowsProbe& one : state.rows) {
    result.tile_spread = std::max(result.tile_spread, one.tile.seconds.spread());
  }
  if (state.tokens > 0) result.read_spread = state.reads.front().times.back().spread();
  return result;
}

}  // namespace splitwave::cpu_reference
