// SPDX-License-Identifier: Apache-2.0
#include "cli/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <thread>

#include "base/error.h"
#include "base/output_files.h"
#include "base/text.h"
#include "cli/output.h"
#include "studies/measure.h"
#include "studies/measure_sample.h"
#include "studies/sweep_axis.h"
#include "workloads/load.h"

namespace splitwave::cli {
namespace {

using Limits = studies::OverrideLimits;
constexpr std::int64_t kMostSamples = 100000;

template <typename Number>
std::optional<Number> whole_number(const std::string& text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    return std::nullopt;
  }
  return value;
}

std::string refusal(const std::string& text, const std::string& allowed) {
  return fmt::format("{} is not allowed; allowed: {}", base::printable(text), allowed);
}

/// A list of names, of which one given twice is refused: it would be computed and shown twice.
CLI::Option* add_names_option(CLI::App& app, const std::string& flag, std::vector<std::string>& names,
                              const std::string& help) {
  return app
      .add_option_function<std::vector<std::string>>(
          flag,
          [flag, &names](const std::vector<std::string>& given) {
            for (auto name = given.begin(); name != given.end(); ++name) {
              if (std::find(given.begin(), name, *name) == name) continue;
              throw base::InputError(
                  fmt::format("{}: {} is given twice; allowed: each name once", flag, base::printable(*name)));
            }
            names = given;
          },
          help)
      ->delimiter(',')
      ->allow_extra_args(false);
}

}  // namespace

CLI::Validator integer_between(std::int64_t least, std::int64_t most) {
  return CLI::Validator(
      [=](std::string& text) -> std::string {
        const std::optional<std::int64_t> value = whole_number<std::int64_t>(text);
        return value && *value >= least && *value <= most
                   ? ""
                   : refusal(text, fmt::format("an integer from {} to {}", least, most));
      },
      "");
}

CLI::Validator seed_number() {
  return CLI::Validator(
      [](std::string& text) -> std::string {
        return whole_number<std::uint64_t>(text) ? "" : refusal(text, "an integer from 0 to 2^64 - 1");
      },
      "");
}

CLI::Validator finite_number() {
  return CLI::Validator(
      [](std::string& text) -> std::string {
        const std::optional<double> value = whole_number<double>(text);
        return value && std::isfinite(*value) ? "" : refusal(text, "a finite number");
      },
      "");
}

CLI::Validator number_between(double least, double most) {
  return CLI::Validator(
      [=](std::string& text) -> std::string {
        const std::optional<double> value = whole_number<double>(text);
        return value && *value >= least && *value <= most
                   ? ""
                   : refusal(text, fmt::format("a number from {} to {}", least, most));
      },
      "");
}

CLI::Validator positive_up_to(double most) {
  return CLI::Validator(
      [=](std::string& text) -> std::string {
        const std::optional<double> value = whole_number<double>(text);
        return value && *value > 0 && *value <= most ? ""
                                                     : refusal(text, fmt::format("a number above 0, up to {}", most));
      },
      "");
}

CLI::Validator bytes_up_to(double most) {
  return CLI::Validator(
      [=](std::string& text) -> std::string {
        try {
          const studies::Axis axis = studies::parse_axis({"", studies::AxisType::integer, 1, most, true, ""}, text);
          if (axis.values.size() == 1) {
            text = axis.values.front().text;
            return "";
          }
        } catch (const base::InputError&) {  // told below, in the form of the other options
        }
        return refusal(text, fmt::format("bytes from 1 to {}, with k, M or G for powers of 1024", most));
      },
      "");
}

void add_workload_options(CLI::App& app, WorkloadOptions& options) {
  CLI::Option* workload = app.add_option("-w,--workload", options.workload,
                                         "JSON, JSON Lines or suite file; name of a shipped suite; or one line such as "
                                         "llama-3-8b:8q1s32k (docs/workloads.md)")
                              ->type_name("FILE|NAME|SPEC");
  if (options.workload.empty()) {
    workload->required();
  } else {
    workload->capture_default_str();
  }
  app.add_option("--seed", options.seed, "seed of all tensors, instead of the workloads' own")
      ->type_name("N")
      ->check(seed_number());
}

void add_machine_options(CLI::App& app, MachineOptions& options) {
  add_names_option(app, "--gpu", options.gpus,
                   "machines by name (splitwave gpus lists them), cpu for this one, or JSON files")
      ->type_name("NAME|FILE,...")
      ->default_str(fmt::format("[{}]", fmt::join(options.gpus, ",")));
  app.add_option("--sms", options.overrides.sms, "streaming multiprocessors, instead of the machine's own")
      ->type_name("N")
      ->check(integer_between(1, Limits::sms));
  app.add_option(
         "--bandwidth", options.overrides.bandwidth_gb_per_s,
         "DRAM peak in GB/s, as data sheets say it, instead of the machine's own; reads reach the same share of "
         "it (splitwave gpus shows both)")
      ->type_name("GB/s")
      ->check(number_between(Limits::least, Limits::bandwidth_gb_per_s));
  app.add_option("--l2", options.overrides.l2_bytes, "L2 capacity in bytes (60M: 60 MiB), instead of the machine's own")
      ->type_name("BYTES")
      ->transform(bytes_up_to(Limits::l2_bytes));
  app.add_option("--clock", options.overrides.clock_mhz, "SM clock in MHz, instead of the machine's own")
      ->type_name("MHz")
      ->check(number_between(Limits::least, Limits::clock_mhz));
  app.add_option("--ctas-per-sm", options.overrides.ctas_per_sm,
                 "resident CTAs per SM, instead of the kernel's occupancy")
      ->type_name("N")
      ->check(integer_between(1, Limits::ctas_per_sm));
  app.add_option(
         "--kernel", options.overrides.kernel,
         "kernel profile that runs every schedule's plans, by name or as a JSON file, instead of each library's")
      ->type_name("NAME|FILE");
  app.add_flag("--measure-cpu", options.measure_cpu,
               "measure this computer's CPU anew instead of using what was kept of it");
}

void add_schedule_option(CLI::App& app, std::vector<std::string>& schedules) {
  add_names_option(
      app, "--schedule", schedules,
      "schedules (splitwave schedules lists them), or auto: the main one with the least predicted time, up "
      "to 10 % added for kinds of plans that come out too fast; the main ones if not given")
      ->type_name("A,B,...");
}

void add_threads_option(CLI::App& app, std::int32_t& threads) {
  app.add_option("--threads", threads, "CPU threads; all hardware threads if not given")
      ->type_name("N")
      ->check(integer_between(1, studies::kMostThreads));
}

void add_samples_option(CLI::App& app, std::int32_t& samples) {
  app.add_option("--samples", samples, "least number of timed runs of each plan")
      ->type_name("N")
      ->check(integer_between(1, kMostSamples))
      ->capture_default_str();
}

CLI::Option* add_sample_option(CLI::App& app, std::int64_t& groups, const std::string& what) {
  return app.add_option("--sample", groups, what)
      ->type_name("N")
      ->check(integer_between(1, studies::kMostSampledGroups));
}

void add_energy_option(CLI::App& app, double& seconds) {
  app.add_flag_callback(
      "--energy", [&seconds] { seconds = studies::kEnergySeconds; },
      "with --executor cuda: replay each plan for two seconds more and record the joules of a call");
}

void require_energy(const std::string& executor, double seconds) {
  if (seconds > 0 && executor != "cuda") {
    throw base::InputError("--energy with --executor " + executor +
                           ": only a GPU's energy is measured; allowed: --executor cuda");
  }
}

void add_executor_option(CLI::App& app, std::string& executor) {
  app.add_option("--executor", executor,
                 "what runs the plans: cpu, or cuda: the current CUDA device, if the kernels are built in")
      ->type_name("NAME")
      ->check(CLI::Validator(
          [](std::string& text) -> std::string {
            return text == "cpu" || text == "cuda" ? "" : refusal(text, "cpu, cuda");
          },
          ""))
      ->capture_default_str();
}

void add_json_option(CLI::App& app, bool& json, const std::string& help) {
  app.add_flag("--json", json, help);
}

void add_out_option(CLI::App& app, std::string& out, const std::string& help) {
  app.add_option("--out", out, help)->type_name("DIR");
}

CLI::Option* add_new_file_option(CLI::App& app, const std::string& flag, std::string& file, const std::string& help,
                                 void (*expect)(const std::filesystem::path&)) {
  return app.add_option(flag, file, help)
      ->type_name("FILE")
      ->check(CLI::Validator(
          [expect](std::string& text) -> std::string {
            try {
              expect(text);
            } catch (const base::InputError& error) {
              return error.what();
            }
            return "";
          },
          ""));
}

std::vector<workloads::Workload> load_workloads(const WorkloadOptions& options) {
  std::vector<workloads::Workload> loaded = workloads::load(options.workload);
  if (options.seed) {
    for (workloads::Workload& workload : loaded) {
      workload.seed = *options.seed;
    }
  }
  return loaded;
}

std::vector<studies::Target> load_machines(const MachineOptions& options, std::int32_t threads) {
  if (options.measure_cpu &&
      std::find(options.gpus.begin(), options.gpus.end(), studies::kThisCpu) == options.gpus.end()) {
    throw base::InputError("--measure-cpu: this computer's CPU is not among the machines; allowed: with --gpu cpu");
  }
  std::vector<studies::Target> machines =
      studies::targets(options.gpus, options.overrides, threads, options.measure_cpu);
  for (const studies::Target& machine : machines) {
    if (!machine.note.empty()) note(machine.note);
  }
  return machines;
}

void add_calibration_option(CLI::App& app, studies::DeviceConstants& constants) {
  app.add_option_function<std::vector<std::string>>(
         "--calibration",
         [&constants](const std::vector<std::string>& files) {
           constants = {files[0], files[1]};
         },
         "with --executor cuda: the device's constants as 'splitwave calibrate --executor cuda' wrote them (--out and "
         "--kernel-out), for choices and predictions, instead of the shipped ones")
      ->delimiter(',')
      ->expected(2)
      ->type_name("MACHINE.json,KERNELS.json");
}

void add_device_sms_option(CLI::App& app, std::int32_t& sms) {
  app.add_option("--sms", sms, "with --executor cuda: run on so many of the device's SMs, a green context")
      ->type_name("N")
      ->check(integer_between(1, Limits::sms));
}

std::int32_t thread_count(std::int32_t option) {
  return option > 0 ? option : std::max(1, static_cast<std::int32_t>(std::thread::hardware_concurrency()));
}

}  // namespace splitwave::cli
