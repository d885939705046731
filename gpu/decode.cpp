// SPDX-License-Identifier: Apache-2.0
#include "gpu/decode.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "base/error.h"
#include "gpu/buffer.h"
#include "gpu/captured.h"
#include "gpu/encode.h"
#include "gpu/error.h"
#include "gpu/head_pairs.h"
#include "gpu/key_map.h"
#include "gpu/launch.h"
#include "gpu/prepare.h"
#include "gpu/replay.h"

namespace splitwave::gpu {

using schedules::Plan;
using workloads::Workload;

namespace {

constexpr int kStagingBuffers = 4;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// One upload buffer of the ring: reused only when its last copy has ended.
struct Staging {
  PinnedBuffer<std::byte> memory;
  Event copied;
  bool used = false;
};

}  // namespace

struct Decoder::State {
  explicit State(const Capacity& capacity);
  /// Copies and kernels may still be under way, and what they read and write goes with the decoder.
  ~State() { static_cast<void>(cudaStreamSynchronize(stream.get())); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  std::int64_t encode(const Workload& workload, const KvAddressing& addressing, const Plan& plan,
                      const KernelConfig& config, const LaunchOptions& options, const Prepared& next);
  std::int64_t upload(std::int64_t items, const Prepared& next);
  HostWork set_plan(const Workload& workload, const KvAddressing& addressing, const Plan& plan,
                    const KernelConfig& config, const LaunchOptions& options);
  bool launch(const DevicePointers& pointers);
  /// By a merge kernel, the plan's own or one that a replayable launch was captured with.
  bool merges_are_read(const Prepared& next) const {
    return next.separate_merge || (next.replayable && captured.separate_merge);
  }

  Workspace workspace;
  Stream stream = make_stream();
  Encoder encoder;
  Staging staging[kStagingBuffers];
  int next_staging = 0;
  KnownResidency known;
  Prepared current;
  std::vector<std::int32_t> first_item;  ///< HeadPairs::first_item of the current plan, if it is of such
  GraphExec graph;
  Captured captured;       ///< what `graph` launches
  bool fits_boxes = true;  ///< the current plan can be replayed by launches that take keys in boxes
};

Decoder::State::State(const Capacity& capacity) : workspace(capacity) {
  for (Staging& each : staging) {
    each.memory = PinnedBuffer<std::byte>(workspace.tables.size());
    each.copied = make_event();
  }
}

Decoder::Decoder(const Capacity& capacity) : state_(std::make_unique<State>(capacity)) {
  SPLITWAVE_CUDA_CHECK(cudaDeviceSynchronize());
}

Decoder::~Decoder() = default;
Decoder::Decoder(Decoder&&) noexcept = default;
Decoder& Decoder::operator=(Decoder&&) noexcept = default;

/// Writes what the launches will read of the tables to the next staging buffer: no items for a uniform plan, merges
/// for a merge kernel only, of which a captured one must find none where the plan has none. Returns the number of items
/// written.
std::int64_t Decoder::State::encode(const Workload& workload, const KvAddressing& addressing, const Plan& plan,
                                    const KernelConfig& config, const LaunchOptions& options, const Prepared& next) {
  const bool uniform = next.params.uniform.parts > 0;
  if (uniform && !merges_are_read(next)) return 0;
  Staging& to = staging[next_staging];
  if (to.used) SPLITWAVE_CUDA_CHECK(cudaEventSynchronize(to.copied.get()));
  std::byte* memory = to.memory.span().data();
  const std::span<DeviceItem> items(reinterpret_cast<DeviceItem*>(memory),
                                    uniform ? 0 : static_cast<std::size_t>(workspace.capacity.items));
  const std::span<DeviceMerge> merges(reinterpret_cast<DeviceMerge*>(memory + workspace.merges_offset()),
                                      merges_are_read(next) ? static_cast<std::size_t>(workspace.capacity.merges) : 0);
  return encoder.encode(workload, addressing, plan, list_shape(config),
                        spare_lists_of(workspace.capacity, config, options), next.merge_warps_shift, items, merges);
}

/// Queues the copies of what encode() wrote. Returns their bytes. Where it throws, the tables are no plan's, and none
/// is set.
std::int64_t Decoder::State::upload(std::int64_t items, const Prepared& next) {
  if (items == 0 && !merges_are_read(next)) return 0;
  Staging& from = staging[next_staging];
  std::size_t copied = 0;
  const auto copy = [&](std::size_t offset, std::size_t bytes) {
    copied += bytes;
    SPLITWAVE_CUDA_CHECK(cudaMemcpyAsync(workspace.tables.get() + offset, from.memory.span().data() + offset, bytes,
                                         cudaMemcpyHostToDevice, stream.get()));
  };
  try {
    if (items > 0) copy(0, static_cast<std::size_t>(items) * sizeof(DeviceItem));
    if (merges_are_read(next)) {
      copy(workspace.merges_offset(), static_cast<std::size_t>(workspace.capacity.merges) * sizeof(DeviceMerge));
    }
    SPLITWAVE_CUDA_CHECK(cudaEventRecord(from.copied.get(), stream.get()));
  } catch (...) {
    static_cast<void>(cudaStreamSynchronize(stream.get()));  // no event says when the buffer is free
    current = Prepared{};
    graph = GraphExec();
    captured = Captured{};
    throw;
  }
  next_staging = (next_staging + 1) % kStagingBuffers;
  from.used = true;
  return static_cast<std::int64_t>(copied);
}

/// The plan as the kernel sees it.
HostWork Decoder::State::set_plan(const Workload& workload, const KvAddressing& addressing, const Plan& plan,
                                  const KernelConfig& config, const LaunchOptions& options) {
  HostWork work;
  const auto start = std::chrono::steady_clock::now();
  const std::optional<UniformPlan> uniform = uniform_plan(workload, addressing, plan, config, options);
  work.encode = seconds_since(start);
  Prepared next = prepare(workload, addressing, plan, config, options, uniform, workspace, known);
  const auto prepared = std::chrono::steady_clock::now();
  const std::int64_t items = encode(workload, addressing, plan, config, options, next);
  work.encode += seconds_since(prepared);
  // Nothing of the plan before has changed up to here; bad input has been told.
  const auto encoded = std::chrono::steady_clock::now();
  work.uploaded_bytes = upload(items, next);
  work.upload = seconds_since(encoded);
  current = std::move(next);
  fits_boxes = !captured.boxes || !options.replayable || current.key_rows.count > 0 ||
               key_rows(workload, addressing, plan, true).count > 0;
  first_item.clear();
  return work;
}

HostWork Decoder::set_plan(const Workload& workload, const KvAddressing& addressing, const Plan& plan,
                           const KernelConfig& config, const LaunchOptions& options) {
  check_addressing(addressing, workload);
  if (config.kv_heads == 1) return state_->set_plan(workload, addressing, plan, config, options);
  const auto start = std::chrono::steady_clock::now();
  KvAddressing of_pairs = addressing;
  schedules::HeadPairs pairs = head_pairs(workload, plan, config, of_pairs);
  const double paired = seconds_since(start);
  HostWork work = state_->set_plan(pairs.workload, of_pairs, pairs.plan, config, options);
  work.encode += paired;
  state_->first_item = std::move(pairs.first_item);
  return work;
}

/// Throws InputError unless the kernels can read and write 16 bytes at a time from there on.
void require_aligned(const void* pointer, const char* name) {
  if (reinterpret_cast<std::uintptr_t>(pointer) % 16 != 0) {
    throw base::InputError(fmt::format("{} begins at {}; allowed: multiples of 16 bytes", name, fmt::ptr(pointer)));
  }
}

/// Whether the launch takes keys in boxes.
bool Decoder::State::launch(const DevicePointers& pointers) {
  Prepared& p = current;
  if (p.decode.function == nullptr) throw DeviceError("no plan is set, or its upload has failed");
  if (p.decode.grid.x == 0 || p.decode.grid.y == 0 || p.decode.grid.z == 0) return false;  // an empty batch
  require_aligned(pointers.q, "q");
  require_aligned(pointers.k, "k");
  require_aligned(pointers.v, "v");
  require_aligned(pointers.output, "output");
  p.params.q = pointers.q;
  p.params.k = pointers.k;
  p.params.v = pointers.v;
  p.params.output = pointers.output;
  p.params.lse = pointers.lse;
  p.params.block_table = pointers.block_table;
  std::optional<KeyMap> keys = map_keys(pointers.k, p.key_rows);
  Launch decode = p.decode;
  if (keys) decode.function = decode.box_function;
  launch_kernel(decode, &p.params, keys ? &*keys : nullptr, stream.get());
  if (!p.separate_merge) return keys.has_value();
  p.merge_params.output = pointers.output;
  p.merge_params.lse = pointers.lse;
  launch_kernel(p.merge, &p.merge_params, stream.get());
  return keys.has_value();
}

void Decoder::launch(const DevicePointers& pointers) {
  state_->launch(pointers);
}

void Decoder::poison_partials() {
  state_->workspace.partials.fill_bytes(0xff);
  state_->workspace.partial_sums.fill_bytes(0xff);
}

void Decoder::capture(const std::vector<DevicePointers>& pointers) {
  State& s = *state_;
  bool boxes = false;
  s.graph = gpu::capture(s.stream.get(), [&] {
    for (const DevicePointers& each : pointers) boxes = s.launch(each);
  });
  s.captured = {s.current, boxes};
  s.fits_boxes = true;
}

void Decoder::replay() {
  if (state_->graph.get() == nullptr) throw DeviceError("no launches are captured that could be replayed");
  require_replayable(state_->captured, state_->current, state_->fits_boxes);
  SPLITWAVE_CUDA_CHECK(cudaGraphLaunch(state_->graph.get(), state_->stream.get()));
}

void Decoder::synchronize() {
  State& s = *state_;
  SPLITWAVE_CUDA_CHECK(cudaStreamSynchronize(s.stream.get()));
  std::vector<std::uint32_t> words(s.workspace.control.size());
  s.workspace.control.download(words);
  if (words[1] != 0) {
    s.workspace.reset_control();
    throw DeviceError(
        fmt::format("the CTA that merges the output with slot {} waited in vain for its peers", words[1] - 1));
  }
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == 0) continue;
    s.workspace.reset_control();
    throw DeviceError(i == 0 ? std::string("the queue of lists was not drained")
                             : fmt::format("arrivals are missing at counter {}: {} came", i - 2, words[i]));
  }
}

std::vector<std::uint64_t> Decoder::visits() const {
  const Prepared& p = state_->current;
  std::vector<std::uint64_t> table(p.visits.size());
  p.visits.download(table);
  std::vector<std::uint64_t> counts;
  for (const std::int64_t index : p.table_index) counts.push_back(table[static_cast<std::size_t>(index)]);
  return counts;
}

schedules::Recording Decoder::recording() const {
  schedules::Recording recording = state_->current.recorder.read();
  if (state_->first_item.empty()) return recording;
  for (schedules::Stretch& stretch : recording.work) {
    if (stretch.item >= 0) stretch.item = state_->first_item[static_cast<std::size_t>(stretch.item)];
  }
  return recording;
}

bool Decoder::uniform() const {
  return state_->current.params.uniform.parts > 0;
}

std::int64_t Decoder::ctas() const {
  const dim3& grid = state_->current.decode.grid;
  return static_cast<std::int64_t>(grid.x) * grid.y * grid.z;
}

void* Decoder::stream() const {
  return state_->stream.get();
}

HostResult run(const Workload& workload, const workloads::Tensors& tensors, const Plan& plan,
               const KernelConfig& config, const LaunchOptions& options) {
  DeviceTensors on_device = DeviceTensors::upload(workload, tensors);
  on_device.poison_outputs();
  Decoder decoder(capacity_of(workload, plan, config));
  decoder.poison_partials();
  decoder.set_plan(workload, on_device.addressing(), plan, config, options);
  decoder.launch(on_device.pointers(0));
  decoder.synchronize();
  return on_device.download();
}

}  // namespace splitwave::gpu
