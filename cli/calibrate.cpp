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
  std::int32_t threads = 0;
  bool json = false;
};

void calibrate(const CalibrateOptions& options) {
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
  require_executor(options.executor);
  std::string known;
  if (cuda) known = simulator::machine_text(studies::calibration_base(options.like));
  const studies::Calibration result =
      cuda ? studies::calibrate_cuda(options.like) : studies::calibrate_cpu(thread_count(options.threads));
  // The points first: they are worth keeping even if the constants contradict each other.
  if (!options.points.empty()) base::write_new_file(options.points, studies::points_csv(result.points));
  if (!options.kernel.empty()) base::write_new_file(options.kernel, result.kernel_file);
  if (!options.file.empty()) base::write_new_file(options.file, result.file);
  print(options.json ? result.file : studies::calibration_table(result, known));
  if (cuda) simulator::parse_kernel(result.kernel_file, options.kernel.empty() ? "kernel" : options.kernel);
  if (cuda) simulator::parse_machine(result.file, options.file.empty() ? result.machine_name : options.file);
}

}  // namespace

void add_calibrate(CLI::App& program, int&) {
  const auto options = std::make_shared<CalibrateOptions>();
  CLI::App* verb = program.add_subcommand("calibrate", "Measure this computer's constants and write a machine file");
  verb->footer(
      "  splitwave calibrate --out cpu.json\n"
      "  splitwave calibrate --executor cuda --out my-gpu.json --points my-gpu.csv\n"
      "  splitwave simulate -w llama-3-8b:8q1s32k --gpu h200,h200-calibrated");
  add_executor_option(*verb, options->executor);
  add_threads_option(*verb, options->threads);
  add_new_file_option(*verb, "--out", options->file, "write the machine file (docs/simulator.md)");
  add_new_file_option(*verb, "--kernel-out", options->kernel,
                      "with --executor cuda: write the profile of the project's own kernels (docs/simulator.md)");
  add_new_file_option(*verb, "--points", options->points, "write the points behind the constants, as CSV");
  verb->add_option("--like", options->like,
                   "with --executor cuda: the machine whose data sheet's rates the device has, by name or as a JSON "
                   "file; the shipped one of its name if not given")
      ->type_name("NAME|FILE");
  add_json_option(*verb, options->json, "the machine file itself");
  verb->callback([options] { calibrate(*options); });
}

}  // namespace splitwave::cli
