// SPDX-License-Identifier: Apache-2.0
#include "simulator/bandwidth.h"

#include <algorithm>
#include <cmath>

namespace splitwave::simulator {
namespace {

/// Level x at which `free` CTAs take x each and the others `capped` bytes/s in all. With B = share (free x + capped)
/// and x = q / (L0 + W B / (M - B)), L0 with the time to pass and to refill, B solves a B^2 - b B + c = 0; its smaller
/// root is the one below M.
double latency_level(const MemoryLaw& law, double free, double capped) {
  const double n = law.dram_share * free;
  const double fixed = law.dram_share * capped;
  const double latency = law.unloaded_seconds();
  if (n <= 0) return law.bytes_in_flight / latency;
  const double a = latency - law.queue_seconds;
  const double nq = n * law.bytes_in_flight;
  const double b = latency * law.asymptote + fixed * a + nq;
  const double c = fixed * latency * law.asymptote + nq * law.asymptote;
  const double total = 2 * c / (b + std::sqrt(std::max(0.0, b * b - 4 * a * c)));
  return (std::min(total, law.plateau) - fixed) / n;
}

/// What each of `free` CTAs gets when the others take `capped` bytes/s together.
double common_level(const MemoryLaw& law, double free, double capped) {
  return std::min(latency_level(law, free, capped), (law.l2_bytes_per_second - capped) / free);
}

/// Threads of a CPU, which share the bandwidth measured for so many. One that streams overlaps its memory time m per
/// byte with its arithmetic c only in part: (m^p + c^p)^(1/p), with p as it was measured.
double share_measured(const MemoryLaw& law, double all, std::span<StreamClass> classes) {
  const std::size_t count = std::min(static_cast<std::size_t>(std::max(1.0, all)), law.by_sms.size());
  const double level = law.by_sms[count - 1] / all;
  for (StreamClass& one : classes) {
    one.rate = level / std::pow(1 + std::pow(level / one.cap, law.overlap), 1 / law.overlap);
  }
  return level;
}

}  // namespace

MemoryLaw memory_law(const Machine& machine, double bytes_in_flight, double dram_share, double waited_share) {
  MemoryLaw law;
  law.bytes_in_flight = bytes_in_flight;
  law.latency_seconds = waited_share * machine.dram_latency_seconds + (1 - waited_share) * machine.l2_latency_seconds;
  law.queue_seconds = waited_share * machine.dram_queue_seconds;
  law.asymptote = machine.dram_asymptote;
  law.plateau = machine.dram_bytes_per_second;
  law.dram_share = dram_share;
  law.l2_bytes_per_second = machine.l2_bytes_per_second;
  law.by_sms = machine.bytes_per_second_by_sms;
  if (machine.cpu) law.overlap = machine.cpu->overlap;
  return law;
}

double stream_share(const Machine& machine, std::int32_t ctas) {
  const double further = std::clamp(static_cast<double>(ctas) / machine.sms - 1, 0.0, 1.0);
  return 1 - (1 - machine.stream_share) * further;
}

double share_bandwidth(const MemoryLaw& law, std::span<StreamClass> classes) {
  double all = 0;
  for (StreamClass& one : classes) {
    all += one.ctas;
    one.rate = 0;  // not yet known to run at its cap
  }
  if (all <= 0) return 0;
  if (!law.by_sms.empty()) return share_measured(law, all, classes);
  double free = all;
  double capped = 0;
  double level = common_level(law, free, capped);
  // What capped CTAs leave raises the level of the others, so that a class once capped stays so.
  for (bool changed = true; changed;) {
    changed = false;
    for (StreamClass& one : classes) {
      if (one.rate > 0 || one.cap >= level || one.ctas <= 0) continue;
      one.rate = one.cap;
      capped += one.ctas * one.cap;
      free -= one.ctas;
      changed = true;
    }
    if (changed && free > 0.5) level = common_level(law, free, capped);
    if (free <= 0.5) {
      level = common_level(law, all, 0);
      break;
    }
  }
  for (StreamClass& one : classes) {
    if (one.rate <= 0) one.rate = std::min(one.cap, level);
  }
  return level;
}

}  // namespace splitwave::simulator
