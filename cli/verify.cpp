// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>

#include "base/error.h"
#include "base/output_files.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/verify_invariance.h"
#include "reports/junit.h"
#include "studies/verify_case.h"
#include "studies/verify_report.h"

namespace splitwave::cli {
namespace {

struct VerifyVerbOptions {
  WorkloadOptions workload;
  std::string output;
  std::string lse;
  std::string tensors;
  std::vector<std::string> arrays;
  studies::CaseOptions settings;
  std::string junit;
  InvarianceOptions invariance;
  bool json = false;
};

/// What came of all cases.
struct Summary {
  std::vector<reports::JunitCase> cases;
  std::int64_t failed() const {
    return std::count_if(cases.begin(), cases.end(), [](const auto& each) { return !each.passed && !each.error; });
  }
  std::int64_t errors() const {
    return std::count_if(cases.begin(), cases.end(), [](const auto& each) { return each.error; });
  }
};

reports::JunitCase judged(const VerifyVerbOptions& options, const std::string& name, bool alone,
                          const cpu_reference::Verification& result) {
  reports::JunitCase done;
  done.name = name;
  done.passed = result.passed;
  done.message = studies::verdict_reason(result);
  if (!result.passed && !result.findings.empty()) {
    done.message += "; " + to_string(result.findings.front().fault) + ": " + result.findings.front().text;
  }
  done.details = studies::verdict_text(name, result);
  if (options.json) {
    print(studies::verdict_json(name, result) + '\n');
  } else if (alone) {
    print(done.details);
  } else {
    print(fmt::format("{} {}: {}\n", result.passed ? "PASS" : "FAIL", base::printable(name, 200), done.message));
  }
  return done;
}

/// Runs one case. Alone, bad input ends the program; among others it is told, and the others are still judged.
template <typename Judge>
void run_case(const VerifyVerbOptions& options, const std::string& name, bool alone, Summary& summary, Judge judge) {
  const auto begin = std::chrono::steady_clock::now();
  reports::JunitCase done;
  try {
    done = judged(options, name, alone, judge());
  } catch (const base::InputError& error) {
    if (alone) throw;
    complain(error.what());
    done = {name, 0, false, true, error.what(), ""};
  }
  done.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  summary.cases.push_back(std::move(done));
}

/// Several workloads: the output of each in a folder with its number, as `workload tensors` numbers them.
void run_workloads(const VerifyVerbOptions& options, const std::vector<workloads::Workload>& loaded, Summary& summary) {
  if (loaded.empty() || !std::filesystem::is_directory(options.output)) {
    throw base::InputError(fmt::format(
        "--workload stands for {} workloads; allowed: one, whose output is judged, or several with --output "
        "FOLDER that holds 000/output.npy and so on, as workload tensors numbers them",
        loaded.size()));
  }
  if (!options.lse.empty()) {
    throw base::InputError(
        fmt::format("--lse {}: of several workloads LSEs lie beside the outputs; allowed: 000/lse.npy and so on in the "
                    "folder of --output",
                    base::printable(options.lse)));
  }
  Progress progress(static_cast<double>(loaded.size()));
  for (std::size_t i = 0; i < loaded.size(); ++i) {
    progress.show(loaded[i].name);
    const std::string folder = fmt::format("{}/{:03}/", options.output, i);
    const std::string lse = std::filesystem::exists(folder + "lse.npy") ? folder + "lse.npy" : "";
    run_case(options, loaded[i].name, false, summary,
             [&] { return studies::verify_workload(loaded[i], folder + "output.npy", lse, options.settings); });
    progress.add(1);
  }
}

void run_workload(const VerifyVerbOptions& options, Summary& summary) {
  if (options.output.empty()) throw base::InputError("--output is missing; allowed: the kernel's output, with -w");
  const std::vector<workloads::Workload> loaded = load_workloads(options.workload);
  if (loaded.size() != 1) return run_workloads(options, loaded, summary);
  run_case(options, loaded.front().name, true, summary,
           [&] { return studies::verify_workload(loaded.front(), options.output, options.lse, options.settings); });
}

/// NAME=FILE or NAME=FILE,DTYPE,SHAPE.
void add_arrays(const VerifyVerbOptions& options, studies::CaseOptions& settings) {
  if (!options.output.empty()) settings.tensors["output"] = options.output;
  if (!options.lse.empty()) settings.tensors["lse"] = options.lse;
  for (const std::string& text : options.arrays) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
      throw base::InputError(
          fmt::format("--array {}: allowed: NAME=FILE.npy or NAME=FILE,DTYPE,SHAPE", base::printable(text)));
    }
    const std::string name = text.substr(0, equals);
    studies::expect_array_name("--array", name);
    settings.tensors[name] = text.substr(equals + 1);
  }
}

void run_tensors(const VerifyVerbOptions& options, Summary& summary) {
  studies::CaseOptions settings = options.settings;
  add_arrays(options, settings);
  const std::vector<std::string> paths = studies::find_cases(options.tensors);
  const bool alone = paths.size() == 1;
  Progress progress(static_cast<double>(paths.size()));
  for (const std::string& path : paths) {
    progress.show(base::printable(path, 60));
    run_case(options, base::printable(path, 400), alone, summary, [&] {
      const studies::VerifyCase loaded = studies::load_case(path, settings);
      return cpu_reference::verify(loaded.call, loaded.options);
    });
    progress.add(1);
  }
}

int run_verify(const VerifyVerbOptions& options) {
  if (options.invariance.asked) return run_batch_invariance(options.invariance, options.workload, options.json);
  if (options.workload.workload.empty() == options.tensors.empty()) {
    throw base::InputError("verify needs a case; allowed: either -w WORKLOAD with --output FILE, or --tensors PATH");
  }
  Summary summary;
  if (options.tensors.empty()) {
    run_workload(options, summary);
  } else {
    run_tensors(options, summary);
  }
  if (!options.junit.empty())
    base::write_new_file(options.junit, reports::junit_xml("splitwave verify", summary.cases));
  const auto cases = static_cast<std::int64_t>(summary.cases.size());
  if (cases > 1 && !options.json) {
    print(fmt::format("{} cases: {} passed, {} failed, {} could not be judged\n", cases,
                      cases - summary.failed() - summary.errors(), summary.failed(), summary.errors()));
  }
  return summary.failed() > 0 ? kCheckFailed : summary.errors() > 0 ? kBadInput : kGood;
}

/// A check for one of a few words.
CLI::Validator one_of(std::vector<std::string> words) {
  return CLI::Validator(
      [words = std::move(words)](std::string& text) -> std::string {
        if (std::find(words.begin(), words.end(), text) != words.end()) return "";
        return base::printable(text) + " is not allowed; allowed: " + base::join(words);
      },
      "");
}

void add_settings(CLI::App& verb, studies::CaseOptions& settings) {
  // Callbacks: a flag that is not given leaves what case.json says. A workload says itself what its kernel was asked
  // for: beside -w these options would change nothing.
  verb.add_flag_callback(
          "--causal", [&settings] { settings.causal = true; },
          "with --tensors: the last query sees the last token, each before it one less")
      ->needs("--tensors");
  verb.add_flag_callback(
          "--no-causal", [&settings] { settings.causal = false; }, "with --tensors: no causal mask")
      ->needs("--tensors")
      ->excludes("--causal");
  verb.add_option("--window", settings.window, "with --tensors: sliding window, as in a workload's geometry")
      ->type_name("TOKENS")
      ->check(integer_between(1, 2147483647))
      ->needs("--tensors");
  verb.add_option("--scale", settings.scale, "with --tensors: factor on scores; 1 / sqrt(head_dim) if not given")
      ->type_name("X")
      ->check(finite_number())
      ->needs("--tensors");
  verb.add_option("--lse-base", settings.lse_base, "base of the LSE that is judged: e, or 2")
      ->type_name("e|2")
      ->check(one_of({"e", "2"}));
  verb.add_option("--layout", settings.layout, "with --tensors: order of the axes of q and output: token or head major")
      ->type_name("token|head")
      ->check(one_of({"token", "head"}))
      ->needs("--tensors");
  verb.add_option("--kv-layout", settings.kv_layout, "the same of k and v, if another")
      ->type_name("token|head")
      ->check(one_of({"token", "head"}))
      ->needs("--tensors");
  verb.add_option("--weights", settings.weights,
                  "precision that the kernel keeps the softmax weights in; v's if not given")
      ->type_name("f16|bf16|tf32|f32|f64")
      ->check(one_of({"f16", "bf16", "tf32", "f32", "f64"}));
  verb.add_option("--sixteen-bits", settings.sixteen_bits, "what 16-bit integers of npy files are: f16 or bf16")
      ->type_name("f16|bf16")
      ->check(one_of({"f16", "bf16"}));
  verb.add_flag_callback(
      "--no-diagnosis", [&settings] { settings.diagnose = false; },
      "give the verdict by the bounds alone; look for no fault");
}

}  // namespace

void add_verify(CLI::App& program, int& status) {
  const auto options = std::make_shared<VerifyVerbOptions>();
  CLI::App* verb =
      program.add_subcommand("verify", "Judge a kernel's output against the oracle, and say what is wrong with it");
  verb->footer(
      "  splitwave verify -w llama-3-8b:2q1s1k --output mine.npy\n"
      "  splitwave verify -w suite.json --output outputs\n"
      "  splitwave verify -w h=1024/1024,d=128:1q1s4096k --output mine.npy --sample 2\n"
      "  splitwave verify --tensors case --output mine.npy --lse lse.npy\n"
      "  splitwave verify --tensors case.safetensors --causal --json\n"
      "  splitwave verify --tensors cases --junit verdicts.xml\n"
      "  splitwave verify --batch-invariance -w llama-3-8b:4q1s4k --gpu h200 --schedule fixed-size:1024,lean");
  add_workload_options(*verb, options->workload);
  verb->get_option("--workload")->required(false);
  verb->add_option(
          "--output", options->output,
          "the kernel's output: FILE.npy, or FILE,DTYPE,SHAPE of raw elements (o.bin,f16,2x32x128); of several "
          "workloads, a folder with 000/output.npy and so on")
      ->type_name("FILE[,DTYPE,SHAPE]");
  verb->add_option("--lse", options->lse, "the kernel's LSE, the same way")->type_name("FILE[,DTYPE,SHAPE]");
  verb->add_option(
          "--tensors", options->tensors,
          "a case with its own q, k, v and output: a folder with npy files, a safetensors file, or a folder of "
          "these (docs/verify.md)")
      ->type_name("PATH")
      ->excludes("--workload")
      ->excludes("--seed");
  verb->add_option("--array", options->arrays,
                   "with --tensors: an array from another file, NAME=FILE.npy or NAME=FILE,DTYPE,SHAPE")
      ->allow_extra_args(false)
      ->type_name("NAME=FILE")
      ->needs("--tensors");
  add_settings(*verb, options->settings);
  add_sample_option(*verb, options->settings.sample,
                    "with -w: judge so many KV heads of requests alone: for tensors that no memory holds")
      ->excludes("--tensors");
  add_new_file_option(*verb, "--junit", options->junit, "write the verdicts as JUnit XML")->type_name("FILE.xml");
  add_json_option(*verb, options->json, "one verdict per line (docs/verify.md), or one schedule's answer");
  add_invariance_options(*verb, options->invariance);
  verb->callback([options, &status] { status = run_verify(*options); });
}

}  // namespace splitwave::cli
