// SPDX-License-Identifier: Apache-2.0
#include "gpu/decode.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "gpu/buffer.h"
#include "gpu/device.h"
#include "gpu/encode.h"
#include "gpu/kernel_choice.h"
#include "gpu/launch.h"

namespace splitwave::gpu {

using base::InputError;
using schedules::Dispatch;
using schedules::MergeKind;
using schedules::Plan;
using workloads::Workload;

namespace {

constexpr std::int32_t kMostCluster = 8;  // of those whose results are merged
constexpr int kStagingBuffers = 4;
constexpr double kLog2E = 1.4426950408889634;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

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

/// One upload buffer of the ring: reused only when its last copy has ended.
struct Staging {
  PinnedBuffer<std::byte> memory;
  Event copied;
  bool used = false;
};

}  // namespace

struct Decoder::State {
  Capacity capacity;
  Stream stream = make_stream();
  Encoder encoder;
  DeviceBuffer<std::byte> tables;  // items, then merges
  Staging staging[kStagingBuffers];
  int next_staging = 0;
  DeviceBuffer<float> partials;
  DeviceBuffer<float> partial_sums;
  DeviceBuffer<std::uint32_t> control;  // queue, error, arrivals
  DeviceBuffer<std::uint64_t> visits;
  GraphExec graph;

  DecodeParams params;
  MergeParams merge_params;
  Launch decode;
  Launch merge;
  const DecodeKernel* resident_kernel = nullptr;  // what `where` is known for
  std::int32_t resident_cluster = 0;
  Residency where;
  bool separate_merge = false;
  bool counting = false;
  std::vector<std::int64_t> table_index;  // of each item of the plan, if visits are counted

  std::size_t merges_offset() const { return static_cast<std::size_t>(capacity.items) * sizeof(DeviceItem); }
  void upload(const Workload& workload, const KvAddressing& addressing, const Plan& plan, std::int32_t spare_lists,
              HostTimes& times);
  void set_params(const Workload& workload, const KvAddressing& addressing, const Plan& plan, const Variant& variant,
                  const LaunchOptions& options);
  void set_launches(const Workload& workload, const Plan& plan, const Variant& variant, const LaunchOptions& options);
  const DecodeKernel* simple_kernel(const Workload& workload, const Plan& plan, const Variant& variant,
                                    const LaunchOptions& options) const;
  void index_items(const Plan& plan, std::int32_t spare_lists);
  void reset_control() { control.fill_bytes(0); }
};

Capacity capacity_of(const Workload& workload, const Plan& plan, const Variant& variant) {
  const PlanSize size = size_of(plan);
  Capacity capacity;
  capacity.items = size.items;
  capacity.merges = size.merges;
  capacity.partials = size.slots * row_blocks_of(size.most_rows, variant.row_tiles);
  capacity.row_tiles = variant.row_tiles;
  capacity.head_dim = workload.geometry.head_dim;
  return capacity;
}

Decoder::Decoder(const Capacity& capacity) : state_(std::make_unique<State>()) {
  State& s = *state_;
  s.capacity = capacity;
  const auto partials = static_cast<std::size_t>(capacity.partials);
  const auto rows = static_cast<std::size_t>(capacity.row_tiles) * 8;
  const std::size_t bytes = s.merges_offset() + static_cast<std::size_t>(capacity.merges) * sizeof(DeviceMerge) + 16;
  s.tables = DeviceBuffer<std::byte>(bytes);
  for (Staging& staging : s.staging) {
    staging.memory = PinnedBuffer<std::byte>(bytes);
    staging.copied = make_event();
  }
  s.partials = DeviceBuffer<float>(partials * rows * static_cast<std::size_t>(capacity.head_dim));
  s.partial_sums = DeviceBuffer<float>(partials * kMostCluster * rows * 2);
  s.control = DeviceBuffer<std::uint32_t>(2 + partials * kMostCluster);
  s.reset_control();
  SPLITWAVE_CUDA_CHECK(cudaDeviceSynchronize());
}

Decoder::~Decoder() = default;
Decoder::Decoder(Decoder&&) noexcept = default;
Decoder& Decoder::operator=(Decoder&&) noexcept = default;

void Decoder::State::upload(const Workload& workload, const KvAddressing& addressing, const Plan& plan,
                            std::int32_t spare_lists, HostTimes& times) {
  const auto start = std::chrono::steady_clock::now();
  Staging& to = staging[next_staging];
  next_staging = (next_staging + 1) % kStagingBuffers;
  if (to.used) SPLITWAVE_CUDA_CHECK(cudaEventSynchronize(to.copied.get()));
  std::byte* memory = to.memory.span().data();
  const std::span<DeviceItem> items(reinterpret_cast<DeviceItem*>(memory), static_cast<std::size_t>(capacity.items));
  const std::span<DeviceMerge> merges(reinterpret_cast<DeviceMerge*>(memory + merges_offset()),
                                      static_cast<std::size_t>(capacity.merges));
  const std::int64_t written = encoder.encode(workload, addressing, plan, spare_lists, items, merges);
  times.encode = seconds_since(start);
  const auto encoded = std::chrono::steady_clock::now();
  const auto bytes = static_cast<std::size_t>(written) * sizeof(DeviceItem);
  SPLITWAVE_CUDA_CHECK(cudaMemcpyAsync(tables.get(), memory, bytes, cudaMemcpyHostToDevice, stream.get()));
  if (!merges.empty() && plan.merge == MergeKind::kernel) {
    SPLITWAVE_CUDA_CHECK(cudaMemcpyAsync(tables.get() + merges_offset(), merges.data(), merges.size_bytes(),
                                         cudaMemcpyHostToDevice, stream.get()));
  }
  SPLITWAVE_CUDA_CHECK(cudaEventRecord(to.copied.get(), stream.get()));
  to.used = true;
  times.upload = seconds_since(encoded);
}

void Decoder::State::set_params(const Workload& workload, const KvAddressing& addressing, const Plan& plan,
                                const Variant& variant, const LaunchOptions& options) {
  const workloads::Geometry& g = workload.geometry;
  const std::int64_t element = bytes_per_element(g.dtype);
  params = DecodeParams{};
  params.items = reinterpret_cast<const DeviceItem*>(tables.get());
  params.partials = partials.get();
  params.partial_sums = partial_sums.get();
  params.queue = control.get();
  params.error = control.get() + 1;
  params.arrivals = control.get() + 2;
  params.token_stride = static_cast<std::int32_t>(addressing.token_stride * element);
  params.head_stride = addressing.page_head_stride * element;
  params.page_stride = addressing.page_stride * element;
  params.page_size = addressing.page_size;
  const auto page_size = static_cast<std::uint32_t>(addressing.page_size);
  params.page_shift = std::has_single_bit(page_size) ? std::countr_zero(page_size) : -1;
  params.query_heads = g.query_heads;
  params.cluster_shift = std::countr_zero(static_cast<std::uint32_t>(variant.cluster));
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
  merge_params = MergeParams{};
  merge_params.merges = reinterpret_cast<const DeviceMerge*>(tables.get() + merges_offset());
  merge_params.partials = partials.get();
  merge_params.partial_sums = partial_sums.get();
  merge_params.query_heads = g.query_heads;
  merge_params.cluster_shift = params.cluster_shift;
  merge_params.dependent_launch = options.overlap == Overlap::none ? 0 : kWaitFirst | kTriggerFirst;
}

const DecodeKernel* Decoder::State::simple_kernel(const Workload& workload, const Plan& plan, const Variant& variant,
                                                  const LaunchOptions& options) const {
  const bool hooks = options.delay_seed != 0 || options.dropped_slot >= 0 || options.count_visits;
  if (hooks || options.replayable || !is_simple(workload, plan, variant)) return nullptr;
  return find_simple_kernel(workload, variant);
}

void Decoder::State::set_launches(const Workload& workload, const Plan& plan, const Variant& variant,
                                  const LaunchOptions& options) {
  const DecodeKernel* simple = simple_kernel(workload, plan, variant, options);
  if (variant.stages == 1 && simple == nullptr) {
    throw InputError(
        fmt::format("plan {}: kernel {} takes only single queries of 1 to {} tokens, one per list, and no splits",
                    plan.schedule, to_string(variant), variant.most_tokens()));
  }
  const DecodeKernel& kernel = variant.stages == 1 ? *simple : find_kernel(workload, variant);
  const std::int32_t row_blocks = row_blocks_of(size_of(plan).most_rows, variant.row_tiles);
  if (resident_kernel != &kernel || resident_cluster != variant.cluster) {
    where = residency(workload, variant);  // also allows the kernel its shared memory
    resident_kernel = &kernel;
    resident_cluster = variant.cluster;
  }
  decode = {};
  decode.function = kernel.function;
  decode.threads = kernel.warps * 32;
  decode.shared_bytes = shared_bytes(kernel, variant.cluster);
  if (simple != nullptr) {
    decode.function = simple->function;
    decode.shared_bytes = shared_bytes(*simple, variant.cluster);
    SPLITWAVE_CUDA_CHECK(
        cudaFuncSetAttribute(simple->function, cudaFuncAttributeMaxDynamicSharedMemorySize, decode.shared_bytes));
  }
  decode.cluster = variant.cluster;
  decode.overlaps = options.overlap != Overlap::none;
  const auto cluster = static_cast<unsigned>(variant.cluster);
  if (params.uniform.parts > 0) {
    const auto tiles = static_cast<unsigned>(params.uniform.tiles_per_request);
    const auto requests = static_cast<unsigned>(workload.requests.size());
    const bool swapped = params.uniform.requests_fastest != 0;
    decode.grid = dim3(static_cast<unsigned>(params.uniform.parts) * cluster, swapped ? requests : tiles,
                       swapped ? tiles : requests);
  } else {
    std::int64_t workers = plan.ctas();
    if (options.replayable && plan.dispatch != Dispatch::queue) {
      workers = std::max<std::int64_t>(workers, capacity.items / 2);
    }
    decode.grid = dim3(static_cast<unsigned>(workers) * cluster, static_cast<unsigned>(row_blocks), 1);
  }
  const std::int64_t resident = static_cast<std::int64_t>(where.workers);
  const std::int64_t workers = static_cast<std::int64_t>(plan.ctas()) * row_blocks;
  if (plan.merge == MergeKind::host_cta && workers > resident) {
    throw InputError(fmt::format("plan {}: its merge waits for {} workers, but {} are resident with kernel {}",
                                 plan.schedule, workers, resident, to_string(variant)));
  }
  separate_merge = plan.merge == MergeKind::kernel && capacity.merges > 0;
  if (!separate_merge) return;
  const MergeKernel& merging = find_merge_kernel(workload.geometry, variant.row_tiles);
  merge = {};
  merge.function = merging.function;
  merge.threads = merging.threads;
  const std::size_t merges = options.replayable ? static_cast<std::size_t>(capacity.merges) : plan.merges.size();
  merge.grid = dim3(static_cast<unsigned>(std::max<std::size_t>(1, merges)), static_cast<unsigned>(row_blocks), 1);
  merge.overlaps = decode.overlaps;
}

void Decoder::State::index_items(const Plan& plan, std::int32_t spare_lists) {
  table_index.assign(plan.items.size(), 0);
  std::int64_t further = std::max(plan.lists(), spare_lists);
  for (std::int32_t list = 0; list < plan.lists(); ++list) {
    for (std::int32_t i = plan.cta_begin[static_cast<std::size_t>(list)];
         i < plan.cta_begin[static_cast<std::size_t>(list) + 1]; ++i) {
      table_index[static_cast<std::size_t>(i)] = i == plan.cta_begin[static_cast<std::size_t>(list)] ? list : further++;
    }
  }
}

HostTimes Decoder::set_plan(const Workload& workload, const KvAddressing& addressing, const Plan& plan,
                            const Variant& variant, const LaunchOptions& options) {
  State& s = *state_;
  HostTimes times;
  const PlanSize size = size_of(plan);
  const std::int64_t partials = size.slots * row_blocks_of(size.most_rows, variant.row_tiles);
  std::int32_t spare_lists = 0;
  if (options.replayable) spare_lists = static_cast<std::int32_t>(s.capacity.items / 2);
  const std::int64_t items = size.items + std::max(0, spare_lists - size.lists);
  if (items > s.capacity.items || size.merges > s.capacity.merges || partials > s.capacity.partials ||
      variant.row_tiles > s.capacity.row_tiles || workload.geometry.head_dim > s.capacity.head_dim) {
    throw InputError(fmt::format(
        "plan {}: {} items, {} merges and {} partial results do not fit the decoder's "
        "capacity of {}, {} and {}",
        plan.schedule, items, size.merges, partials, s.capacity.items, s.capacity.merges, s.capacity.partials));
  }
  if (addressing.token_stride * bytes_per_element(workload.geometry.dtype) > std::numeric_limits<std::int32_t>::max()) {
    throw InputError(fmt::format("workload {}: K and V of neighbouring tokens lie 2 GiB apart or more", workload.name));
  }
  s.set_params(workload, addressing, plan, variant, options);
  const bool one_row_block = size.most_rows <= 8 * variant.row_tiles;
  if (!options.replayable && one_row_block) {
    s.params.uniform = as_uniform(workload, addressing, plan).value_or(UniformPlan{});
  }
  s.set_launches(workload, plan, variant, options);
  if (size.lists > 0) s.upload(workload, addressing, plan, spare_lists, times);
  s.counting = options.count_visits;
  if (options.count_visits) {
    s.visits = DeviceBuffer<std::uint64_t>(static_cast<std::size_t>(s.capacity.items));
    s.visits.fill_bytes(0);
    s.params.visits = s.visits.get();
    s.index_items(plan, spare_lists);
  }
  return times;
}

void Decoder::launch(const DevicePointers& pointers) {
  State& s = *state_;
  if (s.decode.grid.x == 0 || s.decode.grid.y == 0 || s.decode.grid.z == 0) return;  // an empty batch
  s.params.q = pointers.q;
  s.params.k = pointers.k;
  s.params.v = pointers.v;
  s.params.output = pointers.output;
  s.params.lse = pointers.lse;
  s.params.block_table = pointers.block_table;
  launch_kernel(s.decode, &s.params, s.stream.get());
  if (!s.separate_merge) return;
  s.merge_params.output = pointers.output;
  s.merge_params.lse = pointers.lse;
  launch_kernel(s.merge, &s.merge_params, s.stream.get());
}

void Decoder::capture(const std::vector<DevicePointers>& pointers) {
  State& s = *state_;
  SPLITWAVE_CUDA_CHECK(cudaStreamBeginCapture(s.stream.get(), cudaStreamCaptureModeThreadLocal));
  for (const DevicePointers& each : pointers) launch(each);
  cudaGraph_t graph = nullptr;
  SPLITWAVE_CUDA_CHECK(cudaStreamEndCapture(s.stream.get(), &graph));
  const Graph owner(graph);
  cudaGraphExec_t executable = nullptr;
  SPLITWAVE_CUDA_CHECK(cudaGraphInstantiate(&executable, graph, 0));
  s.graph = GraphExec(executable);
}

void Decoder::replay() {
  SPLITWAVE_CUDA_CHECK(cudaGraphLaunch(state_->graph.get(), state_->stream.get()));
}

void Decoder::synchronize() {
  State& s = *state_;
  SPLITWAVE_CUDA_CHECK(cudaStreamSynchronize(s.stream.get()));
  std::vector<std::uint32_t> words(s.control.size());
  s.control.download(words);
  if (words[1] != 0) {
    s.reset_control();
    throw DeviceError(
        fmt::format("the host CTA of the output with slot {} waited in vain for its peers", words[1] - 1));
  }
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == 0) continue;
    s.reset_control();
    throw DeviceError(i == 0 ? std::string("the queue of lists was not drained")
                             : fmt::format("arrivals are missing at counter {}: {} came", i - 2, words[i]));
  }
}

std::vector<std::uint64_t> Decoder::visits() const {
  const State& s = *state_;
  std::vector<std::uint64_t> table(s.visits.size());
  s.visits.download(table);
  std::vector<std::uint64_t> counts;
  for (const std::int64_t index : s.table_index) counts.push_back(table[static_cast<std::size_t>(index)]);
  return counts;
}

bool Decoder::uniform() const {
  return state_->params.uniform.parts > 0;
}

std::int64_t Decoder::ctas() const {
  const dim3& grid = state_->decode.grid;
  return static_cast<std::int64_t>(grid.x) * grid.y * grid.z;
}

void* Decoder::stream() const {
  return state_->stream.get();
}

HostResult run(const Workload& workload, const workloads::Tensors& tensors, const Plan& plan, const Variant& variant,
               const LaunchOptions& options) {
  DeviceTensors on_device = DeviceTensors::upload(workload, tensors);
  on_device.poison_outputs();
  Decoder decoder(capacity_of(workload, plan, variant));
  decoder.set_plan(workload, on_device.addressing(), plan, variant, options);
  decoder.launch(on_device.pointers(0));
  decoder.synchronize();
  return on_device.download();
}

}  // namespace splitwave::gpu
