// SPDX-License-Identifier: Apache-2.0
// What stands around the arithmetic of an item of one round, by a config's probes: nanoseconds.
#pragma once

#include <algorithm>
#include <optional>

#include "studies/kernel_constants.h"
#include "studies/probe_times.h"

namespace splitwave::studies {

class RoundCosts {
 public:
  /// waits: of the kernel for CTAs that wait.
  RoundCosts(const ProbedConfig& probed, const ProbeBase& base, bool waits = false)
      : probed_(probed), base_(base), times_(probed, waits) {}

  const ProbeTimes& times() const { return times_; }
  double launch() const { return base_.launch_seconds * 1e9; }
  /// Of a ring of copies from L2.
  double latency() const { return base_.ring_l2_seconds * 1e9; }
  /// Memory is than L2, for a launch's first loads.
  double farther() const { return base_.farther_seconds * 1e9; }

  double round_bytes(std::int32_t cluster) const {
    return static_cast<double>(workloads::kv_bytes_per_token(probed_.geometry)) * times_.round(cluster) / cluster;
  }
  /// Of a worker's first round from L2, each CTA of a cluster its own part.
  double transfer(std::int32_t cluster) const { return round_bytes(cluster) / base_.ring_l2_bytes_per_second * 1e9; }
  /// The same at the rate at which the simulator lets a lone ring's come: a window in the time in which a stage is
  /// refilled, at most what an SM takes in.
  double stream(std::int32_t cluster, bool any_plan) const {
    const double bytes = round_bytes(cluster);
    const double window = probed_.config.stages * bytes / (latency() + times_.chain(cluster, any_plan));
    return bytes / std::min(window, base_.sm_bytes_per_second * 1e-9);
  }

  /// What a turn of a lone ring that streams from DRAM takes besides a latency, a window's way through the SM's port
  /// where warps share tiles, and a round's arithmetic. 0 where these say that arithmetic is the limit. Nothing of
  /// points without such probes.
  std::optional<double> ring_refill(bool any_plan, bool shares_tiles) const {
    const std::optional<double> round = times_.streamed_round(any_plan);
    if (!round) return std::nullopt;
    const double chain = times_.chain(1, any_plan);
    const double passing = shares_tiles ? round_bytes(1) / base_.sm_bytes_per_second * 1e9 : 0;
    const double turn = latency() + farther() + passing + chain;
    const double stages = probed_.config.stages;
    return turn < kArithmeticBound * stages * chain ? 0 : stages * *round - turn;
  }

  /// What an item of a round takes besides its round, its latency and the launch.
  double around(std::int32_t cluster, bool any_plan) const {
    return times_.at(cluster, any_plan, gpu::ProbeKind::item, times_.round(cluster)) - times_.chain(cluster, any_plan) -
           latency() - stream(cluster, any_plan) - launch();
  }
  /// The same with K and V in DRAM, as calls find them: how much of its distance a start hides differs from kernel to
  /// kernel. Of points without such probes as much as a machine's first loads see.
  double around_cold(std::int32_t cluster, bool any_plan) const {
    const std::optional<double> cold = times_.find(cluster, any_plan, gpu::ProbeKind::cold, times_.round(cluster));
    if (!cold) return around(cluster, any_plan);
    return *cold - times_.chain(cluster, any_plan) - latency() - farther() -
           round_bytes(cluster) / base_.sm_bytes_per_second * 1e9 - launch();
  }
  /// The same of the first of several masked items. Of warps with lists of their own both items of the probe's shortest
  /// list take a round of each warp.
  double around_masked(std::int32_t cluster) const {
    const bool alone = probed_.config.team == gpu::Team::alone;
    const double first = alone ? times_.at(cluster, true, gpu::ProbeKind::unhidden, 2) - times_.chain(1, true)
                               : times_.first(cluster, true, gpu::ProbeKind::unhidden);
    return first - times_.chain(1, true) - latency() - stream(cluster, true) - launch();
  }

 private:
  /// Share of the arithmetic of a turn's rounds up to which a latency hides behind it.
  static constexpr double kArithmeticBound = 0.9;

  const ProbedConfig& probed_;
  const ProbeBase& base_;
  ProbeTimes times_;
};

}  // namespace splitwave::studies
