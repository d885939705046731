// SPDX-License-Identifier: Apache-2.0
// Decode attention on a CUDA device: any workload that a kernel is compiled for, any valid plan.
//
//   auto tensors = gpu::DeviceTensors::upload(workload, host_tensors);
//   gpu::Decoder decoder(gpu::capacity_of(workload, plan, config));
//   decoder.set_plan(workload, tensors.addressing(), plan, config);
//   decoder.launch(tensors.pointers(0));
//   decoder.synchronize();
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "gpu/addressing.h"
#include "gpu/kernel_config.h"
#include "schedules/plan.h"
#include "schedules/recording.h"
#include "workloads/tensors.h"
#include "workloads/workload.h"

namespace splitwave::gpu {

/// Device memory of one attention call. Elements of geometry.dtype.
struct DevicePointers {
  const void* q = nullptr;                    ///< [query token][query head][head_dim], dense, 16-byte aligned
  const void* k = nullptr;                    ///< by KvAddressing, 16-byte aligned
  const void* v = nullptr;                    ///< null for MLA, whose values are what keys begin with
  const std::int32_t* block_table = nullptr;  ///< paged only
  void* output = nullptr;                     ///< [query token][query head][value_dim], 16-byte aligned
  float* lse = nullptr;                       ///< [query token][query head], natural log; null: not wanted
};

/// Output and LSE on the host, as floats, laid out as on the device.
struct HostResult {
  std::vector<float> output;
  std::vector<float> lse;
};

/// The tensors of a workload in device memory: Q, output and LSE once, K and V in `copies` copies, so that timing can
/// go round them with a cold L2.
class DeviceTensors {
 public:
  /// Throws InputError as kernel_configs() does, or if a tensor has more elements than the workload's.
  static DeviceTensors upload(const workloads::Workload& workload, const workloads::Tensors& tensors);
  /// Generates the values of make_tensors on the device, bit for bit.
  static DeviceTensors generate(const workloads::Workload& workload, std::int32_t copies);

  ~DeviceTensors();
  DeviceTensors(DeviceTensors&&) noexcept;
  DeviceTensors& operator=(DeviceTensors&&) noexcept;

  const KvAddressing& addressing() const;
  std::int32_t copies() const;
  DevicePointers pointers(std::int32_t copy) const;

  /// Fills output and LSE with NaN, so that an element nobody writes shows.
  void poison_outputs();
  HostResult download() const;
  /// K and V of copy 0 as stored, for tests of generate().
  workloads::Tensors download_tensors() const;

 private:
  struct State;
  explicit DeviceTensors(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Bytes that generate() allocates.
std::int64_t device_bytes(const workloads::Workload& workload, std::int32_t copies);

/// Room for plans: they may change between launches, and between replays of a captured graph, as long as they fit.
struct Capacity {
  std::int64_t items = 0;
  std::int64_t merges = 0;
  std::int64_t partials = 0;  ///< slots times row blocks
  std::int32_t row_tiles = 1;
  std::int32_t value_dim = 128;
};
/// What the plan takes itself. Plans that others are to be replayed in place of (LaunchOptions::replayable) need items
/// for half of capacity.items as lists. Throws InputError if the config is for head pairs and the plan has none.
Capacity capacity_of(const workloads::Workload& workload, const schedules::Plan& plan, const KernelConfig& config);

/// How a kernel relates to the kernel before it on the stream (programmatic dependent launch, sm_90).
enum class Overlap {
  none,        ///< starts when the previous kernel has ended
  wait_first,  ///< its prologue overlaps; waits before it reads anything
  prefetch,    ///< also requests its first K and V; only if the previous kernel writes neither
};

/// When the next kernel on the stream may start its own prologue, where Overlap allows one.
enum class Trigger { at_start, after_stream };

struct LaunchOptions {
  Overlap overlap = Overlap::none;
  Trigger trigger = Trigger::after_stream;
  /// Read items from the device tables although the plan is uniform; launch what the capacity holds, so that the
  /// captured launch can be replayed with other plans of the same merge kind and dispatch (Decoder::replay()).
  bool replayable = false;
  /// K and V are read again soon (simulator::keeps_kv_in_l2() says of a plan's own lists); else L2 drops them first.
  bool keep_kv_in_l2 = false;
  double wait_seconds = 2;  ///< most that a merge waits for other CTAs
  bool record = false;      ///< launches write down when what begins and ends: Decoder::recording()
  // Test hooks.
  std::uint32_t delay_seed = 0;    ///< not 0: CTAs start after pseudo-random pauses
  std::int32_t dropped_slot = -1;  ///< the arrival of this slot is lost
  bool count_visits = false;
  bool skip_merge_kernel = false;  ///< outputs that were split stay unfinished: to time what the merge kernel takes
};

/// Throws MissingError if the kernels are built without LaunchOptions::record (-DSPLITWAVE_TIMELINE=ON builds it).
void require_recording();

/// The host's work for one plan. Times in seconds.
struct HostWork {
  double encode = 0;                ///< into tables, or finding out that it needs none
  double upload = 0;                ///< queueing the copies
  std::int64_t uploaded_bytes = 0;  ///< of tables
};

/// Runs plans. Owns the plan's tables and the workspace (partial results, arrival counters); one Decoder per stream.
class Decoder {
 public:
  explicit Decoder(const Capacity& capacity);
  ~Decoder();
  Decoder(Decoder&&) noexcept;
  Decoder& operator=(Decoder&&) noexcept;

  /// Encodes the plan and queues its upload. Later launches, and replays of earlier captured ones if they are
  /// replayable, run this plan. Throws InputError as check_addressing() does, if the plan does not fit the capacity or
  /// the tables' fields, if no kernel is compiled for it, if its merge waits for CTAs that cannot be resident together,
  /// or if it is a queue of tiles with more rows than a CTA takes or of more lists than workers that are clusters; the
  /// plan before then stays. Where the upload itself fails (DeviceError), no plan is set, and nothing is captured.
  /// Throws as require_recording() if it is to record.
  HostWork set_plan(const workloads::Workload& workload, const KvAddressing& addressing, const schedules::Plan& plan,
                    const KernelConfig& config, const LaunchOptions& options = {});

  /// Queues the kernels of the plan on this decoder's stream. Throws DeviceError if no plan is set, InputError if a
  /// pointer is not aligned.
  void launch(const DevicePointers& pointers);

  /// Fills the partial results with NaN, so that one that nobody writes shows. For a decoder at rest (synchronize()).
  void poison_partials();

  /// Captures `pointers.size()` launches, one after another, as a graph that replay() runs. Where it throws, what was
  /// captured before stays.
  void capture(const std::vector<DevicePointers>& pointers);
  /// Runs the captured launches with the current plan's tables. Throws DeviceError if nothing is captured; InputError
  /// if the plan's own launches would differ in more than the tables, and the captured ones are to be captured again:
  /// if they have other CTAs, as those of plans with more lists than half of capacity.items have, or other row blocks;
  /// are of another kernel, merge, cache, mask or scale; take another number of lists from a queue; were not to be
  /// replayed with other plans (LaunchOptions::replayable) and differ at all; count or record for a plan before; or
  /// take keys in boxes (kernels/box_loader.cuh), and an item begins within one.
  void replay();

  /// Waits for the stream. Throws DeviceError if a kernel failed, if a merge waited in vain, or if an output's
  /// arrivals are incomplete; the workspace is then reset and can be used again.
  void synchronize();

  /// How often each item of the plan ran since set_plan with count_visits, in the plan's order of items.
  std::vector<std::uint64_t> visits() const;

  /// When each CTA, item and merge of the last launch began and ended on the device's nanosecond clock, and on which
  /// SM, as thread 0 of the CTA saw it. For a plan that was set with `record`, once its launches have ended. A CTA's
  /// first item begins with the CTA, a further one where the CTA's last work ended.
  schedules::Recording recording() const;

  /// True if the current plan runs without tables.
  bool uniform() const;

  /// CTAs of the decode kernel, all ranks and row blocks.
  std::int64_t ctas() const;

  /// The stream (cudaStream_t), for callers with work of their own to order.
  void* stream() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The whole way once, on poisoned memory: upload, run, download. Throws as the parts do.
HostResult run(const workloads::Workload& workload, const workloads::Tensors& tensors, const schedules::Plan& plan,
               const KernelConfig& config, const LaunchOptions& options = {});

}  // namespace splitwave::gpu
