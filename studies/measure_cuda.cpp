// SPDX-License-Identifier: Apache-2.0
// Plans on the current CUDA device: predicted, timed by the method of docs/measuring.md, checked.
#include "studies/measure_cuda.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "cpu_reference/oracle.h"
#include "gpu/decode.h"
#include "gpu/device.h"
#include "gpu/kernel_config.h"
#include "gpu/measure.h"
#include "gpu/nvml.h"
#include "gpu/sm_partition.h"
#include "simulator/kernel.h"
#include "simulator/simulate.h"
#include "studies/choose.h"
#include "studies/predict.h"
#include "studies/records.h"
#include "studies/repeat.h"
#include "workloads/tensors.h"

namespace splitwave::studies {
namespace {

using workloads::Workload;

constexpr const char* kCudaExecutor = "cuda";
constexpr const char* kStandIn = "h200-calibrated";  ///< for devices that no shipped machine is
/// Most K and V that the oracle is asked about: it takes some 40 plain reads of them by the CPU.
constexpr std::int64_t kMostCheckedBytes = 256'000'000;

bool checked(const Workload& workload) {
  return workloads::kv_bytes(workload) <= kMostCheckedBytes;
}

gpu::MeasureOptions measure_options(const TimingBudget& budget) {
  gpu::MeasureOptions options;
  options.replays = budget.samples;
  return options;
}

/// The schedule's plan and the kernel to run it with, by the least predicted time.
struct DevicePlan {
  Prediction predicted;
  gpu::KernelConfig config;
  gpu::LaunchOptions launch = {};
};

gpu::KernelConfig config_of(const Workload& workload, const simulator::KernelProfile& kernel) {
  if (kernel.config.empty()) {
    gpu::kernel_configs(workload);  // says what the kernels take
    throw base::InputError(fmt::format("workload {}: no CUDA kernel is compiled for it", workload.name));
  }
  return gpu::parse_kernel_config(kernel.config);
}

DevicePlan plan_for(const std::string& schedule, const Workload& workload, const Target& target, bool spans) {
  PredictOptions predict_options;
  predict_options.spans = spans;
  DevicePlan result{predict(workload, schedule, target, predict_options), {}, {}};
  const Prediction& made = result.predicted;
  result.config = config_of(workload, made.kernel);
  result.launch.keep_kv_in_l2 = simulator::keeps_kv_in_l2(workload, made.plan, target.machine, made.kernel,
                                                          simulate_options(target, predict_options));
  return result;
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
  const Prediction& made = planned.predicted;
  reports::Record record = plan_record(workload, made.plan, made.grid, target.name, made.by_auto);
  const gpu::Device device = gpu::current_device();
  record.executor = kCudaExecutor;
  record.kernel = gpu::to_string(planned.config);
  record.device = device.name;
  record.driver = device.driver;
  return record;
}

/// Records the last of two rounds over the copies of K and V, replayed as they are for times: it is warm, its K and V
/// are cold.
void trace_plan(const DevicePlan& planned, const Workload& workload, const Target& target, const OnDevice& here,
                std::vector<TracedPlan>& traces) {
  const Prediction& made = planned.predicted;
  gpu::Decoder decoder(gpu::capacity_of(workload, made.plan, planned.config));
  gpu::LaunchOptions launch = planned.launch;
  launch.record = true;
  decoder.set_plan(workload, here.tensors.addressing(), made.plan, planned.config, launch);
  std::vector<gpu::DevicePointers> pointers;
  for (std::int32_t copy = 0; copy < here.tensors.copies(); ++copy) {
    pointers.push_back(here.tensors.pointers(copy));
    pointers.back().lse = nullptr;
  }
  decoder.capture(pointers);
  decoder.replay();
  decoder.replay();
  decoder.synchronize();
  const gpu::Device device = gpu::current_device();
  if (!target.stand_in) {
    traces.push_back(predicted_trace(made, workload, target.machine.name));
  }
  traces.push_back(measured_trace(decoder.recording(), made, workload, device.name, device.sms));
}

/// The decoder's plan once, on poisoned outputs and partial results.
cpu_reference::Result<float> run_poisoned(OnDevice& here, gpu::Decoder& decoder) {
  here.tensors.poison_outputs();
  decoder.poison_partials();
  decoder.launch(here.tensors.pointers(0));
  decoder.synchronize();
  gpu::HostResult out = here.tensors.download();
  return {std::move(out.output), std::move(out.lse)};
}

/// Times the plan, then runs it again on poisoned memory: as often as is asked for bit by bit, and once more to set it
/// against the oracle's answer.
void run_plan(const DevicePlan& planned, const Workload& workload, const Target& target, OnDevice& here,
              const gpu::MeasureOptions& options, const TimingBudget& budget, const MeasureOutput& to) {
  const schedules::Plan& plan = planned.predicted.plan;
  gpu::Decoder decoder(gpu::capacity_of(workload, plan, planned.config));
  const gpu::HostWork host =
      decoder.set_plan(workload, here.tensors.addressing(), plan, planned.config, planned.launch);
  decoder.synchronize();
  const gpu::Timing timing = gpu::time_plan(workload, here.tensors, decoder, false, options);
  reports::Record record = record_start(planned, workload, target);
  set_times(record, timing.median, timing.p20, timing.p80, timing.samples);
  record.read_seconds = here.read_seconds;
  record.plan_seconds = host.encode + host.upload;
  if (budget.energy_seconds > 0) {
    if (const std::optional<gpu::LaunchEnergy> energy = gpu::time_energy(decoder, timing, budget.energy_seconds)) {
      record.joules = energy->joules;
      record.sm_clock_mhz = energy->sm_clock_mhz;
    }
  }
  if (budget.repeats > 1) {
    record.repeat =
        repeat_runs(workload, budget.repeats, [&](std::int32_t /*index*/) { return run_poisoned(here, decoder); });
    to.checks.add_repeat(record);
  }
  if (here.exact) {
    const cpu_reference::Errors errors = cpu_reference::compare(run_poisoned(here, decoder), *here.exact);
    record.error = record_error(errors);
    to.checks.add(record, errors, cpu_reference::tolerance(workload.geometry.dtype));
  } else {
    ++to.checks.unchecked;
  }
  to.watcher.record(std::move(record));
}

double cuda_work(const Workload& workload, std::size_t /*schedules*/) {
  return checked(workload) ? static_cast<double>(workloads::minimal_bytes(workload)) * kOracleReads : 0;
}

/// Says how energy is measured, or that it cannot be.
void describe_energy(Executor& cuda, double seconds) {
  if (!gpu::energy_joules()) {
    cuda.target.note =
        "no energy: the driver's management library (libnvidia-ml.so.1) has no energy counter for this device";
    return;
  }
  const std::optional<double> limit = gpu::device_state().power_limit_watts;
  cuda.environment.emplace_back(
      "Energy",
      fmt::format("the driver's energy counter over {} s and more of replays of each plan: all that the device takes{}",
                  seconds, limit ? fmt::format("; power limit {:.0f} W", *limit) : ""));
}

/// What plans on the device are predicted by: the machine with as many SMs as the thread's partition, if it has one.
Target target_here(const std::string& machine, std::string kernels) {
  Overrides overrides;
  overrides.sms = gpu::partition_sms();
  overrides.kernel = std::move(kernels);
  return target(machine, overrides);
}

/// The machine's name in records.
std::string name_here(const std::string& machine) {
  const std::int32_t sms = gpu::partition_sms();
  return sms == 0 ? machine : fmt::format("{} (sms={})", machine, sms);
}

/// As the kernels find the device: with what they were compiled for, if that is older, and the room that its CTAs have.
void limit_to(const gpu::Device& device, simulator::Machine& machine) {
  machine.compute_capability = fmt::format("{}.{}", device.compute_capability / 10, device.compute_capability % 10);
  machine.shared_bytes_per_cta = std::min(machine.shared_bytes_per_cta, device.shared_bytes_per_cta);
}

/// The device with constants of its own.
Target calibrated_target(const DeviceConstants& constants, const gpu::Device& device) {
  Target result = target_here(constants.machine, constants.kernels);
  if (gpu::partition_sms() == 0 && result.machine.sms != device.sms) {
    throw base::InputError(fmt::format("--calibration {}: {} SMs; allowed: a calibration of this device, which has {}",
                                       base::printable(constants.machine), result.machine.sms, device.sms));
  }
  result.name = name_here(result.machine.name);
  return result;
}

/// The best known device with as many SMs.
Target stand_in_target(const gpu::Device& device) {
  Overrides overrides;
  overrides.sms = device.sms;
  overrides.kernel = simulator::kOwnKernel;
  Target result = target(kStandIn, overrides);
  result.name = device.name;
  result.stand_in = true;
  return result;
}

/// The device by what is known of it.
Target known_target(const DeviceConstants& constants, const gpu::Device& device) {
  if (!constants.machine.empty()) return calibrated_target(constants, device);
  const std::string machine = machine_of_device(device.name);
  if (machine.empty()) return stand_in_target(device);
  Target result = target_here(calibration_of(machine), std::string(simulator::kOwnKernel));
  result.name = name_here(machine);
  return result;
}

void measure_on_cuda(const Workload& workload, const std::vector<std::string>& schedules, const Target& target,
                     const TimingBudget& budget, bool predicted, const MeasureOutput& to) {
  const gpu::MeasureOptions options = measure_options(budget);
  std::optional<OnDevice> here;
  for (const std::string& schedule : schedules) {
    to.watcher.begin(schedule + " on " + workload.name);
    try {
      const DevicePlan planned = plan_for(schedule, workload, target, to.traces != nullptr);
      if (predicted && !target.stand_in) {
        to.watcher.record(record_of(planned.predicted, workload, target));
      }
      if (!here) {
        here = bring(workload, options);
        to.watcher.done(cuda_work(workload, schedules.size()));
      }
      run_plan(planned, workload, target, *here, options, budget, to);
      if (to.traces != nullptr) trace_plan(planned, workload, target, *here, *to.traces);
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

void require_cuda_timelines() {
  require_cuda();
  try {
    gpu::require_recording();
  } catch (const base::MissingError& error) {
    throw base::MissingError(fmt::format("--trace with --executor cuda: {}; allowed: cpu", error.what()));
  }
}

Target device_target(const DeviceConstants& constants) {
  require_cuda();
  const gpu::Device device = gpu::current_device();
  Target result = known_target(constants, device);
  limit_to(device, result.machine);
  return result;
}

BatchRunner cuda_batch_runner() {
  require_cuda();
  BatchRunner runner;
  runner.executor = kCudaExecutor;
  runner.has_configs = true;
  runner.run = [](const Workload& workload, const workloads::Tensors& tensors, const Prediction& planned) {
    const gpu::KernelConfig config = config_of(workload, planned.kernel);
    gpu::HostResult out = gpu::run(workload, tensors, planned.plan, config);
    return cpu_reference::Result<float>{std::move(out.output), std::move(out.lse)};
  };
  return runner;
}

Executor cuda_executor(const TimingBudget& budget, std::int32_t sms, const DeviceConstants& constants) {
  require_cuda();
  Executor cuda;
  const std::int32_t all = gpu::current_device().sms;
  if (sms != 0 && sms != all) cuda.held = std::make_shared<gpu::SmPartition>(sms);
  cuda.target = device_target(constants);
  const gpu::Device device = gpu::current_device();
  cuda.environment = {
      {"Device", fmt::format("{}, driver {}, CUDA {}", device.name, device.driver, device.cuda)},
      {"SMs", fmt::format("{} of {}", device.sms, all)},
      {"Timing", fmt::format("cold caches: copies of K and V in rotation; median, p20 and p80 of {} replays of a CUDA "
                             "graph (docs/measuring.md)",
                             measure_options(budget).replays)},
      {"Plans on the device",
       "each schedule's own tile sizes and merge, workers are CTAs, by the kernel with the least predicted time; auto: "
       "plan, kernel and clusters by the least predicted time"},
      {"Prediction", cuda.target.stand_in
                         ? "none: no machine of this name is known"
                         : "the simulator's, for the kernel that runs, on " + cuda.target.machine.name}};
  if (budget.energy_seconds > 0) describe_energy(cuda, budget.energy_seconds);
  cuda.work = cuda_work;
  cuda.measure = measure_on_cuda;
  return cuda;
}

}  // namespace splitwave::studies
