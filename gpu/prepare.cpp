// SPDX-License-Identifier: Apache-2.0
#include "gpu/prepare.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "base/error.h"
#include "gpu/compiled_kernels.h"
#include "gpu/encode.h"
#include "gpu/head_pairs.h"
#include "schedules/key_boxes.h"

namespace splitwave::gpu {

using base::InputError;
using schedules::Dispatch;
using schedules::MergeKind;
using schedules::Plan;
using workloads::Workload;

namespace {

constexpr std::int32_t kMostCluster = 8;  // of those whose results are merged
constexpr double kLog2E = 1.4426950408889634;

std::int32_t row_blocks_of(std::int32_t rows, std::int32_t row_tiles) {
  return std::max(1, (rows + 8 * row_tiles - 1) / (8 * row_tiles));
}

InKernelMerge in_kernel(MergeKind merge) {
  switch (merge) {
    case MergeKind::host_cta:
      return InKernelMerge::host_cta;
    case MergeKind::last_arriver:
      return InKernelMerge::last_arriver;
    case MergeKind::none:
    case MergeKind::kernel:
      break;
  }
  return InKernelMerge::none;
}

std::uint32_t dependent_launch_bits(const LaunchOptions& options) {
  if (options.overlap == Overlap::none) return 0;
  const std::uint32_t wait = options.overlap == Overlap::wait_first ? kWaitFirst : kWaitAfterFill;
  return wait | (options.trigger == Trigger::at_start ? kTriggerFirst : kTriggerLate);
}

void check_fits(const Workload& workload, const Plan& plan, const KernelConfig& config, const LaunchOptions& options,
                const Capacity& capacity) {
  const PlanSize size = size_of(plan);
  const std::int64_t partials = size.slots * row_blocks_of(size.most_rows, config.row_tiles);
  const ListShape shape = list_shape(config);
  const std::int64_t spare = std::max(0, spare_lists_of(capacity, config, options) - size.lists);
  const std::int64_t items = table_size(plan, shape) + spare * shape.warps;
  const auto require_room = [&](const char* what, std::int64_t needed, std::int64_t room) {
    if (needed <= room) return;
    throw InputError(
        fmt::format("plan {}: {} {} do not fit the decoder's capacity of {}", plan.schedule, needed, what, room));
  };
  require_room(spare > 0 ? "items, with those of lists that other plans may have," : "items", items, capacity.items);
  require_room("merges", size.merges, capacity.merges);
  require_room("partial results", partials, capacity.partials);
  require_room("row tiles", config.row_tiles, capacity.row_tiles);
  require_room("value elements", workload.geometry.value_dim, capacity.value_dim);
}

std::uint32_t test_hooks(const LaunchOptions& options) {
  return (options.count_visits ? kCountVisits : 0U) | (options.delay_seed != 0 ? kDelay : 0U) |
         (options.dropped_slot >= 0 ? kDrop : 0U);
}

DecodeParams decode_params(const Workload& workload, const KvAddressing& addressing, const Plan& plan,
                           const KernelConfig& config, const LaunchOptions& options, const Workspace& workspace) {
  const workloads::Geometry& g = workload.geometry;
  const std::int64_t element = bytes_per_element(g.dtype);
  DecodeParams params;
  params.items = reinterpret_cast<const DeviceItem*>(workspace.tables.get());
  params.partials = workspace.partials.get();
  params.partial_sums = workspace.partial_sums.get();
  params.packets = workspace.packets.get();
  params.queue = workspace.control.get();
  params.error = workspace.control.get() + 1;
  params.arrivals = workspace.control.get() + 2;
  params.token_stride = static_cast<std::int32_t>(addressing.token_stride * element);
  params.head_stride = addressing.page_head_stride * element;
  params.page_stride = addressing.page_stride * element;
  params.page_size = addressing.page_size;
  const auto page_size = static_cast<std::uint32_t>(addressing.page_size);
  params.page_shift = std::has_single_bit(page_size) ? std::countr_zero(page_size) : -1;
  params.query_heads = g.query_heads;
  params.cluster_shift = std::countr_zero(static_cast<std::uint32_t>(config.cluster));
  params.lists = plan.lists();
  params.workers = plan.dispatch == Dispatch::queue ? plan.workers : 0;
  params.causal = g.causal ? 1 : 0;
  params.window = g.window.value_or(0);
  params.scale_log2 = static_cast<float>(g.scale() * kLog2E);
  params.dependent_launch = dependent_launch_bits(options);
  params.merge = in_kernel(plan.merge);
  params.l2_policy = options.keep_kv_in_l2 ? kEvictNormal : kEvictFirst;
  params.wait_nanoseconds = static_cast<std::uint64_t>(options.wait_seconds * 1e9);
  params.injection.delay_seed = options.delay_seed;
  params.injection.drop_slot = static_cast<std::uint32_t>(options.dropped_slot + 1);
  params.test_hooks = test_hooks(options);
  return params;
}

/// Log2 of the warps that a fragment has in the launch. Replayed launches get plans that are not known yet: one.
std::int32_t most_merge_warps_shift(const Plan& plan, const LaunchOptions& options) {
  if (options.replayable) return 0;
  std::int32_t shift = 0;
  for (const schedules::Merge& merge : plan.merges) {
    shift = std::max(shift, merge_warps_shift(merge.slot_end - merge.slot_begin));
  }
  return shift;
}

MergeParams merge_params(const DecodeParams& decode, const LaunchOptions& options, const Workspace& workspace) {
  MergeParams params;
  params.merges = reinterpret_cast<const DeviceMerge*>(workspace.tables.get() + workspace.merges_offset());
  params.partials = workspace.partials.get();
  params.partial_sums = workspace.partial_sums.get();
  params.query_heads = decode.query_heads;
  params.cluster_shift = decode.cluster_shift;
  params.dependent_launch = kWaitFirst;
  if (options.overlap != Overlap::none) params.dependent_launch |= kTriggerFirst;
  return params;
}

/// The single-item kernel, if these launches may use it; else null.
const DecodeKernel* single_item_kernel(const Workload& workload, const Plan& plan, const KernelConfig& config,
                                       const LaunchOptions& options) {
  const std::uint32_t known_hooks = config.holds_latent_items() ? kDrop : 0U;
  if ((test_hooks(options) & ~known_hooks) != 0 || options.replayable) return nullptr;
  if (!takes_single_items(workload, plan, config)) return nullptr;
  return find_single_item_kernel(workload, config, !plan.merges.empty());
}

const Residency& known_residency(const DecodeKernel& kernel, const KernelConfig& config, KnownResidency& known) {
  if (known.kernel != &kernel || known.cluster != config.cluster) {
    known.where = residency_of(kernel, config);
    known.kernel = &kernel;
    known.cluster = config.cluster;
  }
  return known.where;
}

/// CTAs (clusters) to launch: none for lists behind the last one with items, as a FlashMLA plan of few tiles has them,
/// unless other plans are to be run by the same launch.
std::int32_t working_ctas(const Plan& plan, const LaunchOptions& options) {
  const bool all = plan.dispatch == Dispatch::queue || options.replayable;
  return all ? plan.ctas() : schedules::working_lists(plan, plan.lists());
}

dim3 decode_grid(const Workload& workload, const Plan& plan, const KernelConfig& config, const LaunchOptions& options,
                 const UniformPlan& uniform, std::int32_t row_blocks, const Capacity& capacity) {
  const auto cluster = static_cast<unsigned>(config.cluster);
  if (uniform.parts > 0) {
    const auto tiles = static_cast<unsigned>(uniform.tiles_per_request);
    const auto requests = static_cast<unsigned>(workload.requests.size());
    const bool swapped = uniform.requests_fastest != 0;
    return {static_cast<unsigned>(uniform.parts) * cluster, swapped ? requests : tiles, swapped ? tiles : requests};
  }
  std::int32_t workers = working_ctas(plan, options);
  if (plan.dispatch != Dispatch::queue) workers = std::max(workers, spare_lists_of(capacity, config, options));
  return {static_cast<unsigned>(workers) * cluster, static_cast<unsigned>(row_blocks), 1};
}

[[noreturn]] void refuse_plan(const Plan& plan, const KernelConfig& config) {
  if (config.kv_heads > 1) {
    throw InputError(
        fmt::format("plan {}: kernel {} takes only single queries, one item per list with all heads of a KV head, no "
                    "tests' hooks, no replays with other plans, and merges of last arrivers",
                    plan.schedule, to_string(config)));
  }
  throw InputError(
      fmt::format("plan {}: kernel {} takes only single queries, one item of 1 to {} tokens per list, and outputs in "
                  "parts only in clusters of {} and more, merged by {}",
                  plan.schedule, to_string(config), config.most_tokens(), config.least_cluster_of_parts(),
                  schedules::to_string(config.merge_of_parts())));
}

void require_instructions(const KernelConfig& config) {
  const Device device = current_device();
  if (has_instructions(device, config.team, config.cluster)) return;
  throw InputError(fmt::format("kernel config {}: {} need compute capability 9.0; the device has {}.{}",
                               to_string(config),
                               has_instructions(device, config.team, 1) ? "clusters" : "kernels by wgmma",
                               device.compute_capability / 10, device.compute_capability % 10));
}

Launch decode_launch(const Workload& workload, const Plan& plan, const KernelConfig& config,
                     const LaunchOptions& options, const UniformPlan& uniform, const Capacity& capacity,
                     KnownResidency& known) {
  require_instructions(config);
  const DecodeKernel* single_item = single_item_kernel(workload, plan, config, options);
  if (config.single_items_only() && single_item == nullptr) refuse_plan(plan, config);
  const bool waits = plan.merge == MergeKind::host_cta;
  const DecodeKernel& kernel = config.single_items_only() ? *single_item : find_kernel(workload, config, waits);
  const std::int32_t row_blocks = row_blocks_of(size_of(plan).most_rows, config.row_tiles);
  if (plan.dispatch == Dispatch::queue && row_blocks > 1) {
    // The CTAs of all row blocks would take their lists from one counter.
    throw InputError(fmt::format("plan {}: its queue holds tiles of {} rows; kernel {} takes at most {} from a queue",
                                 plan.schedule, size_of(plan).most_rows, to_string(config), 8 * config.row_tiles));
  }
  if (plan.dispatch == Dispatch::queue && config.cluster > 1 && plan.lists() > plan.workers) {
    // Each CTA of a cluster would take a list of its own, and send results to CTAs with other lists or that have ended.
    throw InputError(fmt::format("plan {}: its queue has {} lists for {} workers; clusters (kernel {}) take one each",
                                 plan.schedule, plan.lists(), plan.workers, to_string(config)));
  }
  const std::int64_t resident = known_residency(kernel, config, known).workers;
  const std::int64_t workers = static_cast<std::int64_t>(working_ctas(plan, options)) * row_blocks;
  if (waits && workers > resident) {
    throw InputError(fmt::format("plan {}: its merge waits for {} workers, but {} are resident with kernel {}",
                                 plan.schedule, workers, resident, to_string(config)));
  }
  Launch launch;
  launch.function = kernel.function;
  launch.box_function = kernel.box_function;
  launch.threads = kernel.threads;
  launch.shared_bytes = shared_bytes(kernel, config.cluster);
  if (single_item != nullptr) {
    launch.function = single_item->function;
    launch.shared_bytes = shared_bytes(*single_item, config.cluster);
    SPLITWAVE_CUDA_CHECK(
        cudaFuncSetAttribute(single_item->function, cudaFuncAttributeMaxDynamicSharedMemorySize, launch.shared_bytes));
  }
  launch.cluster = config.cluster;
  launch.overlaps = options.overlap != Overlap::none;
  launch.grid = decode_grid(workload, plan, config, options, uniform, row_blocks, capacity);
  return launch;
}

/// Fragments for each SM from which on a warp of a merge kernel takes several: fewer all have a warp at once.
constexpr std::int64_t kFragmentsAtOnce = 16;

Launch merge_launch(const Workload& workload, const Plan& plan, const KernelConfig& config,
                    const LaunchOptions& options, std::int32_t warps_shift, const Capacity& capacity) {
  const MergeKernel& kernel = find_merge_kernel(workload.geometry, config.row_tiles);
  const Device device = current_device();
  const std::int32_t row_blocks = row_blocks_of(size_of(plan).most_rows, config.row_tiles);
  const std::size_t merges = options.replayable ? static_cast<std::size_t>(capacity.merges) : plan.merges.size();
  const std::int64_t fragments = static_cast<std::int64_t>(merges) * row_blocks * kernel.fragments;
  const bool runs = warps_shift == 0 && fragments > kFragmentsAtOnce * device.sms;
  const std::int32_t warps = runs ? kernel.fragments / kernel.run : kernel.fragments << warps_shift;
  const std::int32_t warps_of_cta = kernel.threads / 32;
  Launch launch;
  launch.function = runs ? kernel.run_function : kernel.function;
  launch.threads = kernel.threads;
  launch.grid = dim3(static_cast<unsigned>(std::max<std::size_t>(1, merges)), static_cast<unsigned>(row_blocks),
                     static_cast<unsigned>((warps + warps_of_cta - 1) / warps_of_cta));
  launch.overlaps = device.compute_capability >= 90;
  return launch;
}

/// Where the encoder puts each item of the plan, or its first piece.
std::vector<std::int64_t> table_index_of(const Plan& plan, const KernelConfig& config, std::int32_t spare_lists) {
  std::vector<std::int64_t> index(plan.items.size(), 0);
  TableOrder order;
  for (const TableEntry& entry : order.order(plan, list_shape(config), spare_lists)) {
    if (entry.piece == 0) index[static_cast<std::size_t>(entry.item)] = entry.at;
  }
  return index;
}

/// Makes the launches record.
void record(Prepared& next, const Plan& plan, const KernelConfig& config, const LaunchOptions& options,
            const Capacity& capacity) {
  const bool uniform = next.params.uniform.parts > 0;
  const dim3& grid = next.decode.grid;
  RecorderShape shape;
  const ListShape lists = list_shape(config);
  shape.ctas = static_cast<std::int64_t>(grid.x) * grid.y * grid.z * lists.warps;
  shape.items = capacity.items;
  shape.slots = plan.slots();
  shape.ctas_per_item = static_cast<std::int64_t>(uniform ? 1 : grid.y) * config.cluster;
  shape.merge_kernel = next.separate_merge;
  TableOrder order;
  for (const TableEntry& entry : order.order(plan, lists, spare_lists_of(capacity, config, options))) {
    shape.places.push_back({entry.item, entry.at});
  }
  next.recorder = Recorder(std::move(shape));
  next.params.timeline = next.recorder.arrays();
  next.merge_params.merges_recorded = next.params.timeline.merges;
}

/// For a plan as the kernel sees it.
Capacity seen_capacity(const Workload& workload, const Plan& plan, const KernelConfig& config) {
  const PlanSize size = size_of(plan);
  Capacity capacity;
  capacity.items = table_size(plan, list_shape(config));
  capacity.merges = size.merges;
  capacity.partials = size.slots * row_blocks_of(size.most_rows, config.row_tiles);
  capacity.row_tiles = config.row_tiles;
  capacity.value_dim = workload.geometry.value_dim;
  return capacity;
}

}  // namespace

Capacity capacity_of(const Workload& workload, const Plan& plan, const KernelConfig& config) {
  if (config.kv_heads == 1) return seen_capacity(workload, plan, config);
  KvAddressing none;
  const schedules::HeadPairs pairs = head_pairs(workload, plan, config, none);
  return seen_capacity(pairs.workload, pairs.plan, config);
}

Workspace::Workspace(const Capacity& room) : capacity(room) {
  const auto slots = static_cast<std::size_t>(capacity.partials);
  const auto rows = static_cast<std::size_t>(capacity.row_tiles) * 8;
  tables = DeviceBuffer<std::byte>(merges_offset() + static_cast<std::size_t>(capacity.merges) * sizeof(DeviceMerge) +
                                   kMostItemsAhead * sizeof(DeviceItem));
  tables.fill_bytes(0);  // group kernels ask for entries behind the last one, which nobody looks at
  partials = DeviceBuffer<float>(slots * rows * static_cast<std::size_t>(capacity.value_dim));
  partial_sums = DeviceBuffer<float>(slots * kMostCluster * rows * 2);
  control = DeviceBuffer<std::uint32_t>(2 + slots * kCountersPerSlot);
  packets =
      DeviceBuffer<std::byte>(slots * (rows / 8) * static_cast<std::size_t>(capacity.value_dim / 16) * kPacketBytes);
  reset_control();
}

std::int32_t spare_lists_of(const Capacity& capacity, const KernelConfig& config, const LaunchOptions& options) {
  return options.replayable ? static_cast<std::int32_t>(capacity.items / 2 / list_shape(config).warps) : 0;
}

std::optional<UniformPlan> uniform_plan(const Workload& workload, const KvAddressing& addressing, const Plan& plan,
                                        const KernelConfig& config, const LaunchOptions& options) {
  const bool one_row_block = size_of(plan).most_rows <= 8 * config.row_tiles;
  if (options.replayable || !one_row_block || config.team == Team::alone) return {};
  return as_uniform(workload, addressing, plan);
}

Prepared prepare(const Workload& workload, const KvAddressing& addressing, const Plan& plan, const KernelConfig& config,
                 const LaunchOptions& options, const std::optional<UniformPlan>& uniform, const Workspace& workspace,
                 KnownResidency& known) {
  const Capacity& capacity = workspace.capacity;
  check_fits(workload, plan, config, options, capacity);
  Prepared next;
  next.config = config;
  next.replayable = options.replayable;
  next.merges = !plan.merges.empty();
  next.params = decode_params(workload, addressing, plan, config, options, workspace);
  next.params.uniform = uniform.value_or(UniformPlan{});
  next.decode = decode_launch(workload, plan, config, options, next.params.uniform, capacity, known);
  const bool boxes_pay = config.single_items_only() || schedules::boxes_pay(workload, 8 * config.row_tiles);
  if (next.decode.box_function != nullptr && boxes_pay) {
    next.key_rows = key_rows(workload, addressing, plan, options.replayable);
  }
  next.separate_merge = plan.merge == MergeKind::kernel && capacity.merges > 0 && !options.skip_merge_kernel;
  if (next.separate_merge) {
    // Its CTAs come while the last ones of the decode kernel work, and wait for their end.
    next.params.dependent_launch |= kTriggerLate;
    next.merge_params = merge_params(next.params, options, workspace);
    next.merge_warps_shift = most_merge_warps_shift(plan, options);
    next.merge = merge_launch(workload, plan, config, options, next.merge_warps_shift, capacity);
  }
  if (options.count_visits) {
    next.visits = DeviceBuffer<std::uint64_t>(static_cast<std::size_t>(capacity.items));
    next.visits.fill_bytes(0);
    next.params.visits = next.visits.get();
    next.table_index = table_index_of(plan, config, spare_lists_of(capacity, config, options));
  }
  if (options.record) record(next, plan, config, options, capacity);
  return next;
}

}  // namespace splitwave::gpu
