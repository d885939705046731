// SPDX-License-Identifier: Apache-2.0
// Which plan and which kernel: the pair with the least predicted time, for any shape.
#pragma once

#include <string>
#include <vector>

#include "gpu/variant.h"
#include "schedules/plan.h"
#include "workloads/workload.h"

namespace splitwave::gpu {

/// Constants of the model on an H200. Launch, first data, rates and the memory's law: measured with single CTAs, empty
/// kernels and plain reads. The others: set once against a sweep of random shapes of seed 11 and the ragged public
/// ones, so that these judge the choice less strictly than other seeds do (docs/kernels.md).
struct CostConstants {
  double launch_seconds = 0.65e-6;        ///< a kernel node of a graph
  double first_data_seconds = 1.3e-6;     ///< from a CTA's start to its first data, code and tables cold
  double later_data_seconds = 1.5e-6;     ///< the same for CTAs of later waves
  double cluster_wave_seconds = 0.3e-6;   ///< per CTA of a ragged batch's later clusters: all must find room at once
  double general_seconds = 0.6e-6;        ///< more code, and the first item from a table
  double item_seconds = 0.9e-6;           ///< each further item of a list, besides the end of the one before
  double end_seconds_per_warp = 0.08e-6;  ///< combining the warps
  double end_seconds_per_fragment = 0.25e-6;  ///< writing, per 16 elements of 8 rows of a warp
  double cluster_seconds = 0.45e-6;           ///< combining a cluster's CTAs
  double merge_seconds = 1.9e-6;              ///< a merge across items
  double merge_seconds_per_part = 0.1e-6;     ///< each of its parts
  double bytes_per_second = 4.55e12;          ///< of the whole device: the plateau of plain reads
  double bytes_asymptote = 4.929e12;          ///< bytes per second at which the loaded latency would be infinite
  double latency_seconds = 0.912e-6;          ///< from a request to its data, unloaded
  double queue_seconds = 0.1155e-6;           ///< growth of the latency with load: latency + queue * rho / (1 - rho)
  double fair_bytes = 8e6;                    ///< in flight on the device: below, workers share the memory equally
  double port_bytes = 13e6;                   ///< above, ports do (contention.h)
  double port_excess = 0.4;                   ///< ... where workers could take so much more than they get
  double sm_bytes_per_second = 125e9;         ///< of one SM, bound by its shared memory
  std::int32_t sms = 132;
};

/// A plan and the kernel to run it with.
struct Choice {
  std::string schedule;
  Variant variant;
  schedules::Plan plan;
  double predicted_seconds = 0;
};

/// Seconds of a warp's chunk: a chain of latencies, then time by its bytes and query rows.
double chunk_seconds(const workloads::Geometry& geometry, const Variant& variant);

/// Bytes per second of the whole device while so many bytes are requested at a time: Little's law with a latency that
/// grows with load.
double memory_bytes_per_second(double bytes_in_flight, const CostConstants& constants = {});

/// Predicted seconds of a launch: lists start in order as workers fall free, all workers share the memory equally.
double predict(const workloads::Workload& workload, const schedules::Plan& plan, const Variant& variant,
               const Residency& where, const CostConstants& constants = {});

/// Plans and kernels worth considering: fixed splits of uniform batches, fixed sizes and LeanAttention's cut.
std::vector<Choice> candidates(const workloads::Workload& workload);

/// The kernel with the least predicted time for one schedule. Workers are single CTAs, as in the schedules' own
/// kernels, and the plan keeps the schedule's tile sizes and merge. Throws as variants() and make_plan() do.
Choice choose_kernel(const std::string& schedule, const workloads::Workload& workload,
                     const CostConstants& constants = {});

/// The candidate with the least predicted time. Throws as variants() does.
Choice choose(const workloads::Workload& workload, const CostConstants& constants = {});

}  // namespace splitwave::gpu
