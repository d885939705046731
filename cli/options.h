// SPDX-License-Identifier: Apache-2.0
// Options that several verbs share: one declaration, one help text, one check each.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/output_files.h"
#include "studies/measure_cuda.h"
#include "studies/target.h"
#include "workloads/workload.h"

namespace splitwave::cli {

struct WorkloadOptions {
  std::string workload;
  std::optional<std::uint64_t> seed;
};

/// Machines by name or file, and what if.
struct MachineOptions {
  std::vector<std::string> gpus;
  studies::Overrides overrides = {};
  bool measure_cpu = false;
};

/// -w/--workload and --seed. The workload is required unless `options` holds one.
void add_workload_options(CLI::App& app, WorkloadOptions& options);

/// --gpu and what if: --sms, --bandwidth, --l2, --clock, --ctas-per-sm; the GPUs in `options` are the default. And
/// --measure-cpu.
void add_machine_options(CLI::App& app, MachineOptions& options);

/// --schedule; an empty list stands for the default schedules.
void add_schedule_option(CLI::App& app, std::vector<std::string>& schedules);

/// --threads; 0 stands for all hardware threads.
void add_threads_option(CLI::App& app, std::int32_t& threads);

/// --samples: least number of timed runs of each plan.
void add_samples_option(CLI::App& app, std::int32_t& samples);

/// --sample: KV heads of requests that stand for all. `what`: what becomes of them.
CLI::Option* add_sample_option(CLI::App& app, std::int64_t& groups, const std::string& what);

/// --energy: TimingBudget::energy_seconds. require_energy() refuses it for other executors than cuda.
void add_energy_option(CLI::App& app, double& seconds);
void require_energy(const std::string& executor, double seconds);

/// --executor; the value is checked.
void add_executor_option(CLI::App& app, std::string& executor);

/// --json; `help` says what is printed.
void add_json_option(CLI::App& app, bool& json, const std::string& help);

/// --out DIR; `help` says what is written.
void add_out_option(CLI::App& app, std::string& out, const std::string& help);

/// An option for a file that the verb writes with base::write_new_file(); what `expect` throws InputError for is
/// refused at once, and not after all the work.
CLI::Option* add_new_file_option(CLI::App& app, const std::string& flag, std::string& file, const std::string& help,
                                 void (*expect)(const std::filesystem::path&) = base::expect_new_file);

/// Loads the workloads that the options stand for, with the seed applied.
std::vector<workloads::Workload> load_workloads(const WorkloadOptions& options);

/// The machines that the options stand for (studies::targets). Tells the user what there is to know about them. Throws
/// InputError also for --measure-cpu where none is this computer's CPU.
std::vector<studies::Target> load_machines(const MachineOptions& options, std::int32_t threads);

/// --calibration, for verbs that run on a CUDA device.
void add_calibration_option(CLI::App& app, studies::DeviceConstants& constants);

/// --sms of verbs that run on a CUDA device.
void add_device_sms_option(CLI::App& app, std::int32_t& sms);

/// Threads that the option stands for.
std::int32_t thread_count(std::int32_t option);

/// An integer check with one form of message: "5 is not allowed; allowed: LEAST to MOST".
CLI::Validator integer_between(std::int64_t least, std::int64_t most);

/// The same for seeds: integers from 0 to 2^64 - 1.
CLI::Validator seed_number();

/// The same for numbers that are neither infinite nor NaN.
CLI::Validator finite_number();

/// The same for numbers from `least` to `most`.
CLI::Validator number_between(double least, double most);

/// The same for numbers above 0.
CLI::Validator positive_up_to(double most);

/// The same for a count of bytes; "60M" becomes 62914560.
CLI::Validator bytes_up_to(double most);

}  // namespace splitwave::cli
