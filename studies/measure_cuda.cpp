// SPDX-License-Identifier: Apache-2.0
// Plans on the current CUDA device: predicted, timed by the method of docs/measuring.md, checked.
#include "studies/measure_cuda.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/error.h"
#include "cpu_reference/oracle.h"
#include "gpu/choose.h"
#include "gpu/decode.h"
#include "gpu/device.h"
#include "gpu/encode.h"
#include "gpu/measure.h"
#include "simulator/kernel.h"
#include "studies/choose.h"
#include "studies/predict.h"
#include "studies/records.h"
#include "workloads/tensors.h"

namespace splitwave::studies {
namespace {

using workloads::Workload;

constexpr const char* kCudaExecutor = "cuda";
/// Most K and V that the oracle is asked about: it takes some 40 plain reads of them by the CPU.
constexpr std::int64_t kMostCheckedBytes = 256'000'000;

bool checked(const Workload& workload) {
  return workloads::kv_bytes(workload) <= kMostCheckedBytes;
}

gpu::MeasureOptions measure_options(const TimingBudget& budget) {
  gpu::MeasureOptions options;
  options.replays = std::max(options.replays, budget.samples);
  return options;
}

/// The schedule's plan and the kernel to run it with, on the device as it is.
struct DevicePlan {
  gpu::PlannedLaunch choice;
  schedules::Grid grid;
  bool by_auto = false;  ///< the plan's schedule was chosen: "auto" was asked for
};

DevicePlan plan_for(const std::string& schedule, const Workload& workload) {
  DevicePlan result;
  result.by_auto = schedule == kAuto;
  result.choice = result.by_auto ? gpu::choose(workload) : gpu::choose_kernel(schedule, workload);
  result.grid = gpu::grid_of(workload, result.choice.config);
  return result;
}

/// The machine whose SMs are groups of `cluster` SMs: what a plan meets whose workers are clusters.
simulator::Machine grouped(simulator::Machine machine, std::int32_t cluster, std::int32_t groups) {
  machine.sms = groups;
  machine.sms_per_gpc = {groups};
  machine.bytes_per_second_by_sms.clear();
  machine.sm_bytes_per_second *= cluster;
  machine.fp32_lanes *= cluster;
  machine.shared_bytes_per_clock *= cluster;
  machine.threads_per_sm *= cluster;
  machine.registers_per_sm *= cluster;
  machine.shared_bytes_per_sm *= cluster;
  machine.shared_bytes_per_cta *= cluster;
  machine.shared_bytes_reserved *= cluster;
  return machine;
}

/// Splitwave's kernel with the config's numbers.
void set_config(simulator::KernelProfile& kernel, const DevicePlan& planned, const Workload& workload,
                const simulator::Machine& machine, const gpu::Residency& where) {
  const gpu::KernelConfig& config = planned.choice.config;
  kernel.threads = 32 * config.warps * config.cluster;
  kernel.registers_per_thread = machine.registers_per_sm / (kernel.threads * where.ctas_per_sm) / 8 * 8;
  kernel.shared_bytes = machine.shared_bytes_per_sm / where.ctas_per_sm - machine.shared_bytes_reserved;
  kernel.bytes_in_flight = config.bytes_in_flight(workload.geometry.head_dim) * config.cluster;
  kernel.tile_tokens = config.warps * config.tokens * config.cluster;
  // A worker alone on its SM is as fast as its warps' chains of dependent instructions.
  const std::int32_t rows = std::max(1, gpu::size_of(planned.choice.plan).most_rows);
  const auto lone = [&](double unhidden) {
    kernel.unhidden_alone = unhidden;
    return simulator::seconds_per_token(machine, kernel, workload.geometry, rows).alone;
  };
  const double chains = gpu::chunk_seconds(workload.geometry, config) / kernel.tile_tokens;
  kernel.unhidden_alone = std::max(0.0, (chains - lone(0)) / (lone(1) - lone(0)));
}

/// The simulator's timeline of the plan: splitwave's kernel with the config's shape, as many workers as are resident.
Prediction simulated(const DevicePlan& planned, const Workload& workload, const Target& target) {
  const std::int32_t cluster = planned.choice.config.cluster;
  const gpu::Residency where = gpu::residency(workload, planned.choice.config);
  Target device = target;
  if (cluster > 1) device.machine = grouped(target.machine, cluster, where.workers / where.ctas_per_sm);
  device.ctas_per_sm = where.ctas_per_sm;
  device.kernel = simulator::load_kernel("splitwave");
  PredictOptions options;
  options.edit_kernel = [&](simulator::KernelProfile& kernel, const schedules::Plan* /*plan*/) {
    set_config(kernel, planned, workload, device.machine, where);
  };
  Simulated met = simulate_plan(workload, planned.choice.plan, device, options);
  return {planned.choice.plan, planned.grid, std::move(met.kernel), std::move(met.timeline), planned.by_auto};
}

/// A workload on the device, with its floor and, where it is small enough, the oracle's answer.
struct OnDevice {
  gpu::DeviceTensors tensors;
  double read_seconds = 0;
  std::optional<cpu_reference::Result<double>> exact;
};

OnDevice bring(const Workload& workload, const gpu::MeasureOptions& options) {
  OnDevice here{gpu::DeviceTensors::generate(workload, gpu::copies_for(workload, options)), 0, {}};
  here.read_seconds = gpu::time_plain_read(workload, here.tensors, options).median;
  if (checked(workload)) {
    here.exact = cpu_reference::attend(workload, workloads::make_tensors(workload, tensor_memory_bytes()));
  }
  return here;
}

reports::Record record_start(const DevicePlan& planned, const Workload& workload, const Target& target) {
  reports::Record record = plan_record(workload, planned.choice.plan, planned.grid, target.name, planned.by_auto);
  const gpu::Device device = gpu::current_device();
  record.executor = kCudaExecutor;
  record.kernel = gpu::to_string(planned.choice.config);
  record.device = device.name;
  record.driver = device.driver;
  return record;
}

/// Times the plan, then runs it once more on poisoned outputs and sets them against the oracle's.
void run_plan(const DevicePlan& planned, const Workload& workload, const Target& target, OnDevice& here,
              const gpu::MeasureOptions& options, const MeasureOutput& to) {
  const gpu::PlannedLaunch& choice = planned.choice;
  gpu::Decoder decoder(gpu::capacity_of(workload, choice.plan, choice.config));
  const gpu::HostWork host = decoder.set_plan(workload, here.tensors.addressing(), choice.plan, choice.config);
  decoder.synchronize();
  const gpu::Timing timing = gpu::time_plan(workload, here.tensors, decoder, false, options);
  reports::Record record = record_start(planned, workload, target);
  set_times(record, timing.median, timing.p20, timing.p80, timing.samples);
  record.read_seconds = here.read_seconds;
  record.plan_seconds = host.encode + host.upload;
  if (!here.exact) {
    ++to.checks.unchecked;
    to.watcher.record(std::move(record));
    return;
  }
  here.tensors.poison_outputs();
  decoder.launch(here.tensors.pointers(0));
  decoder.synchronize();
  gpu::HostResult out = here.tensors.download();
  const cpu_reference::Errors errors =
      cpu_reference::compare(cpu_reference::Result<float>{std::move(out.output), std::move(out.lse)}, *here.exact);
  record.error = record_error(errors);
  to.checks.add(record, errors, cpu_reference::tolerance(workload.geometry.dtype));
  to.watcher.record(std::move(record));
}

double cuda_work(const Workload& workload, std::size_t /*schedules*/) {
  return checked(workload) ? static_cast<double>(workloads::minimal_bytes(workload)) * kOracleReads : 0;
}

void measure_on_cuda(const Workload& workload, const std::vector<std::string>& schedules, const Target& target,
                     const TimingBudget& budget, bool predicted, const MeasureOutput& to) {
  const gpu::MeasureOptions options = measure_options(budget);
  std::optional<OnDevice> here;
  for (const std::string& schedule : schedules) {
    to.watcher.begin(schedule + " on " + workload.name);
    try {
      const DevicePlan planned = plan_for(schedule, workload);
      if (predicted && target.machine.sms > 0) {
        to.watcher.record(record_of(simulated(planned, workload, target), workload, target));
      }
      if (!here) {
        here = bring(workload, options);
        to.watcher.done(cuda_work(workload, schedules.size()));
      }
      run_plan(planned, workload, target, *here, options, to);
    } catch (const base::InputError& error) {
      to.watcher.record(failed_record(workload.name, schedule, kCudaExecutor, target.name, error.what()));
    }
  }
}

}  // namespace

void require_cuda() {
  if (!gpu::has_device()) {
    throw base::MissingError("--executor cuda: there is no CUDA device here, or no driver for it; allowed: cpu");
  }
}

Executor cuda_executor(const TimingBudget& budget) {
  require_cuda();
  const gpu::Device device = gpu::current_device();
  const std::string machine = machine_of_device(device.name);
  Executor cuda;
  cuda.target.name = machine.empty() ? device.name : machine;
  if (!machine.empty()) {
    cuda.target.machine = simulator::load_machine(machine);
  }
  cuda.environment = {
      {"Device", fmt::format("{}, driver {}, CUDA {}", device.name, device.driver, device.cuda)},
      {"Timing", fmt::format("cold caches: copies of K and V in rotation; median, p20 and p80 of {} replays of a CUDA "
                             "graph (docs/measuring.md)",
                             measure_options(budget).replays)},
      {"Plans on the device",
       "each schedule's own tile sizes and merge, workers are CTAs, by the kernel with the least predicted time; auto: "
       "plan, kernel and clusters by the least predicted time"},
      {"Prediction", machine.empty() ? "none: no machine of this name is known"
                                     : "the simulator's, for the kernel's shape on " + machine}};
  cuda.work = cuda_work;
  cuda.measure = measure_on_cuda;
  return cuda;
}

}  // namespace splitwave::studies
