// SPDX-License-Identifier: Apache-2.0
// Which plan and which kernel: the pair with the least predicted time, for any shape.
#pragma once

#include <string>
#include <vector>

#include "gpu/device.h"
#include "gpu/kernel_config.h"
#include "schedules/plan.h"
#include "workloads/workload.h"

namespace splitwave::gpu {

/// Constants of the model on an H200. Launch, rates and the memory's law: measured with single CTAs, empty kernels and
/// plain reads. The others: set once against a sweep of 67 random shapes of seed 11 (up to 2 GB), half of the ragged
/// public ones and 17 others, most under 10 MB, so that these judge the choice less strictly than other seeds do
/// (docs/kernels.md). Terms that always come together trade off in such a fit: only their sums mean something.
struct CostConstants {
  double launch_seconds = 0.65e-6;        ///< a kernel node of a graph
  double first_data_seconds = 0.01e-6;    ///< from a CTA's start to its first data, code and tables cold
  double later_data_seconds = 1.34e-6;    ///< the same for CTAs of later waves
  double cluster_wave_seconds = 0.19e-6;  ///< per CTA of a ragged batch's later clusters: all must find room at once
  double table_seconds = 0.14e-6;         ///< a single-item kernel whose item comes from a table
  double list_kernel_seconds = 0.82e-6;   ///< more code, and the first item from a table
  double item_seconds = 1.25e-6;          ///< each further item of a list, besides the end of the one before
  double chunk_seconds = 0.146e-6;        ///< a warp's chunk: the chain of latencies
  double chunk_seconds_per_byte = 3.34e-11;
  double chunk_two_row_tiles = 1.15;              ///< times so much longer with two row tiles,
  double chunk_four_row_tiles = 2.4;              ///< and with four
  double end_seconds_per_warp = 0.144e-6;         ///< combining the warps
  double end_seconds_per_fragment = 0.218e-6;     ///< writing, per 16 elements of 8 rows of a warp
  double cluster_seconds = 0.331e-6;              ///< combining a cluster's CTAs
  double whole_item_seconds = 0.08e-6;            ///< the end of a kernel without rings, after its chunks
  double whole_item_cluster_seconds = 0.53e-6;    ///< ... more in clusters,
  double whole_item_seconds_per_rank = 0.033e-6;  ///< and for each of their CTAs
  double merge_seconds = 1.75e-6;                 ///< a merge across items
  double merge_seconds_per_part = 0.118e-6;       ///< each of its parts
  double bytes_per_second = 4.55e12;              ///< of the whole device: the plateau of plain reads
  double bytes_asymptote = 4.929e12;              ///< bytes per second at which the loaded latency would be infinite
  double latency_seconds = 0.912e-6;              ///< from a request to its data, unloaded
  double queue_seconds = 0.1155e-6;    ///< growth of the latency with load: latency + queue * rho / (1 - rho)
  double fair_bytes = 8.5e6;           ///< in flight on the device: below, workers share the memory equally
  double port_bytes = 16e6;            ///< above, ports do (contention.h)
  double port_excess = 0.155;          ///< ... where workers could take so much more than they get
  double sm_bytes_per_second = 125e9;  ///< of one SM, bound by its shared memory
  std::int32_t sms = 132;
};

/// A plan and the kernel to run it with.
struct PlannedLaunch {
  KernelConfig config;
  schedules::Plan plan;
  double predicted_seconds = 0;
};

/// What a choice asks about a device: its limits, and how many workers of a kernel are resident on it.
struct DeviceFacts {
  Device limits;
  Residency (*residency)(const workloads::Workload& workload, const KernelConfig& config) = nullptr;
};

/// Of the current device, with the occupancy that the CUDA runtime reports. Throws as current_device() does.
DeviceFacts current_device_facts();

/// Seconds of a warp's chunk: a chain of latencies, then time by its bytes and query rows.
double chunk_seconds(const workloads::Geometry& geometry, const KernelConfig& config,
                     const CostConstants& constants = {});

/// Bytes per second of the whole device while so many bytes are requested at a time: Little's law with a latency that
/// grows with load.
double memory_bytes_per_second(double bytes_in_flight, const CostConstants& constants = {});

/// Predicted seconds of a launch: lists start in order as workers fall free, and workers share the memory as
/// contention.h says.
double predict_seconds(const workloads::Workload& workload, const schedules::Plan& plan, const KernelConfig& config,
                       const Residency& where, const CostConstants& constants = {});

/// Whether it pays to let the plan's launch begin before the kernel before it has ended (programmatic dependent
/// launch): in small problems, which wait for latencies, and where the grid fills the device. A grid that leaves room
/// lets the next one in beside it, on SMs that then have two to serve: measured up to 1.3 times slower.
bool overlap_pays(const workloads::Workload& workload, const schedules::Plan& plan, const Residency& where);

/// Plans and kernels worth considering: fixed splits of uniform batches, fixed sizes and LeanAttention's cut, all
/// merged by the last arriver.
std::vector<PlannedLaunch> candidates(const workloads::Workload& workload,
                                      const DeviceFacts& device = current_device_facts());

/// The kernel with the least predicted time for one schedule. Workers are single CTAs, as in the schedules' own
/// kernels, and the plan keeps the schedule's tile sizes and merge. Throws as kernel_configs() and make_plan() do.
PlannedLaunch choose_kernel(const std::string& schedule, const workloads::Workload& workload,
                            const CostConstants& constants = {}, const DeviceFacts& device = current_device_facts());

/// The candidate with the least predicted time; the plan's name and reason say what was chosen. Throws as
/// kernel_configs() does.
PlannedLaunch choose(const workloads::Workload& workload, const CostConstants& constants = {},
                     const DeviceFacts& device = current_device_facts());

}  // namespace splitwave::gpu
