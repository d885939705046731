// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "base/error.h"
#include "base/output_files.h"
#include "cli/commands.h"
#include "cli/executor.h"
#include "cli/options.h"
#include "cli/output.h"
#include "simulator/kernel.h"
#include "simulator/machine.h"
#include "studies/calibrate.h"
#include "studies/calibrate_cuda.h"

namespace splitwave::cli {
namespace {

struct CalibrateOptions {
  std::string executor = "cpu";
  std::string like;
  std::string file;
  std::string kernel;
  std::string points;
  std::string from_points;
  bool only_energy = false;
  std::int32_t threads = 0;
  bool json = false;
};

studies::Calibration measure(const CalibrateOptions& options) {
  if (options.executor != "cuda") return studies::calibrate_cpu(thread_count(options.threads));
  return options.only_energy ? studies::calibrate_cuda_energy(options.like) : studies::calibrate_cuda(options.like);
}

/// The kernels' constants once more, of points that an earlier calibration left.
void recalibrate(const CalibrateOptions& options) {
  if (options.executor != "cuda" || options.like.empty() || options.kernel.empty() || !options.file.empty() ||
      !options.points.empty() || options.only_energy || options.threads > 0 || options.json) {
    throw base::InputError(
        "--from-points: nothing is measured; allowed with it: --executor cuda, --like with the machine that the points "
        "made, and --kernel-out");
  }
  const std::string file = studies::recalibrate_cuda(options.from_points, options.like);
  simulator::parse_kernel(file, options.kernel);
  base::write_new_file(options.kernel, file);
}

void calibrate(const CalibrateOptions& options) {
  if (!options.from_points.empty()) return recalibrate(options);
  const bool cuda = options.executor == "cuda";
  if (!cuda && !options.like.empty()) {
    throw base::InputError("--like with --executor cpu: nothing of a CPU is taken over; allowed: --executor cuda");
  }
  if (!cuda && !options.kernel.empty()) {
    throw base::InputError("--kernel-out with --executor cpu: a CPU runs no CUDA kernels; allowed: --executor cuda");
  }
  if (cuda && options.threads > 0) {
    throw base::InputError("--threads with --executor cuda: no threads are measured; allowed: --executor cpu");
  }
  if (!cuda && options.only_energy) {
    throw base::InputError(
        "--only-energy with --executor cpu: a CPU's energy is not measured; allowed: --executor cuda");
  }
  if (options.only_energy && !options.kernel.empty()) {
    throw base::InputError("--kernel-out with --only-energy: the kernels are not measured; allowed: one of the two");
  }
  require_executor(options.executor);
  std::string known;
  if (cuda) known = simulator::machine_text(studies::calibration_base(options.like));
  const studies::Calibration result = measure(options);
  if (!result.note.empty()) note(result.note);
  // The points first: they are worth keeping even if the constants contradict each other.
  if (!options.points.empty()) base::write_new_file(options.points, studies::points_csv(result.points));
  if (!options.kernel.empty()) base::write_new_file(options.kernel, result.kernel_file);
  if (!options.file.empty()) base::write_new_file(options.file, result.file);
  print(options.json ? result.file : studies::calibration_table(result, known));
  if (!result.kernel_file.empty()) {
    simulator::parse_kernel(result.kernel_file, options.kernel.empty() ? "kernel" : options.kernel);
  }
  if (cuda) simulator::parse_machine(result.file, options.file.empty() ? result.machine_name : options.file);
}

}  // namespace

void add_calibrate(CLI::App& program, int&) {
  const auto options = std::make_shared<CalibrateOptions>();
  CLI::App* verb = program.add_subcommand("calibrate", "Measure this computer's constants and write a machine file");
  verb->footer(
      "  splitwave calibrate --out cpu.json\n"
      "  splitwave calibrate --executor cuda --out my-gpu.json --points my-gpu.csv\n"
      "  splitwave calibrate --executor cuda --only-energy --like h200-calibrated --out my-gpu.json\n"
      "  splitwave simulate -w llama-3-8b:8q1s32k --gpu h200,h200-calibrated");
  add_executor_option(*verb, options->executor);
  add_threads_option(*verb, options->threads);
  add_new_file_option(*verb, "--out", options->file, "write the machine file (docs/simulator.md)");
  add_new_file_option(*verb, "--kernel-out", options->kernel,
                      "with --executor cuda: write the profile of the project's own kernels (docs/simulator.md)");
  add_new_file_option(*verb, "--points", options->points, "write the points behind the constants, as CSV");
  verb->add_option(
          "--from-points", options->from_points,
          "measure nothing: make the file of --kernel-out of points that --points once wrote, and of the machine "
          "--like that they made")
      ->type_name("FILE");
  verb->add_option("--like", options->like,
                   "with --executor cuda: the machine whose data sheet's rates the device has, by name or as a JSON "
                   "file; the shipped one of its name if not given")
      ->type_name("NAME|FILE");
  verb->add_flag("--only-energy", options->only_energy,
                 "with --executor cuda: measure the energy constants alone, and take over all else");
  add_json_option(*verb, options->json, "the machine file itself");
  verb->callback([options] { calibrate(*options); });
}

}  // namespace splitwave::cli
