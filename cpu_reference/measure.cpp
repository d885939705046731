// SPDX-License-Identifier: Apache-2.0
#include "cpu_reference/measure.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>

#include "base/error.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "base/quantile.h"
#include "base/stop.h"
#include "cpu_reference/cold_memory.h"
#include "cpu_reference/interruptions.h"

namespace splitwave::cpu_reference {
namespace {

constexpr std::int64_t kMegabyte = 1 << 20;
double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::uint64_t sum_of(const std::byte* bytes, std::size_t count) {
  constexpr std::size_t kWords = 16;  // independent sums, which the compiler turns into vectors
  std::array<std::uint64_t, kWords> sums{};
  for (std::size_t offset = 0; offset + sizeof(sums) <= count; offset += sizeof(sums)) {
    std::array<std::uint64_t, kWords> words;
    std::memcpy(words.data(), bytes + offset, sizeof(words));
    for (std::size_t i = 0; i < kWords; ++i) sums[i] += words[i];
  }
  std::uint64_t total = 0;
  for (const std::uint64_t sum : sums) total += sum;
  return total;
}

/// Bytes of last-level cache that this computer's processors have in all, as Linux shows them: what sysconf says on AMD
/// is the whole package's, of which a virtual machine may have a twelfth. 0 if Linux shows nothing.
std::int64_t last_level_cache_bytes() {
  double bytes = 0;
  for (long cpu = 0; cpu < sysconf(_SC_NPROCESSORS_CONF); ++cpu) {
    const std::string cache = "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/cache/index3/";
    std::ifstream size_file(cache + "size");
    std::ifstream map_file(cache + "shared_cpu_map");
    double kilobytes = 0;
    std::string map;
    if (!(size_file >> kilobytes) || !(map_file >> map)) continue;
    int sharers = 0;
    for (const char digit : map) {
      const int value = digit >= 'a' ? digit - 'a' + 10 : digit == ',' ? 0 : digit - '0';
      sharers += std::popcount(static_cast<unsigned>(value));
    }
    bytes += kilobytes * 1024 / std::max(1, sharers);
  }
  return static_cast<std::int64_t>(bytes);
}

std::vector<std::byte> make_cold_memory() {
  std::int64_t cache = last_level_cache_bytes();
  if (cache == 0) cache = std::max<std::int64_t>(sysconf(_SC_LEVEL3_CACHE_SIZE), 0);
  const std::int64_t bytes = std::clamp(3 * cache, 64 * kMegabyte, 1024 * kMegabyte);
  if (const std::int64_t available = base::available_memory_bytes(); bytes > available) {
    throw base::MissingError(fmt::format(
        "timing on this CPU needs {} bytes of memory to flush its caches; allowed: at most {}", bytes, available));
  }
  return std::vector<std::byte>(static_cast<std::size_t>(bytes), std::byte{1});
}

}  // namespace

std::span<const std::byte> cold_memory() {
  static const std::vector<std::byte> memory = make_cold_memory();
  return memory;
}

void keep(std::uint64_t value) {
  static std::atomic<std::uint64_t> kept;
  kept.store(value, std::memory_order_relaxed);
}

double read_seconds(std::span<const std::byte> bytes, int threads) {
  const double begin = now();
  base::parallel(threads, [&](int thread, int team) {
    const std::size_t first = bytes.size() * static_cast<std::size_t>(thread) / static_cast<std::size_t>(team);
    const std::size_t end = bytes.size() * static_cast<std::size_t>(thread + 1) / static_cast<std::size_t>(team);
    keep(sum_of(bytes.data() + first, end - first));
  });
  return now() - begin;
}

void evict_caches(int threads) {
  read_seconds(cold_memory(), threads);
  wake_threads(threads);
}

void wake_threads(int threads) {
  base::parallel(threads, [](int, int) {});
}

Timing timing_of(const std::vector<double>& samples) {
  if (samples.empty()) return {};
  return {base::quantile(samples, 0.5), base::quantile(samples, 0.2), base::quantile(samples, 0.8),
          static_cast<int>(samples.size())};
}

TimedPlan::TimedPlan(const workloads::Workload& workload, const workloads::Tensors& tensors,
                     const schedules::Plan& plan, int threads)
    : workload_(workload),
      tensors_(tensors),
      plan_(plan),
      threads_(threads),
      workspace_(make_workspace(workload, plan, threads)) {
  run_plan(workload_, tensors_, plan_, *workspace_, threads_, result_);  // pages of the result, threads, clock
}

double TimedPlan::sample() {
  base::stop_if_asked();
  double seconds = 0;
  interrupted_ += until_uninterrupted([&] { evict_caches(threads_); },
                                      [&] {
                                        const double begin = now();
                                        run_plan(workload_, tensors_, plan_, *workspace_, threads_, result_);
                                        seconds = now() - begin;
                                      });
  return seconds;
}

schedules::Recording TimedPlan::record() {
  schedules::Recording recording;
  until_uninterrupted([&] { evict_caches(threads_); },
                      [&] { run_plan(workload_, tensors_, plan_, *workspace_, threads_, result_, &recording); });
  return recording;
}

}  // namespace splitwave::cpu_reference
