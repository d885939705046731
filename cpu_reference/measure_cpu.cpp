// SPDX-License-Identifier: Apache-2.0
// The constants of this CPU. Each is measured apart from the plans that it will predict, on workloads of its own.
#include <algorithm>
#include <chrono>
#include <fstream>
#include <functional>
#include <limits>
#include <stdexcept>
#include <thread>
#include <utility>

#include "base/parallel.h"
#include "base/quantile.h"
#include "base/stop.h"
#include "cpu_reference/cold_memory.h"
#include "cpu_reference/interruptions.h"
#include "cpu_reference/made_up_run.h"
#include "cpu_reference/measure.h"
#include "cpu_reference/overlap.h"
#include "cpu_reference/stream_probe.h"
#include "cpu_reference/thread_counts.h"

namespace splitwave::cpu_reference {
namespace {

using workloads::Dtype;
using workloads::Workload;

/// Query rows to a KV head: one chunk of the tile.
constexpr std::int32_t kStreamRows = 4;
constexpr std::array<Dtype, 3> kDtypes = {Dtype::f16, Dtype::bf16, Dtype::f32};

double seconds_of(const std::function<void()>& work) {
  base::stop_if_asked();
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// Times of `repeats` calls.
std::vector<double> samples_of(int repeats, const std::function<void()>& work) {
  std::vector<double> samples;
  samples.reserve(repeats);
  for (int i = 0; i < repeats; ++i) samples.push_back(seconds_of(work));
  return samples;
}

/// Least time of `repeats` calls: for work in cache, where everything else is a disturbance.
double least_seconds(int repeats, const std::function<void()>& work) {
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < repeats; ++i) least = std::min(least, seconds_of(work));
  return least;
}

/// What the constants are of: one KV head, K and V rows of `dim` elements each.
Workload geometry_of(Dtype dtype, std::int32_t dim) {
  Workload workload;
  workload.geometry.kv_heads = 1;
  workload.geometry.head_dim = dim;
  workload.geometry.value_dim = dim;
  workload.geometry.dtype = dtype;
  return workload;
}

Workload probe(Dtype dtype, std::int32_t rows, std::int32_t dim, std::int32_t requests, std::int32_t context) {
  return made_up_workload(geometry_of(dtype, dim), rows, requests, context);
}

double least_probe_seconds(const Workload& workload, schedules::Plan plan) {
  MadeUpRun probe(workload, {std::move(plan)});
  probe.run(0);
  return least_seconds(40, [&] { probe.run(0); });
}

/// Seconds to read one row of 256 bytes in every 2 KiB of the cold memory, a head's rows at a time as run_plan does.
double row_read_seconds(std::span<const std::byte> bytes, int threads) {
  constexpr std::size_t kRowBytes = 256;
  constexpr std::size_t kRowDistance = 2048;
  constexpr std::size_t kAhead = 16 * kRowDistance;
  return seconds_of([&] {
    base::parallel(threads, [&](int thread, int team) {
      std::uint64_t sum = 0;
      for (std::size_t head = static_cast<std::size_t>(thread); head < kRowDistance / kRowBytes;
           head += static_cast<std::size_t>(team)) {
        for (std::size_t row = head * kRowBytes; row + kRowBytes <= bytes.size(); row += kRowDistance) {
          for (std::size_t offset = 0; offset < kRowBytes; offset += 64) {
            const std::byte* const line = bytes.data() + row + offset;
            if (row + kAhead < bytes.size()) __builtin_prefetch(line + kAhead);
            sum += static_cast<std::uint64_t>(*line);
          }
        }
      }
      keep(sum);
    });
  });
}

TileCost measure_tile(Dtype dtype, std::int32_t rows) {
  constexpr std::int32_t kTokens = 512;
  const auto token_seconds = [&](std::int32_t dim) {
    const Workload workload = probe(dtype, rows, dim, 1, kTokens);
    const auto seconds = [&](std::int32_t tokens) {
      return least_probe_seconds(workload, items_plan(workload, {0, 1}, tokens, Lists::one));
    };
    return std::max(0.0, seconds(kTokens) - seconds(0)) / kTokens;
  };
  const double narrow = token_seconds(64);
  const double wide = token_seconds(128);
  TileCost cost;
  cost.token_element_seconds = std::max(0.0, wide - narrow) / 128;  // (128 + 128) - (64 + 64) elements
  cost.token_seconds = std::max(0.0, narrow - 128 * cost.token_element_seconds);
  return cost;
}

/// Partial results of empty items cost as much to merge as any.
double measure_merge() {
  constexpr std::int32_t kRequests = 64;
  constexpr std::int32_t kRows = 4;
  constexpr std::int32_t kSplits = 16;
  const Workload many = probe(Dtype::f16, kRows, 128, kRequests, 0);
  const Workload one = probe(Dtype::f16, kRows, 128, 1, 0);
  const double many_seconds = least_probe_seconds(many, items_plan(many, {0, kRequests}, 0, Lists::each));
  const double items =
      (many_seconds - least_probe_seconds(one, items_plan(one, {0, 1}, 0, Lists::each))) / (kRequests - 1);
  const double split_seconds = least_probe_seconds(many, split_plan(many, {0, kRequests}, kSplits));
  return std::max(0.0, (split_seconds / kRequests - kSplits * items) / (kSplits * kRows));
}

/// Bandwidths by 1..threads threads, and how the reads by all of them differ.
void measure_reads(CpuConstants& constants, Quietness& quietness) {
  constexpr int kReads = 9;
  const std::span<const std::byte> memory = cold_memory();
  const double bytes = static_cast<double>(memory.size());
  const int processors = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  const std::vector<int> counts = processor_counts(constants.threads, processors);
  std::vector<double> rates;
  std::vector<double> row_rates;
  for (const int count : counts) {
    const std::vector<double> reads = samples_of(kReads, [&] { read_seconds(memory, count); });
    const std::vector<double> row_reads = samples_of(kReads, [&] { row_read_seconds(memory, count); });
    rates.push_back(bytes / timing_of(reads).median);
    row_rates.push_back(bytes / timing_of(row_reads).median);
    quietness.read_spread = base::relative_spread(reads);  // the last is of all threads
  }
  constants.read_bytes_per_second = rates_between(counts, rates);
  constants.row_read_bytes_per_second = rates_between(counts, row_rates);
}

void measure_tiles(CpuConstants& constants) {
  for (std::size_t dtype = 0; dtype < kDtypes.size(); ++dtype) {
    for (std::int32_t rows = 1; rows <= 4; ++rows) constants.tile[dtype][rows - 1] = measure_tile(kDtypes[dtype], rows);
  }
  constants.token_seconds_per_kv_byte =
      tile_seconds_per_kv_byte(constants, geometry_of(Dtype::f16, 128).geometry, kStreamRows);
}

/// How far memory and arithmetic overlap, and what lists and items cost. After reads and tiles.
void measure_streams(CpuConstants& constants) {
  constexpr int kRounds = 9;
  StreamProbe probe(geometry_of(Dtype::f16, 128), kStreamRows, constants.threads);
  for (int round = 0; round < kRounds; ++round) probe.measure();
  const StreamCost cost = probe.cost(&Pace::slowest);
  constants.overlap = overlap_exponent(constants.threads / constants.read_bytes_per_second.back(),
                                       constants.token_seconds_per_kv_byte, cost.seconds_per_kv_byte);
  constants.list_seconds = cost.list_seconds;
  constants.item_seconds = cost.item_seconds;
}

}  // namespace

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line)) {
    const std::size_t colon = line.find(": ");
    if (line.rfind("model name", 0) == 0 && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown processor";
}

MeasuredCpu measure_cpu(int threads) {
  if (threads < 1) throw std::logic_error("measure_cpu: threads must be positive");
  MeasuredCpu measured;
  CpuConstants& constants = measured.constants;
  constants.model = processor_name();
  constants.threads = threads;
  const std::int64_t interruptions_before = interruptions();
  const double seconds = seconds_of([&] {
    measure_reads(constants, measured.quietness);
    measure_tiles(constants);
    const std::vector<double> forks = samples_of(101, [&] { base::parallel(threads, [](int, int) {}); });
    constants.fork_seconds = timing_of(forks).median;
    measured.quietness.fork_spread = base::relative_spread(forks);
    measure_streams(constants);
    constants.merge_seconds_per_row_split = measure_merge();
  });
  measured.quietness.interruptions_per_second = static_cast<double>(interruptions() - interruptions_before) / seconds;
  return measured;
}

double tile_seconds_per_kv_byte(const CpuConstants& constants, const workloads::Geometry& geometry, std::int32_t rows) {
  const std::array<TileCost, 4>& tile = constants.tile[geometry.dtype == Dtype::f16    ? 0
                                                       : geometry.dtype == Dtype::bf16 ? 1
                                                                                       : 2];
  const auto token_seconds = [&](const TileCost& cost) {
    return cost.token_seconds + cost.token_element_seconds * (geometry.head_dim + geometry.value_dim);
  };
  const std::int32_t chunks = rows / 4;
  double seconds = chunks * token_seconds(tile[3]);
  if (rows % 4 > 0) seconds += token_seconds(tile[rows % 4 - 1]);
  return seconds / static_cast<double>(workloads::kv_bytes_per_token(geometry));
}

const std::vector<double>& kv_read_bytes_per_second(const CpuConstants& constants, const Workload& workload) {
  const bool contiguous = workload.kv.layout == workloads::KvLayout::bhsd || workload.geometry.kv_heads == 1;
  return contiguous ? constants.read_bytes_per_second : constants.row_read_bytes_per_second;
}

}  // namespace splitwave::cpu_reference
