// SPDX-License-Identifier: Apache-2.0
// The simulator's prediction for a measured point.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "benchmarks/accuracy/points.h"
#include "schedules/plan.h"
#include "schedules/timeline.h"
#include "simulator/kernel.h"
#include "simulator/machine.h"
#include "studies/target.h"

namespace splitwave::accuracy {

/// Which schedule stands for a measured kernel.
struct Peer {
  std::string_view kernel;    ///< its name in the measurements
  std::string_view schedule;  ///< empty: a plan is made here, for a profile of the kernel's own name
  std::string_view title;
};

/// The kernels that can be predicted, in the order of the tables. Others are left out.
std::span<const Peer> peers();

/// Where a kernel's constants come from: its own file, or the same few latencies of the machine for every kernel.
enum class Constants { of_kernel, of_machine };

/// The kernel with every cost that is not read in its source replaced by latencies of the machine, the same for all
/// kernels (docs/accuracy.md lists them). Tiles, threads, pipeline depths and numbers of dependent loads stay.
simulator::KernelProfile without_own_constants(simulator::KernelProfile kernel, const simulator::Machine& machine,
                                               const workloads::Geometry& geometry, schedules::MergeKind merge);

/// A measured point and its prediction.
struct JudgedPoint {
  const Point* point = nullptr;
  const Peer* peer = nullptr;
  double seconds = 0;
  double roofline_seconds = 0;  ///< bytes of K and V over the data sheet's bandwidth
  double waves_seconds = 0;     ///< of waves alone (own.h); 0: not asked for
  double bytes = 0;             ///< of K and V
  schedules::Breakdown parts;
  double error() const { return seconds / point->seconds - 1; }
  double roofline_error() const { return roofline_seconds / point->seconds - 1; }
  double waves_error() const { return waves_seconds / point->seconds - 1; }
};

/// Takes something out of a kernel before it is used.
using KernelChange = std::function<void(simulator::KernelProfile&)>;

/// Predictions of all points whose kernel is one of peers(), in the order of peers(), then of the points. They point
/// into `points`.
std::vector<JudgedPoint> judge_all(std::span<const Point> points, const studies::Target& target, Constants constants,
                                   const KernelChange& change = {});

}  // namespace splitwave::accuracy
