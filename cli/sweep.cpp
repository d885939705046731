// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/build_info.h"
#include "base/error.h"
#include "base/stop.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/signals.h"
#include "reports/table.h"
#include "studies/report.h"
#include "studies/sweep_evaluate.h"
#include "studies/sweep_fields.h"
#include "studies/sweep_mpi.h"
#include "studies/sweep_store.h"
#include "studies/target.h"

namespace splitwave::cli {
namespace {

namespace fs = std::filesystem;

struct SweepCommand {
  WorkloadOptions workload;
  MachineOptions machine{{"h200"}};
  std::vector<std::string> schedules;
  std::vector<std::string> axes;
  std::string shard = "1/1";
  std::vector<std::string> merge;
  std::string out;
  std::int64_t chunk = 4096;
  std::int32_t threads = 0;
  bool resume = false;
  std::vector<std::string> plots;
  bool csv = false;
  bool fields = false;
  bool json = false;
};

/// What machines and kernel were read from: a file's text, this CPU's figures, or a shipped one's name.
std::vector<std::string> machine_inputs(const SweepCommand& options, const std::vector<studies::Target>& machines) {
  const auto read = [](const std::string& given) {
    std::error_code ignored;
    return fs::is_regular_file(given, ignored) ? base::read_text_file(given) : given;
  };
  std::vector<std::string> inputs;
  for (std::size_t i = 0; i < machines.size(); ++i) {
    const std::string& given = options.machine.gpus[i];
    if (const auto& cpu = machines[i].cpu) {  // measured anew on each computer
      inputs.push_back(fmt::format("{} {} {} {} {} {} {} {} {}", cpu->model, fmt::join(cpu->read_bytes_per_second, ","),
                                   fmt::join(cpu->row_read_bytes_per_second, ","), cpu->token_seconds_per_kv_byte,
                                   cpu->overlap, cpu->fork_seconds, cpu->list_seconds, cpu->item_seconds,
                                   cpu->merge_seconds_per_row_split));
    } else {
      inputs.push_back(read(given));
    }
  }
  const std::string& kernel = options.machine.overrides.kernel;
  if (!kernel.empty()) inputs.push_back(read(kernel));
  return inputs;
}

void print_fields() {
  reports::Table table{{{"field"}, {"values"}, {"what"}}, {}};
  for (const studies::SweepField& field : studies::sweep_fields()) {
    const studies::AxisDomain& domain = field.domain;
    const char* type = domain.type == studies::AxisType::text   ? "words"
                       : domain.type == studies::AxisType::real ? "numbers"
                                                                : "integers";
    table.rows.push_back({std::string(domain.name), type, std::string(field.summary)});
  }
  print(reports::to_text(table));
}

void print_totals(const SweepCommand& options, const studies::SweepTotals& totals, const fs::path& folder) {
  const std::string records = (folder / "records.jsonl").string();
  if (options.json) {
    nlohmann::ordered_json json = {{"points", totals.points}, {"infeasible", totals.infeasible}, {"records", records}};
    print(json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + '\n');
  } else {
    print(fmt::format("{} points, {} of them infeasible: {}\n", totals.points, totals.infeasible,
                      base::plain_line(records)));
  }
}

/// What --csv and --plot ask for, from the finished sweep's records.
void print_more(const SweepCommand& options, const fs::path& folder) {
  const std::string records = (folder / "records.jsonl").string();
  if (options.csv) studies::write_records_csv(records, folder / "records.csv", thread_count(options.threads));
  if (options.plots.empty()) return;
  studies::ReportRequest request;
  request.files = {records};
  request.title = "splitwave sweep";
  for (const std::string& plot : options.plots)
    request.figures.emplace_back(plot == "curve" ? "sweep_curve" : "sweep_heat_map");
  const studies::ReportResult result = studies::write_report_page(request, folder / "plots");
  for (const std::string& name : request.figures) {
    if (std::find(result.figures.begin(), result.figures.end(), name) == result.figures.end()) {
      note(fmt::format("no {}: it needs {}", name,
                       name == "sweep_curve" ? "an axis of three numbers or more" : "two axes of numbers"));
    }
  }
  if (!result.note.empty()) note(result.note);
}

void merge(const SweepCommand& options) {
  std::vector<fs::path> folders(options.merge.begin(), options.merge.end());
  const fs::path out = options.out.empty() ? folders.front() : fs::path(options.out);
  print_totals(options, studies::merge_sweep(folders, out), out);
  print_more(options, out);
}

/// One sweep by this process, and by those beside it.
class SweepRun {
 public:
  explicit SweepRun(const SweepCommand& options) : options_(options) {
    try {
      processes_.agree([this] { return prepare(); });
      prepared_ = true;
    } catch (const base::InputError&) {
      if (processes_.first()) throw;  // one message is enough
    }
  }

  /// False on a process that has nothing to do because the input is bad.
  bool prepared() const { return prepared_; }

  void run() {
    studies::SweepEvaluator evaluator(space_, thread_count(options_.threads), base::commit(), base::version());
    processes_.run([this] { return begin(); },
                   [&](std::int64_t chunk) {
                     const std::int64_t first = chunk * options_.chunk;
                     return evaluator.lines(first, std::min(first + options_.chunk, manifest_.points));
                   },
                   [this](std::int64_t chunk, const std::string& lines) { write(chunk, lines); });
    if (processes_.first()) finish();
  }

 private:
  std::string prepare() {
    shard_ = studies::parse_shard(options_.shard);
    if (options_.workload.workload.empty()) {
      throw base::InputError("sweep: -w/--workload is missing; allowed: FILE, NAME or SPEC, or --merge DIR...");
    }
    if (options_.out.empty()) throw base::InputError("sweep: --out is missing; allowed: a folder for the results");
    std::vector<studies::Target> machines = load_machines(options_.machine, thread_count(options_.threads));
    std::vector<workloads::Workload> loaded = load_workloads(options_.workload);
    const std::vector<std::string> inputs = machine_inputs(options_, machines);
    space_ = studies::make_space(std::move(machines), std::move(loaded), options_.axes, options_.schedules);
    manifest_ = studies::make_manifest(space_, inputs, options_.chunk, base::commit(), base::version());
    return manifest_.text;
  }

  std::vector<std::int64_t> begin() {
    catch_stop_signals();
    folder_.emplace(options_.out, manifest_, shard_, options_.resume);
    std::vector<std::int64_t> chunks;
    if (!folder_->finished()) chunks = folder_->missing();
    progress_.emplace(static_cast<double>(chunks.size()));
    progress_->show("sweep");
    return chunks;
  }

  void write(std::int64_t chunk, const std::string& lines) {
    folder_->write(chunk, lines);
    progress_->add(1);
    progress_->show(
        fmt::format("{} of {} points", std::min((chunk + 1) * options_.chunk, manifest_.points), manifest_.points));
    base::stop_if_asked();
  }

  void finish() {
    progress_.reset();
    const fs::path path = folder_->path();
    const bool finished = folder_->finished();
    folder_.reset();  // the merge holds it anew
    if (shard_.count > 1) {
      print(fmt::format("shard {}/{} is complete: {}\n", shard_.index, shard_.count, base::plain_line(path.string())));
      return;
    }
    if (!finished) print_totals(options_, studies::merge_sweep({path}, path), path);
    studies::remove_chunks(path);
    print_more(options_, path);
  }

  const SweepCommand& options_;
  bool prepared_ = false;
  studies::Shard shard_;
  studies::SweepProcesses processes_;
  studies::SweepSpace space_;
  studies::SweepManifest manifest_;
  std::optional<studies::SweepFolder> folder_;
  std::optional<Progress> progress_;
};

/// Throws InputError if an option that would change nothing is given beside `flag`. Not by CLI11's excludes(), which
/// would fill the help with names.
void refuse_beside(const CLI::App& verb, const std::string& flag, const std::vector<std::string>& allowed) {
  for (const CLI::Option* option : verb.get_options()) {
    const std::string name = option->get_name();
    if (option->count() == 0 || name == flag || std::find(allowed.begin(), allowed.end(), name) != allowed.end()) {
      continue;
    }
    throw base::InputError(fmt::format("{}: {} is given too, which changes nothing; allowed: {}", flag, name,
                                       allowed.empty() ? "no other option" : base::join(allowed)));
  }
}

void run_sweep(const SweepCommand& options, const CLI::App& verb, int& status) {
  if (options.fields) refuse_beside(verb, "--fields", {});
  if (!options.merge.empty()) refuse_beside(verb, "--merge", {"--out", "--csv", "--plot", "--threads", "--json"});
  if (options.fields) return print_fields();
  if (!options.merge.empty()) return merge(options);
  SweepRun run(options);
  if (run.prepared()) {
    run.run();
  } else {
    status = kBadInput;  // the first process of the job says why
  }
}

}  // namespace

void add_sweep(CLI::App& program, int& status) {
  const auto options = std::make_shared<SweepCommand>();
  CLI::App* verb = program.add_subcommand("sweep", "Predict every point of a product of axes, sharded and resumable");
  verb->footer(
      "  splitwave sweep -w llama-3-8b:8q1s32k --gpu h200 --axis context=1k..128kx2 --axis sms=100:200:4 --out s\n"
      "  splitwave sweep -w llama-3-8b:1q1s8k --schedule fixed-split --axis schedule_argument=1:64 --out s\n"
      "  splitwave sweep ... --out s --resume               go on after a stop, a kill or a crash\n"
      "  splitwave sweep ... --out s2 --shard 2/8           one of eight parts\n"
      "  splitwave sweep --merge s1 s2 s3 --out all         put shards together\n"
      "  splitwave sweep ... --out s --plot heatmap,curve --csv    and draw it, and its numbers as CSV\n"
      "  splitwave sweep --fields                           what an axis can be");
  add_workload_options(*verb, options->workload);
  verb->get_option("--workload")->required(false);
  add_machine_options(*verb, options->machine);
  add_schedule_option(*verb, options->schedules);
  verb->add_option("--axis", options->axes,
                   "vary a field: a,b,c or first:last[:step] or first..lastxfactor; repeatable")
      ->type_name("FIELD=VALUES")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  add_out_option(*verb, options->out, "the sweep's folder; records.jsonl is there when it is complete");
  verb->add_flag("--resume", options->resume, "go on with the sweep in --out");
  verb->add_option("--shard", options->shard, "compute part i of N only")->type_name("i/N");
  verb->add_option("--merge", options->merge, "put the shards in these folders together")->type_name("DIR...");
  verb->add_option("--chunk", options->chunk, "points that are written, and can be lost, at a time")
      ->type_name("N")
      ->check(integer_between(1, 1 << 20))
      ->capture_default_str();
  add_threads_option(*verb, options->threads);
  verb->add_option(
          "--plot", options->plots,
          "draw the finished sweep in DIR/plots: heatmap (the fastest schedule over the two longest axes), curve "
          "(times along the longest)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("A,B")
      ->check(CLI::IsMember({"heatmap", "curve"}));
  verb->add_flag("--csv", options->csv, "write DIR/records.csv beside records.jsonl");
  verb->add_flag("--fields", options->fields, "list what an axis can be");
  add_json_option(*verb, options->json, "the totals as one JSON object");
  verb->callback([options, verb, &status] { run_sweep(*options, *verb, status); });
}

}  // namespace splitwave::cli
