// SPDX-License-Identifier: Apache-2.0
#include "cpu_reference/measure.h"

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>

#include "base/parallel.h"
#include "base/quantile.h"
#include "base/stop.h"
#include "cpu_reference/cold_memory.h"
#include "cpu_reference/interruptions.h"

namespace splitwave::cpu_reference {
namespace {

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

}  // namespace

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
  interrupted_ += until_uninterrupted([&] { evict(tensors_, threads_); },
                                      [&] {
                                        const double begin = now();
                                        run_plan(workload_, tensors_, plan_, *workspace_, threads_, result_);
                                        seconds = now() - begin;
                                      });
  return seconds;
}

schedules::Recording TimedPlan::record() {
  schedules::Recording recording;
  until_uninterrupted([&] { evict(tensors_, threads_); },
                      [&] { run_plan(workload_, tensors_, plan_, *workspace_, threads_, result_, &recording); });
  return recording;
}

}  // namespace splitwave::cpu_reference
