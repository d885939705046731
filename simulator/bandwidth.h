// SPDX-License-Identifier: Apache-2.0
// How fast CTAs stream together: the fluid law of docs/simulator.md.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "simulator/machine.h"

namespace splitwave::simulator {

/// CTAs that stream under the same limit of their own (their SM's share, or arithmetic).
struct StreamClass {
  double ctas = 0;
  double cap = 0;         ///< most bytes/s that one of them can take in
  double rate = 0;        ///< out: bytes/s of one of them
  std::int32_t port = 0;  ///< kind of port that they are behind (simulator/ports.h)
};

/// The memory system as a set of streaming CTAs sees it.
struct MemoryLaw {
  double bytes_in_flight = 0;  ///< of one CTA
  double latency_seconds = 0;  ///< unloaded
  double refill_seconds = 0;   ///< from a byte's arrival to the request that takes its place in the window
  double passing_seconds = 0;  ///< of a window's turn besides: through its SM's port, of one that comes at once
  double queue_seconds = 0;    ///< W of L(rho) = L0 + W rho / (1 - rho)
  double asymptote = 0;        ///< rho = DRAM bytes/s over this
  double plateau = 0;          ///< most DRAM bytes/s
  double dram_share = 1;       ///< bytes from DRAM per byte that a CTA takes in; the rest comes from L2
  double l2_bytes_per_second = 0;
  std::span<const double>
      by_sms;          ///< measured bandwidth by streaming CTAs (a CPU's threads); if not empty, the whole law but for
  double overlap = 1;  ///< of such CTAs: CpuFigures::overlap

  /// From the request of a byte to that of the one in its place.
  double unloaded_seconds() const { return latency_seconds + refill_seconds + passing_seconds; }
  /// Most bytes/s of a CTA that waits for latencies alone.
  double lone_rate() const { return bytes_in_flight / unloaded_seconds(); }
};

/// The law for CTAs with `bytes_in_flight` each, of whose bytes DRAM delivers a share, and a share comes with DRAM's
/// latency: also those that another CTA is waiting for.
MemoryLaw memory_law(const Machine& machine, double bytes_in_flight, double dram_share, double waited_share);

/// What memory delivers, of its bandwidth, to so many CTAs that read a part of their own each (Machine::stream_share):
/// all of it to one an SM, the share to two and more.
double stream_share(const Machine& machine, std::int32_t ctas);

/// Fills in the rates of `classes`: each CTA gets the least of its cap and a common level x,
/// where x is bytes in flight over the loaded latency, or the max-min fair share once DRAM or L2 is full. Returns x;
/// where all run at their caps, what it would be without. Threads of a CPU get an even share x of the measured
/// bandwidth, and 1 / (1/x^p + 1/cap^p)^(1/p) of it, p being the overlap.
double share_bandwidth(const MemoryLaw& law, std::span<StreamClass> classes);

}  // namespace splitwave::simulator
