// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "base/error.h"
#include "base/output_files.h"
#include "base/stop.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/signals.h"
#include "studies/advise.h"
#include "studies/advise_export.h"
#include "studies/advise_plot.h"
#include "studies/advise_request.h"
#include "studies/target.h"
#include "workloads/limits.h"

namespace splitwave::cli {
namespace {

struct AdviseCommand {
  studies::AdviseRequest request;
  MachineOptions machine{{"h200"}};
  std::int32_t threads = 0;
  std::string format = "table";
  std::string file;
  std::string plot;
  bool json = false;
};

using Export = std::string (*)(const studies::Advice&, const studies::AdviceOrigin&);
constexpr std::array<std::pair<const char*, Export>, 5> kExports = {{{"table", &studies::advice_table},
                                                                     {"csv", &studies::advice_csv},
                                                                     {"json", &studies::advice_json},
                                                                     {"cpp", &studies::advice_cpp},
                                                                     {"python", &studies::advice_python}}};

void run_advise(AdviseCommand options) {
  if (options.json) options.format = "json";
  const auto chosen =
      std::find_if(kExports.begin(), kExports.end(), [&](const auto& entry) { return entry.first == options.format; });
  if (options.machine.gpus.size() != 1) {
    throw base::InputError(fmt::format("--gpu: {} machines are given; allowed: one", options.machine.gpus.size()));
  }
  const studies::AdviseQuestion question = studies::question_of(options.request);
  const int threads = thread_count(options.threads);
  const studies::Target target = load_machines(options.machine, threads).front();
  catch_stop_signals();
  const std::size_t points = question.batches.size() * question.contexts.size();
  std::string text;
  {
    Progress progress(static_cast<double>(points));
    std::size_t reported = 0;
    const studies::Advice advice = studies::advise(question, target, threads, [&](std::size_t finished) {
      base::stop_if_asked();
      progress.add(static_cast<double>(finished - reported));
      reported = finished;
      progress.show(fmt::format("{} of {} points", finished, points));
    });
    const std::string command =
        studies::command_of(options.request, options.machine.gpus.front(), options.machine.overrides, options.format);
    text = chosen->second(advice, studies::origin_of(advice, target, command));
    if (!options.plot.empty()) {
      const studies::ReportResult drawn = studies::plot_advice(advice, options.request.model, command, options.plot);
      if (!drawn.note.empty()) note(drawn.note);
    }
  }
  if (options.file.empty()) {
    print(text);
  } else {
    base::write_new_file(options.file, text);
  }
}

CLI::Validator known_format() {
  return CLI::Validator(
      [](std::string& text) -> std::string {
        std::vector<std::string> names;
        names.reserve(std::size(kExports));
        for (const auto& [name, function] : kExports) names.emplace_back(name);
        if (std::find(names.begin(), names.end(), text) != names.end()) return "";
        return fmt::format("{} is not allowed; allowed: {}", base::printable(text), base::join(names));
      },
      "");
}

}  // namespace

void add_advise(CLI::App& program, int&) {
  const auto options = std::make_shared<AdviseCommand>();
  CLI::App* verb = program.add_subcommand("advise", "Best schedule and split count over batch sizes and contexts");
  verb->footer(
      "  splitwave advise --model llama-3-8b --gpu h200\n"
      "  splitwave advise --model llama-3-70b@tp=8 --gpu h100-sxm --batch 1:64 --context 1k,8k,32k --format csv\n"
      "  splitwave advise --model llama-3-8b,page=16 --gpu h100-sxm --available fa3,flashinfer --max-splits 32\n"
      "  splitwave advise --model h=32/8,d=128 --gpu h200 --format cpp --file num_splits.h");
  verb->add_option("--model", options->request.model, "catalogue model, MODEL@tp=N, or a geometry such as h=32/8,d=128")
      ->type_name("NAME|GEOMETRY")
      ->required();
  add_machine_options(*verb, options->machine);
  verb->add_option("--batch", options->request.batches, "requests: a,b,c or first:last[:step] or first..lastxfactor")
      ->type_name("VALUES")
      ->capture_default_str();
  verb->add_option("--context", options->request.contexts, "tokens of every request's context, in the same forms")
      ->type_name("VALUES")
      ->capture_default_str();
  verb->add_option("--query-len", options->request.query_len, "query tokens of every request")
      ->type_name("N")
      ->check(integer_between(1, workloads::kMaxQueryLen))
      ->capture_default_str();
  verb->add_option("--available", options->request.available,
                   "schedules whose libraries you have; if not given, those of released libraries")
      ->delimiter(',')
      ->type_name("NAMES");
  verb->add_option("--max-splits", options->request.max_splits, "most num_splits of a call, as under CUDA graphs")
      ->type_name("N")
      ->check(integer_between(1, studies::kMostMaxSplits));
  add_schedule_option(*verb, options->request.rules);
  verb->get_option("--schedule")->description("schedules to set against the best; if not given, the available ones");
  verb->add_option("--format", options->format, "table, csv, json, cpp (a header) or python (a module)")
      ->type_name("FORMAT")
      ->check(known_format())
      ->capture_default_str();
  add_new_file_option(*verb, "--file", options->file, "new file to write, instead of standard output");
  verb->add_option("--plot", options->plot, "new folder for a page and figures of it: the best schedule, and times")
      ->type_name("DIR");
  add_threads_option(*verb, options->threads);
  add_json_option(*verb, options->json, "the same as --format json (docs/advise.md)");
  verb->get_option("--json")->excludes("--format");
  verb->callback([options] { run_advise(*options); });
}

}  // namespace splitwave::cli
