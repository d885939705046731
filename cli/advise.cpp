// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <memory>
#include <utility>

#include "base/build_info.h"
#include "base/error.h"
#include "base/output_files.h"
#include "base/stop.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/signals.h"
#include "schedules/schedules.h"
#include "studies/advise.h"
#include "studies/advise_export.h"
#include "studies/error_bands.h"
#include "studies/sweep_axis.h"
#include "studies/target.h"
#include "workloads/limits.h"
#include "workloads/load.h"

namespace splitwave::cli {
namespace {

struct AdviseCommand {
  std::string model;
  MachineOptions machine{{"h200"}};
  std::vector<std::string> available;
  std::vector<std::string> rules;
  std::int32_t max_splits = 0;
  std::string batches = "1..256x2";
  std::string contexts = "512..128kx2";
  std::int32_t query_len = 1;
  std::int32_t threads = 0;
  std::string format = "table";
  std::string file;
  bool json = false;
};

using Export = std::string (*)(const studies::Advice&, const studies::AdviceOrigin&);
constexpr std::array<std::pair<const char*, Export>, 5> kExports = {{{"table", &studies::advice_table},
                                                                     {"csv", &studies::advice_csv},
                                                                     {"json", &studies::advice_json},
                                                                     {"cpp", &studies::advice_cpp},
                                                                     {"python", &studies::advice_python}}};

std::vector<std::int32_t> values(std::string_view name, std::int64_t most, bool binary, const std::string& text) {
  const studies::AxisDomain domain{name, studies::AxisType::integer, 1, static_cast<double>(most), binary, "--"};
  std::vector<std::int32_t> result;
  for (const studies::AxisValue& value : studies::parse_axis(domain, text).values) {
    result.push_back(static_cast<std::int32_t>(value.integer()));
  }
  std::sort(result.begin(), result.end());
  return result;
}

/// What is taken to be available if nobody says: what can be installed, and the schedules that were named.
std::vector<std::string> installable_and(const std::vector<std::string>& named) {
  std::vector<std::string> names = schedules::installable_names();
  for (const std::string& name : named) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

studies::AdviseQuestion question_of(const AdviseCommand& options) {
  studies::AdviseQuestion question;
  const workloads::Workload spec = workloads::parse_spec(options.model + ":1q1s1");
  question.geometry = spec.geometry;
  question.kv = spec.kv;
  question.query_len = options.query_len;
  question.batches = values("batch", workloads::kMaxRequests, false, options.batches);
  question.contexts = values("context", workloads::kMaxContextLen, true, options.contexts);
  question.max_splits = options.max_splits;
  question.available = options.available.empty() ? installable_and(options.rules) : options.available;
  question.rules = options.rules.empty() ? question.available : options.rules;
  for (const std::string& name : question.available) schedules::find(name);
  for (const std::string& name : question.rules) schedules::find(name);
  const std::size_t points = question.batches.size() * question.contexts.size();
  if (points > studies::kMostAdvicePoints) {
    throw base::InputError(fmt::format("advise: {} batches times {} contexts are {} points; allowed: at most {}",
                                       question.batches.size(), question.contexts.size(), points,
                                       studies::kMostAdvicePoints));
  }
  return question;
}

/// A word of a command line as a shell reads it.
std::string quoted(const std::string& word) {
  const auto plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("_-./=:,@").find(c) != std::string_view::npos;
  };
  return std::all_of(word.begin(), word.end(), plain) ? word : fmt::format("'{}'", word);
}

std::string command_of(const AdviseCommand& options) {
  std::string command =
      fmt::format("splitwave advise --model {} --gpu {} --batch {} --context {}", quoted(options.model),
                  quoted(options.machine.gpus.front()), quoted(options.batches), quoted(options.contexts));
  if (options.query_len != 1) command += fmt::format(" --query-len {}", options.query_len);
  command += studies::override_words(options.machine.overrides);
  if (!options.available.empty()) command += fmt::format(" --available {}", fmt::join(options.available, ","));
  if (options.max_splits > 0) command += fmt::format(" --max-splits {}", options.max_splits);
  if (!options.rules.empty()) command += fmt::format(" --schedule {}", fmt::join(options.rules, ","));
  command += fmt::format(" --format {}", options.format);
  return base::printable(command, 1000);  // it goes into comments: no control characters
}

void run_advise(AdviseCommand options) {
  if (options.json) options.format = "json";
  const auto chosen =
      std::find_if(kExports.begin(), kExports.end(), [&](const auto& entry) { return entry.first == options.format; });
  if (options.machine.gpus.size() != 1) {
    throw base::InputError(fmt::format("--gpu: {} machines are given; allowed: one", options.machine.gpus.size()));
  }
  const studies::AdviseQuestion question = question_of(options);
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
    const std::string build = fmt::format("splitwave {} ({})", base::version(), base::commit());
    const std::string band = studies::error_band(target, studies::shown_schedules(advice));
    text = chosen->second(advice, {command_of(options), build, band});
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
  verb->add_option("--model", options->model, "catalogue model, MODEL@tp=N, or a geometry such as h=32/8,d=128")
      ->type_name("NAME|GEOMETRY")
      ->required();
  add_machine_options(*verb, options->machine);
  verb->add_option("--batch", options->batches, "requests: a,b,c or first:last[:step] or first..lastxfactor")
      ->type_name("VALUES")
      ->capture_default_str();
  verb->add_option("--context", options->contexts, "tokens of every request's context, in the same forms")
      ->type_name("VALUES")
      ->capture_default_str();
  verb->add_option("--query-len", options->query_len, "query tokens of every request")
      ->type_name("N")
      ->check(integer_between(1, workloads::kMaxQueryLen))
      ->capture_default_str();
  verb->add_option("--available", options->available,
                   "schedules whose libraries you have; if not given, those of released libraries")
      ->delimiter(',')
      ->type_name("NAMES");
  verb->add_option("--max-splits", options->max_splits, "most num_splits of a call, as under CUDA graphs")
      ->type_name("N")
      ->check(integer_between(1, 256));
  add_schedule_option(*verb, options->rules);
  verb->get_option("--schedule")->description("schedules to set against the best; if not given, the available ones");
  verb->add_option("--format", options->format, "table, csv, json, cpp (a header) or python (a module)")
      ->type_name("FORMAT")
      ->check(known_format())
      ->capture_default_str();
  add_new_file_option(*verb, "--file", options->file, "new file to write, instead of standard output");
  add_threads_option(*verb, options->threads);
  add_json_option(*verb, options->json, "the same as --format json (docs/advise.md)");
  verb->callback([options] { run_advise(*options); });
}

}  // namespace splitwave::cli
