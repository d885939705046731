// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <span>

#include "base/output_files.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/workload_sources.h"
#include "reports/table.h"
#include "studies/verify_case.h"
#include "workloads/limits.h"
#include "workloads/load.h"

namespace splitwave::cli {
namespace {

struct ShowOptions {
  WorkloadOptions workload;
  bool json = false;
};

struct ValidateOptions {
  std::vector<std::string> arguments;
  bool json = false;
};

std::string lengths(const std::vector<workloads::Request>& requests, std::int32_t workloads::Request::*member) {
  if (requests.empty()) {
    return "-";
  }
  std::vector<std::int32_t> values;
  values.reserve(requests.size());
  for (const workloads::Request& request : requests) {
    values.push_back(request.*member);
  }
  std::sort(values.begin(), values.end());
  return values.front() == values.back()
             ? fmt::format("{}", values.front())
             : fmt::format("{} / {} / {}", values.front(), values[values.size() / 2], values.back());
}

std::vector<std::string> table_row(const workloads::Workload& workload) {
  const workloads::Geometry& geometry = workload.geometry;
  return {workload.name,
          to_string(geometry.kind),
          fmt::format("{}/{}", geometry.query_heads, geometry.kv_heads),
          geometry.head_dim == geometry.value_dim ? fmt::format("{}", geometry.head_dim)
                                                  : fmt::format("{}/{}", geometry.head_dim, geometry.value_dim),
          to_string(geometry.dtype),
          geometry.window ? fmt::format("{}", *geometry.window) : "-",
          to_string(workload.kv.layout),
          fmt::format("{}", workload.requests.size()),
          lengths(workload.requests, &workloads::Request::query_len),
          lengths(workload.requests, &workloads::Request::context_len),
          fmt::format("{:.1f} MB", static_cast<double>(workloads::kv_bytes(workload)) / 1e6)};
}

void show(const ShowOptions& options) {
  using reports::Align;
  reports::Table table{{{"workload"},
                        {"kind"},
                        {"heads q/kv", Align::right},
                        {"head dim", Align::right},
                        {"dtype"},
                        {"window", Align::right},
                        {"layout"},
                        {"requests", Align::right},
                        {"query tokens", Align::right},
                        {"context min / median / max", Align::right},
                        {"K and V", Align::right}},
                       {}};
  for (const workloads::Workload& workload : load_workloads(options.workload)) {
    if (options.json) {
      print(to_json(workload) + '\n');
    } else {
      table.rows.push_back(table_row(workload));
    }
  }
  if (!options.json) {
    print(reports::to_text(table));
  }
}

void validate_all(const ValidateOptions& options) {
  for (const std::string& argument : options.arguments) {
    const std::vector<workloads::Workload> loaded = workloads::load(argument);
    if (options.json) {
      for (const workloads::Workload& workload : loaded) {
        print(to_json(workload) + '\n');
      }
    } else {
      print(fmt::format("{}: {} workload{}, valid\n", base::plain_line(argument), loaded.size(),
                        loaded.size() == 1 ? "" : "s"));
    }
  }
}

void write_workloads(const std::vector<workloads::Workload>& made, const std::string& file) {
  std::string text;
  for (const workloads::Workload& workload : made) {
    text += to_json(workload) + '\n';
  }
  if (file.empty()) {
    print(text);
  } else {
    base::write_new_file(file, text);
  }
}

/// --output, and --json, which every verb has: these write the workload format, which is JSON Lines, in any case.
void add_output_options(CLI::App& app, std::string& file, bool& json) {
  add_new_file_option(app, "--output", file, "new file to write, whole or not at all; standard output if not given");
  add_json_option(app, json, "one workload per line in the workload format, which is what is written in any case");
}

void add_show(CLI::App& parent) {
  const auto options = std::make_shared<ShowOptions>();
  CLI::App* verb = parent.add_subcommand("show", "Print workloads, generators and sweeps expanded");
  verb->footer(
      "  splitwave workload show -w real\n"
      "  splitwave workload show -w llama-3-8b:8q1s32k --json");
  add_workload_options(*verb, options->workload);
  add_json_option(*verb, options->json, "one workload per line in the workload format");
  verb->callback([options] { show(*options); });
}

void add_validate(CLI::App& parent) {
  const auto options = std::make_shared<ValidateOptions>();
  CLI::App* verb = parent.add_subcommand("validate", "Check workload files; the first problem is named");
  verb->footer("  splitwave workload validate batch.json suite.json");
  verb->add_option("workload", options->arguments, "files, suites or one-line workloads")
      ->type_name("FILE|NAME|SPEC")
      ->required();
  add_json_option(*verb, options->json, "print the valid workloads, one per line");
  verb->callback([options] { validate_all(*options); });
}

void add_import(CLI::App& parent) {
  const auto options = std::make_shared<ImportOptions>();
  CLI::App* verb = parent.add_subcommand("import", "Make workloads from a model's config.json or a request trace");
  verb->footer(
      "  splitwave workload import config.json --batch 8q1s32k\n"
      "  splitwave workload import azure_conv.csv --model llama-3-8b --steps 8\n"
      "  splitwave workload import mooncake.jsonl --model llama-3-8b,dtype=bf16 --max-running 32 --output steps.jsonl");
  verb->add_option("file", options->file,
                   "Hugging Face config.json, Azure trace (CSV) or Mooncake trace (JSON Lines), told apart by content")
      ->type_name("FILE")
      ->required();
  verb->add_option("--batch", options->batch, "config.json: the batch, in vLLM's batch spec")->type_name("SPEC");
  verb->add_option("--tensor-parallel", options->tensor_parallel, "config.json: GPUs that share the heads")
      ->type_name("N")
      ->check(integer_between(1, 4096))
      ->capture_default_str();
  verb->add_option("--model", options->model, "trace: model or geometry, as in a one-line workload")
      ->type_name("MODEL[@tp=N][,...]");
  verb->add_option("--steps", options->steps, "trace: decode steps to draw")
      ->type_name("N")
      ->check(integer_between(1, workloads::kMaxWorkloads))
      ->capture_default_str();
  verb->add_option("--max-running", options->replay.max_running, "trace: most requests in one batch")
      ->type_name("N")
      ->check(integer_between(1, 1024))
      ->capture_default_str();
  verb->add_option("--step-seconds", options->replay.step_seconds, "trace: time of one decode step")
      ->type_name("SECONDS")
      ->check(positive_up_to(3600))
      ->capture_default_str();
  verb->add_option("--seed", options->seed, "seed of the drawn steps and of the tensors")
      ->type_name("N")
      ->check(seed_number())
      ->capture_default_str();
  add_output_options(*verb, options->output, options->json);
  verb->callback([options, verb] {
    const auto note_given = [&](std::span<const std::string_view> names) {
      for (const std::string_view name : names) {
        if (verb->count(std::string(name)) > 0) options->given.emplace_back(name);
      }
    };
    note_given(kConfigOptions);
    note_given(kTraceOptions);
    write_workloads(import_workloads(*options), options->output);
  });
}

void add_generate(CLI::App& parent) {
  const auto options = std::make_shared<GenerateOptions>();
  CLI::App* verb = parent.add_subcommand("generate", "Make a batch from a few numbers");
  verb->footer(
      "  splitwave workload generate uniform --model llama-3-8b --batch 8 --context-len 4096\n"
      "  splitwave workload generate ragged --model llama-3-8b --batch 8 --max-context-len 32768 --ratio 0.3\n"
      "  splitwave workload generate published --model llama-3-8b --batch 16 --lengths azure-2023-conv --seed 7");
  verb->add_option("kind", options->kind, "uniform, ragged, zipf, one_long or published (docs/workloads.md)")
      ->type_name("KIND")
      ->required();
  verb->add_option("--model", options->model, "model of the catalogue")->type_name("NAME")->required();
  verb->add_option("--tensor-parallel", options->tensor_parallel, "GPUs that share the heads")
      ->type_name("N")
      ->check(integer_between(1, 4096));
  verb->add_option("--name", options->name, "name of the workload; made from model and kind if not given")
      ->type_name("NAME");
  const auto number = [&](const char* flag, const char* key, const char* help) {
    // JSON has no NaN: it would be written as null, which stands for a number that is not given.
    verb->add_option(flag, options->numbers[key], help)->type_name("N")->check(finite_number());
  };
  number("--batch", "batch", "requests");
  number("--query-len", "query_len", "query tokens of each request");
  number("--context-len", "context_len", "uniform: context of each request");
  number("--max-context-len", "max_context_len", "ragged, published: longest context");
  number("--ratio", "ratio", "ragged: average over longest context");
  number("--mean-context-len", "mean_context_len", "zipf: average context");
  number("--exponent", "exponent", "zipf: exponent");
  number("--long-context-len", "long_context_len", "one_long: the long context");
  number("--short-context-len", "short_context_len", "one_long: the others");
  verb->add_option("--lengths", options->lengths, "published: name of a length distribution")->type_name("NAME");
  verb->add_option("--seed", options->seed, "seed of the lengths and of the tensors")
      ->type_name("N")
      ->check(seed_number());
  add_output_options(*verb, options->output, options->json);
  verb->callback([options] { write_workloads(generate_workloads(*options), options->output); });
}

struct TensorOptions {
  WorkloadOptions workload;
  std::string out;
  std::string format = "npy";
  bool json = false;
};

void write_tensors(const TensorOptions& options) {
  const std::vector<workloads::Workload> loaded = load_workloads(options.workload);
  const auto format = options.format == "npy" ? studies::TensorFormat::npy : studies::TensorFormat::safetensors;
  for (std::size_t i = 0; i < loaded.size(); ++i) {
    // Names may hold what paths may not.
    const std::string folder = loaded.size() == 1 ? options.out : fmt::format("{}/{:03}", options.out, i);
    studies::export_tensors(loaded[i], folder, format);
    print(options.json ? to_json(loaded[i]) + '\n' : fmt::format("{}: {}\n", base::plain_line(folder), loaded[i].name));
  }
}

void add_tensors(CLI::App& parent) {
  const auto options = std::make_shared<TensorOptions>();
  CLI::App* verb =
      parent.add_subcommand("tensors", "Write a workload's tensors, and the exact output, for other programs");
  verb->footer(
      "  splitwave workload tensors -w llama-3-8b:2q1s1k --out case\n"
      "  splitwave workload tensors -w llama-3-8b:2q1s1k --out case --format safetensors");
  add_workload_options(*verb, options->workload);
  verb->add_option("--out", options->out, "new folder; one numbered folder in it for each of several workloads")
      ->type_name("DIR")
      ->required();
  verb->add_option("--format", options->format, "npy, or safetensors: all arrays in one file")
      ->type_name("npy|safetensors")
      ->check(CLI::Validator(
          [](std::string& text) -> std::string {
            return text == "npy" || text == "safetensors"
                       ? ""
                       : base::printable(text) + " is not allowed; allowed: npy, safetensors";
          },
          ""))
      ->capture_default_str();
  add_json_option(*verb, options->json, "the workloads, one per line in the workload format");
  verb->callback([options] { write_tensors(*options); });
}

}  // namespace

void add_workload(CLI::App& program, int&) {
  CLI::App* verb =
      program.add_subcommand("workload", "Show, validate, import or generate workloads, or write their tensors");
  verb->footer(
      "  splitwave workload show -w real\n"
      "  splitwave workload generate uniform --model llama-3-8b --batch 8 --context-len 4096");
  verb->require_subcommand(1);
  add_show(*verb);
  add_validate(*verb);
  add_import(*verb);
  add_generate(*verb);
  add_tensors(*verb);
}

}  // namespace splitwave::cli
