// SPDX-License-Identifier: Apache-2.0
// Workers that share a GPU's memory, in time: the part of the choice's model that knows the chip.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

namespace splitwave::gpu {

/// SMs reach the memory through ports, each of which serves four or six of them. While more is asked for than the
/// memory gives, each port gets the same share, so that a CTA's rate depends on how many others sit behind its port.
/// Here: ports that are alike, and the workers behind all of them.
struct PortLoad {
  double ports = 0;
  double workers = 0;
};

/// Where the hardware puts `ctas` single CTAs or pairs on an H200 of 132 SMs. It deals them out to the GPCs in turn,
/// one to each SM before any SM gets its second; one GPC counts as five, so that it is full before the others are half
/// full, and its CTAs end last. Measured (docs/kernels.md, "Ports").
std::vector<PortLoad> h200_port_loads(std::int32_t ctas);

/// What a launch's contention depends on. Rates in bytes per second.
struct ContentionLimits {
  double worker_rate = 0;                                 ///< most of a worker
  double worker_bytes_in_flight = 0;                      ///< that a worker has under way
  std::function<double(double)> memory_bytes_per_second;  ///< of all, by the bytes in flight
  double fair_bytes = 0;   ///< bytes in flight up to which all workers get the same, whatever their ports
  double port_bytes = 0;   ///< bytes in flight from which on all ports get the same
  double port_excess = 0;  ///< ... if workers could take so much more than they get (a fraction)
};

/// Lists in the order of the plan onto workers; streaming workers share the memory's rate.
class Contention {
 public:
  /// loads: of the first wave's workers.
  Contention(const ContentionLimits& limits, const std::vector<PortLoad>& loads);

  /// A worker begins a list of `bytes` whose data come `latency` seconds from now: the one whose list ended last, or,
  /// before any ended, the next of the first wave.
  void start(double latency, double bytes);

  /// Runs until a list ends; false if none is left.
  bool run_to_end_of_list();

  double now() const { return now_; }

 private:
  template <class T>
  using Ascending = std::priority_queue<T, std::vector<T>, std::greater<>>;
  struct Group {
    PortLoad load;
    double given = 0;  ///< workers of the first wave dealt out so far
    double rate = 0;
    double progress = 0;          ///< bytes that a worker streaming since the start would have
    Ascending<double> streaming;  ///< progress at which each ends
    double workers_per_port() const { return static_cast<double>(streaming.size()) / load.ports; }
  };
  struct Waiting {
    double ready;
    double bytes;
    std::size_t group;
    bool operator>(const Waiting& other) const { return ready > other.ready; }
  };

  std::size_t next_group();
  void set_rates();

  ContentionLimits limits_;
  std::vector<Group> groups_;
  std::vector<std::size_t> order_;  ///< of groups, by workers per port; kept for its memory
  std::size_t freed_ = 0;
  bool first_wave_ = true;
  double now_ = 0;
  Ascending<Waiting> waiting_;
};

}  // namespace splitwave::gpu
