// SPDX-License-Identifier: Apache-2.0
#include "cpu_reference/measure.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <stdexcept>

#include "base/parallel.h"
#include "base/quantile.h"
#include "cpu_reference/cold_memory.h"

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

std::vector<std::byte> make_cold_memory() {
  const std::int64_t cache = std::max<std::int64_t>(sysconf(_SC_LEVEL3_CACHE_SIZE), 0);
  return std::vector<std::byte>(std::clamp(3 * cache, 64 * kMegabyte, 1024 * kMegabyte), std::byte{1});
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
}

Timing timing_of(const std::vector<double>& samples) {
  if (samples.empty()) return {};
  return {base::quantile(samples, 0.5), base::quantile(samples, 0.2), base::quantile(samples, 0.8),
          static_cast<int>(samples.size())};
}

Timing time_plan(const workloads::Workload& workload, const workloads::Tensors& tensors, const schedules::Plan& plan,
                 int threads, int min_samples, double min_seconds, Result<float>& result) {
  if (threads < 1 || min_samples < 1) throw std::logic_error("time_plan: threads and min_samples must be positive");
  const WorkspacePtr workspace = make_workspace(workload, plan, threads);
  run_plan(workload, tensors, plan, *workspace, threads, result);  // pages of the result, threads, clock
  std::vector<double> samples;
  const double first = now();
  while (static_cast<int>(samples.size()) < min_samples || now() - first < min_seconds) {
    evict_caches(threads);
    const double begin = now();
    run_plan(workload, tensors, plan, *workspace, threads, result);
    samples.push_back(now() - begin);
  }
  return timing_of(samples);
}

}  // namespace splitwave::cpu_reference
