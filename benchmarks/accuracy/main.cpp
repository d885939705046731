// SPDX-License-Identifier: Apache-2.0
// Predicted against measured times of other people's kernels.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/output_files.h"
#include "base/text.h"
#include "benchmarks/accuracy/ablation.h"
#include "benchmarks/accuracy/draw.h"
#include "benchmarks/accuracy/own.h"
#include "benchmarks/accuracy/points.h"
#include "benchmarks/accuracy/tables.h"
#include "benchmarks/exit_status.h"
#include "workloads/load.h"

namespace {

using namespace splitwave;

constexpr const char* kUsage = R"(usage:
  accuracy --write ROOT
      docs/accuracy.md, docs/accuracy.csv and studies/error_bands.json from the times in ROOT/benchmarks/accuracy
  accuracy --check ROOT
      ends with status 1 if --write would change one of these files
  accuracy SHAPES.csv TIMES.csv [--machine NAME] [--no-kernel-constants] [--rows] [--skip SHAPE,...]
      a table of the times of one's own; --rows: every prediction; --skip: shapes that do not count
  accuracy --draw COUNT --seed N [--ragged|--latent]
      random workloads to judge on, as JSON Lines for compare -w
  accuracy --own-times RECORDS.jsonl
      the times of the project's own kernels in records of compare --executor cuda, as --write reads them
  accuracy --judge-own TIMES.csv --workloads FILE.jsonl [--machine NAME|FILE] [--kernel FILE] [--rows]
      tables of such times on these workloads, for a machine and kernels of one's own (scripts/judge_gpu), by SMs if they
      are of parts of them; --rows: every prediction
)";

/// Times of the project's own kernels and how their shapes were drawn.
struct OwnTimes {
  const char* file;
  std::int32_t shapes;
  std::uint32_t seed;
  accuracy::Drawn kind;
};
constexpr std::array kOnH100 = {OwnTimes{"h100_own_uniform.csv", 200, 390106686, accuracy::Drawn::uniform},
                                OwnTimes{"h100_own_ragged.csv", 200, 390106686, accuracy::Drawn::ragged},
                                OwnTimes{"h100_own_latent.csv", 66, 390106686, accuracy::Drawn::latent}};
constexpr std::array kOnH200 = {OwnTimes{"h200_own_uniform.csv", 200, 1340540639, accuracy::Drawn::uniform},
                                OwnTimes{"h200_own_ragged.csv", 200, 1340540639, accuracy::Drawn::ragged},
                                OwnTimes{"h200_own_latent.csv", 66, 1340540639, accuracy::Drawn::latent}};
constexpr std::array kOnSomeSms = {OwnTimes{"h100_sms_uniform.csv", 12, 390106687, accuracy::Drawn::uniform},
                                   OwnTimes{"h100_sms_ragged.csv", 12, 390106687, accuracy::Drawn::ragged}};

struct Arguments {
  std::string root;
  bool check = false;
  std::vector<std::string> files;
  std::string machine = "h200";
  bool rows = false;
  bool no_kernel_constants = false;
  std::int32_t draw = 0;
  std::uint32_t seed = 1;
  accuracy::Drawn kind = accuracy::Drawn::uniform;
  std::string own_times;
  std::string judge_own;
  std::string workloads;
  std::string kernel{simulator::kOwnKernel};
  std::vector<std::string> skipped;
};

/// False if the arguments are not those of the usage. Throws base::InputError for numbers that are none.
bool parse(int argc, char** argv, Arguments& arguments) {
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const bool value = i + 1 < argc;
    if (argument == "--ragged") {
      arguments.kind = accuracy::Drawn::ragged;
    } else if (argument == "--latent") {
      arguments.kind = accuracy::Drawn::latent;
    } else if (argument == "--draw" && value) {
      arguments.draw = static_cast<std::int32_t>(accuracy::integer_in(argument, argv[++i], 1, 1'000'000));
    } else if (argument == "--seed" && value) {
      arguments.seed = static_cast<std::uint32_t>(accuracy::integer_in(argument, argv[++i], 0, 0xffffffff));
    } else if (argument == "--own-times" && value) {
      arguments.own_times = argv[++i];
    } else if (argument == "--judge-own" && value) {
      arguments.judge_own = argv[++i];
    } else if (argument == "--workloads" && value) {
      arguments.workloads = argv[++i];
    } else if (argument == "--kernel" && value) {
      arguments.kernel = argv[++i];
    } else if (argument == "--rows") {
      arguments.rows = true;
    } else if (argument == "--no-kernel-constants") {
      arguments.no_kernel_constants = true;
    } else if ((argument == "--write" || argument == "--check") && value) {
      arguments.check = argument == "--check";
      arguments.root = argv[++i];
    } else if (argument == "--machine" && value) {
      arguments.machine = argv[++i];
    } else if (argument == "--skip" && value) {
      arguments.skipped = accuracy::fields_of(argv[++i], ',');
    } else if (argument.starts_with("--")) {
      return false;
    } else {
      arguments.files.push_back(argument);
    }
  }
  if (arguments.judge_own.empty() != arguments.workloads.empty()) return false;
  if (arguments.draw > 0 || !arguments.own_times.empty() || !arguments.judge_own.empty()) {
    return arguments.files.empty();
  }
  return arguments.root.empty() ? arguments.files.size() == 2 : arguments.files.empty();
}

/// A machine that runs all plans on the kernel.
studies::Target target_with(const std::string& machine, std::string kernel) {
  studies::Overrides overrides;
  overrides.kernel = std::move(kernel);
  return studies::target(machine, overrides);
}

void print_own_tables(const Arguments& arguments) {
  const std::vector<accuracy::Point> points =
      accuracy::read_own_times(workloads::load(arguments.workloads), arguments.judge_own);
  const studies::Target target = target_with(arguments.machine, arguments.kernel);
  const std::vector<accuracy::JudgedPoint> judged = accuracy::judge_own(points, target);
  if (arguments.rows) {
    fmt::print("{}", accuracy::all_predictions({}, std::vector{accuracy::OwnJudged{target.machine.name, judged}}));
    return;
  }
  const bool parts = std::any_of(points.begin(), points.end(), [](const accuracy::Point& one) { return one.sms > 0; });
  fmt::print("{}", parts ? accuracy::table_by_sms(judged) : accuracy::own_tables(judged));
}

accuracy::Judged judge(const std::vector<accuracy::Point>& points, const std::string& machine_name) {
  const studies::Target target = studies::target(machine_name);
  return {target.name, accuracy::judge_all(points, target, accuracy::Constants::of_kernel),
          accuracy::judge_all(points, target, accuracy::Constants::of_machine)};
}

void print_table(const Arguments& arguments) {
  std::vector<accuracy::Point> points = accuracy::read_peers(arguments.files[0], arguments.files[1]);
  const auto& skipped = arguments.skipped;
  std::erase_if(points, [&](const accuracy::Point& point) {
    return std::find(skipped.begin(), skipped.end(), point.workload.name) != skipped.end();
  });
  accuracy::Judged judged = judge(points, arguments.machine);
  if (arguments.rows) {
    fmt::print("{}", accuracy::all_predictions({&judged, 1}, {}));
    return;
  }
  fmt::print("{}", accuracy::kernel_table(arguments.no_kernel_constants ? judged.without : judged.own));
}

/// All as one, of `xqa` the two rules as they are launched: what advise says of the libraries' own kernels.
accuracy::Judged libraries(accuracy::Judged seen, const accuracy::Judged& xqa, const accuracy::Judged& latent) {
  const auto is_rule = [](const accuracy::JudgedPoint& one) {
    return one.peer->kernel == "xqa" || one.peer->kernel == "xqa-trt";
  };
  std::copy_if(xqa.own.begin(), xqa.own.end(), std::back_inserter(seen.own), is_rule);
  std::copy_if(xqa.without.begin(), xqa.without.end(), std::back_inserter(seen.without), is_rule);
  seen.own.insert(seen.own.end(), latent.own.begin(), latent.own.end());
  seen.without.insert(seen.without.end(), latent.without.begin(), latent.without.end());
  return seen;
}

std::vector<accuracy::Point> read_all(std::span<const OwnTimes> sets, const std::string& folder) {
  std::vector<accuracy::Point> all;
  for (const OwnTimes& one : sets) {
    std::vector<accuracy::Point> points =
        accuracy::read_own_times(accuracy::draw_workloads(one.shapes, one.seed, one.kind), folder + one.file);
    std::move(points.begin(), points.end(), std::back_inserter(all));
  }
  return all;
}

/// The times of latent attention, without the shapes that prologues are taken from (docs/simulator.md).
std::vector<accuracy::Point> read_latent(const std::string& folder) {
  std::vector<accuracy::Point> points = accuracy::read_peers(folder + "h200_mla_shapes.csv", folder + "h200_mla.csv");
  std::erase_if(points, [](const accuracy::Point& point) {
    const std::string& name = point.workload.name;
    return name == "mla-h16-b1-512" || name == "mla-h16-b16-512" || name == "mla-h64-b1-512";
  });
  return points;
}

/// The files that --write makes, by path from the root.
std::vector<std::pair<std::string, std::string>> documents(const std::string& root) {
  const std::string data = root + "/benchmarks/accuracy/";
  const std::vector<accuracy::Point> seen =
      accuracy::read_peers(root + "/tests/gpu/public_shapes.csv", data + "h200_peers.csv");
  const std::vector<accuracy::Point> shapes =
      accuracy::read_peers(data + "h200_unseen_shapes.csv", data + "h200_unseen.csv");
  const std::vector<accuracy::Point> xqa =
      accuracy::read_peers(root + "/tests/gpu/public_shapes.csv", data + "h200_xqa.csv");
  const std::vector<accuracy::Point> h200 = accuracy::read_engines(data + "engines.csv", "H200-SXM");
  const std::vector<accuracy::Point> a100 = accuracy::read_engines(data + "engines.csv", "A100-SXM4-80GB");
  const std::vector<accuracy::Point> latent = read_latent(data);
  const std::vector<accuracy::Judged> judged = {judge(seen, "h200"),   judge(xqa, "h200"),  judge(latent, "h200"),
                                                judge(shapes, "h200"), judge(h200, "h200"), judge(a100, "a100")};
  const std::vector<accuracy::Point> on_h200 = read_all(kOnH200, data);
  const std::vector<accuracy::Point> parts = read_all(kOnSomeSms, data);
  const std::vector<accuracy::Point> on_h100 = read_all(kOnH100, data);
  const std::string kernel(simulator::kOwnKernel);
  const studies::Target h100_target = target_with("h100-sxm-calibrated", kernel);
  const studies::Target h200_target = target_with("h200-calibrated", kernel);
  const std::vector<accuracy::OwnJudged> own_judged = {
      {h100_target.machine.name, accuracy::judge_own(on_h100, h100_target)},
      {h200_target.machine.name, accuracy::judge_own(on_h200, h200_target)}};
  const std::string own_tables =
      "### An H100: the thirty-eighth judgement's times\n\n" + accuracy::own_tables(own_judged[0].points) +
      "\nWith one mechanism of the model taken out at a time:\n\n" + accuracy::ablation_table(on_h100, h100_target) +
      "\n### An H200: the sixty-third's\n\n" + accuracy::own_tables(own_judged[1].points);
  const std::vector<accuracy::JudgedPoint> parts_judged = accuracy::judge_own(parts, h100_target);
  std::vector<accuracy::OwnJudged> all_own = own_judged;
  all_own.push_back({h100_target.machine.name, parts_judged});
  return {{"docs/accuracy.md", accuracy::document(own_tables, accuracy::table_by_sms(parts_judged), judged[0],
                                                  accuracy::peers_ablation_table(seen, studies::target("h200")),
                                                  judged[1], judged[2], judged[3], std::span(judged).subspan(4))},
          {"docs/accuracy.csv", accuracy::all_predictions(judged, all_own)},
          // Schedules as their own libraries run them on the H200, and as an engine runs them on the A100.
          {"studies/error_bands.json",
           accuracy::error_bands(std::vector{libraries(judged[0], judged[1], judged[2]), judged.back()}, own_judged)}};
}

/// Writes the files, or returns 1 and names those that are not as they would be written.
int write_all(const Arguments& arguments) {
  int status = 0;
  for (const auto& [path, text] : documents(arguments.root)) {
    const std::string file = arguments.root + "/" + path;
    if (!arguments.check) {
      base::write_file(file, text);
    } else if (base::read_text_file(file) != text) {
      fmt::print(stderr, "accuracy: {} is not what the simulator predicts now; run scripts/accuracy\n", path);
      status = 1;
    }
  }
  return status;
}

int run(const Arguments& arguments) {
  if (!arguments.root.empty()) return write_all(arguments);
  if (!arguments.judge_own.empty()) {
    print_own_tables(arguments);
  } else if (arguments.draw > 0) {
    for (const auto& workload : accuracy::draw_workloads(arguments.draw, arguments.seed, arguments.kind)) {
      fmt::print("{}\n", workloads::to_json(workload));
    }
  } else if (!arguments.own_times.empty()) {
    fmt::print("{}", accuracy::own_times(arguments.own_times));
  } else {
    print_table(arguments);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return benchmarks::exit_status("accuracy", [&] {
    Arguments arguments;
    if (!parse(argc, argv, arguments)) {
      fmt::print(stderr, "{}", kUsage);
      return 2;
    }
    return run(arguments);
  });
}
