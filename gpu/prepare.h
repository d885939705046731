// SPDX-License-Identifier: Apache-2.0
// From a plan to the launches that run it. Private to gpu/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "gpu/addressing.h"
#include "gpu/buffer.h"
#include "gpu/decode.h"
#include "gpu/kernel_config.h"
#include "gpu/kernels/params.h"
#include "gpu/kernels/table.h"
#include "gpu/key_map.h"
#include "gpu/launch.h"
#include "gpu/recorder.h"
#include "schedules/plan.h"
#include "workloads/workload.h"

namespace splitwave::gpu {

/// Device memory of a decoder: what its launches read and write besides the tensors.
struct Workspace {
  explicit Workspace(const Capacity& capacity);
  std::size_t merges_offset() const { return static_cast<std::size_t>(capacity.items) * sizeof(DeviceItem); }
  void reset_control() {
    control.fill_bytes(0);
    packets.fill_bytes(0xff);
  }

  Capacity capacity;
  DeviceBuffer<std::byte> tables;  ///< items, then merges, then room for kernels that read ahead of the items
  DeviceBuffer<float> partials;
  DeviceBuffer<float> partial_sums;
  DeviceBuffer<std::byte> packets;      ///< as kernels/packets.cuh has them, none there between launches
  DeviceBuffer<std::uint32_t> control;  ///< queue, error, arrivals
};

/// The residency that was asked for last: the CUDA runtime takes longer to answer than a plan to encode.
struct KnownResidency {
  const DecodeKernel* kernel = nullptr;
  std::int32_t cluster = 0;
  Residency where;
};

/// What the launches of a plan have in themselves: values in a graph that captures them, where the tables in the
/// workspace, which they point to, may become another plan's.
struct Launches {
  DecodeParams params;
  MergeParams merge_params;
  Launch decode;
  Launch merge;
  bool separate_merge = false;
  std::int32_t merge_warps_shift = 0;  ///< log2 of the warps for which the merge kernel's grid has room, of a fragment
  KernelConfig config;
  bool replayable = false;  ///< LaunchOptions::replayable
};

/// All that launches of a plan are made of, besides the tables in the workspace.
struct Prepared : Launches {
  bool merges = false;                    ///< some outputs are in parts
  KeyRows key_rows;                       ///< none: keys come by copies
  DeviceBuffer<std::uint64_t> visits;     ///< per item of the table, if they are counted
  std::vector<std::int64_t> table_index;  ///< of each item of the plan, or its first piece, if visits are counted
  Recorder recorder;
};

/// Lists without work that a launch has room for: other plans may replay it. 0 if it is not replayable.
std::int32_t spare_lists_of(const Capacity& capacity, const KernelConfig& config, const LaunchOptions& options);

/// The plan without a table, if launches with these options can run it so.
std::optional<UniformPlan> uniform_plan(const workloads::Workload& workload, const KvAddressing& addressing,
                                        const schedules::Plan& plan, const KernelConfig& config,
                                        const LaunchOptions& options);

/// Throws InputError as Decoder::set_plan does. Changes nothing on the device.
Prepared prepare(const workloads::Workload& workload, const KvAddressing& addressing, const schedules::Plan& plan,
                 const KernelConfig& config, const LaunchOptions& options, const std::optional<UniformPlan>& uniform,
                 const Workspace& workspace, KnownResidency& known);

}  // namespace splitwave::gpu
