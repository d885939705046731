// SPDX-License-Identifier: Apache-2.0
// Times plans and kernels on shapes. One record per time; docs/measuring.md says how.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <memory>

#include "base/build_info.h"
#include "base/error.h"
#include "benchmarks/exit_status.h"
#include "gpu/decode.h"
#include "gpu/device.h"
#include "gpu/error.h"
#include "gpu/measure.h"
#include "gpu/overlap.h"
#include "reports/record.h"
#include "simulator/simulate.h"
#include "studies/choose.h"
#include "studies/measure_cuda.h"
#include "studies/records.h"
#include "studies/target.h"
#include "tests/gpu/bench_candidates.h"
#include "tests/gpu/bench_shapes.h"

namespace splitwave {
namespace {

using testing::Candidate;
using workloads::Workload;

struct Options {
  std::string shapes;
  std::int32_t random = 0;
  std::uint32_t seed = 1;
  double most_gb = 20;
  std::string out = "bench.jsonl";
  std::vector<std::string> candidates;
  std::vector<std::string> schedules;
  std::string overlap = "none";
  std::string dtype = "f16";
  std::int32_t page = 0;
  std::string layout = "bshd";
  double limit_seconds = 1e9;
  double least_gb = 0;
  std::int32_t every = 1;
  std::int32_t first = 0;
  bool only_auto = false;
  bool list = false;
  bool record = false;
  gpu::MeasureOptions measure;
};

std::vector<Workload> shapes(const Options& options) {
  const auto most = static_cast<std::int64_t>(options.most_gb * 1e9);
  std::vector<Workload> all = options.random > 0 ? testing::random_shapes(options.random, options.seed, most)
                                                 : testing::read_shapes(options.shapes);
  std::vector<Workload> chosen;
  for (std::size_t i = static_cast<std::size_t>(options.first); i < all.size();
       i += static_cast<std::size_t>(options.every)) {
    Workload w = all[i];
    w.geometry.dtype = options.dtype == "bf16" ? workloads::Dtype::bf16 : workloads::Dtype::f16;
    if (options.layout == "bhsd") w.kv.layout = workloads::KvLayout::bhsd;
    if (options.page > 0) {
      w.kv.layout = workloads::KvLayout::paged;
      w.kv.page_size = options.page;
    }
    const double gb = static_cast<double>(workloads::kv_bytes(w)) * 1e-9;
    if (gb <= options.most_gb && gb >= options.least_gb) chosen.push_back(w);
  }
  return chosen;
}

gpu::LaunchOptions launch_options(const Options& options, bool overlaps = true) {
  gpu::LaunchOptions launch;
  launch.record = options.record;
  if (!overlaps) return launch;
  if (options.overlap == "wait") launch.overlap = gpu::Overlap::wait_first;
  if (options.overlap == "prefetch") launch.overlap = gpu::Overlap::prefetch;
  return launch;
}

/// Appends records to the file, and prints a line for each shape.
class Report {
 public:
  explicit Report(const std::string& path) : file_(std::fopen(path.c_str(), "a"), std::fclose) {
    if (file_ == nullptr) throw base::InputError(path + ": cannot be written");
  }
  void add(reports::Record record, const std::string& executor) {
    const gpu::Device device = gpu::current_device();
    const std::string machine = studies::machine_of_device(device.name);
    record.executor = executor;
    record.machine = machine.empty() ? device.name : machine;
    record.device = device.name;
    record.driver = device.driver;
    record.commit = base::commit();
    record.version = base::version();
    fmt::print(file_.get(), "{}\n", reports::to_json(record));
    std::fflush(file_.get());
  }

 private:
  std::unique_ptr<FILE, int (*)(FILE*)> file_;
};

/// A workload on the device and the floor of its times.
struct Shape {
  const Workload& workload;
  gpu::DeviceTensors tensors;
  gpu::Timing floor;
};

/// Times a plan on one kernel; a record without a time if the kernels cannot run it, or if there is no such plan.
reports::Record time_plan(const Shape& shape, const std::string& schedule, const gpu::KernelConfig& config,
                          const gpu::LaunchOptions& launch, const Options& options,
                          const std::function<schedules::Plan()>& make_plan) {
  const Workload& w = shape.workload;
  reports::Record record;
  record.workload = w.name;
  record.schedule = schedule;
  record.kernel = gpu::to_string(config);
  try {
    const schedules::Plan plan = make_plan();
    record = studies::plan_record(w, plan, gpu::grid_of(w, config), "", false);
    record.schedule = schedule;
    record.kernel = gpu::to_string(config);
    gpu::Decoder decoder(gpu::capacity_of(w, plan, config));
    const gpu::HostWork host = decoder.set_plan(w, shape.tensors.addressing(), plan, config, launch);
    decoder.synchronize();
    const gpu::Timing t = gpu::time_plan(w, shape.tensors, decoder, false, options.measure);
    record.seconds = t.median;
    record.seconds_p20 = t.p20;
    record.seconds_p80 = t.p80;
    record.samples = t.samples;
    record.bytes_per_second = static_cast<double>(*record.bytes) / t.median;
    record.read_seconds = shape.floor.median;
    record.plan_seconds = host.encode + host.upload;
  } catch (const base::InputError& error) {
    record.failure = error.what();
  }
  return record;
}

reports::Record time_candidate(const Shape& shape, const Candidate& candidate, const Options& options) {
  const std::string tile = candidate.tile_kv == testing::kTile ? "" : fmt::format("/{}", candidate.tile_kv);
  return time_plan(shape, candidate.schedule + tile, candidate.config, launch_options(options), options,
                   [&] { return testing::plan_of(shape.workload, candidate); });
}

std::vector<Candidate> candidates_of(const Workload& w, const Options& options) {
  std::vector<Candidate> all;
  for (const std::string& text : options.candidates) all.push_back(testing::parse_candidate(text));
  for (const std::string& name : options.schedules) all.push_back(testing::plain_candidate(name, w));
  if (all.empty() && !options.only_auto) all = testing::sweep_candidates(w);
  return all;
}

void time_shape(const Workload& w, const studies::Target& target, const Options& options, Report& report) {
  gpu::DeviceTensors tensors = gpu::DeviceTensors::generate(w, gpu::copies_for(w, options.measure));
  const gpu::Timing floor = gpu::time_plain_read(w, tensors, options.measure);
  const Shape shape{w, std::move(tensors), floor};
  // Always timed with the others: what the model chooses.
  const studies::Prediction chosen = studies::choose(w, target);
  const gpu::KernelConfig config = gpu::parse_kernel_config(chosen.kernel.config);
  const bool overlaps = gpu::overlap_pays(w, chosen.plan, gpu::residency(w, config));
  gpu::LaunchOptions launch = launch_options(options, overlaps);
  launch.keep_kv_in_l2 = simulator::keeps_kv_in_l2(w, chosen.plan, target.machine, chosen.kernel);
  // The plan itself: a name does not say its tile.
  reports::Record own = time_plan(shape, chosen.plan.schedule, config, launch, options, [&] { return chosen.plan; });
  double best = own.seconds.value_or(0);
  const std::string name = testing::to_string(Candidate{chosen.plan.schedule, config});
  std::string best_name = name;
  for (const Candidate& candidate : candidates_of(w, options)) {
    reports::Record record = time_candidate(shape, candidate, options);
    if (record.seconds && *record.seconds < best) {
      best = *record.seconds;
      best_name = testing::to_string(candidate);
    }
    report.add(std::move(record), "cuda");
  }
  const double seconds = own.seconds.value_or(0);
  reports::Record predicted;
  predicted.workload = w.name;
  predicted.schedule = own.schedule = studies::kAuto;
  predicted.chosen = own.chosen = chosen.plan.schedule;
  predicted.kernel = own.kernel;
  predicted.seconds = chosen.timeline.seconds;
  report.add(std::move(own), "cuda");
  report.add(std::move(predicted), std::string(reports::kSimulator));
  fmt::print("{:<28} read {:9.2f} best {:9.2f} x {:.3f} {:<34} auto {:9.2f} predicted {:9.2f} behind {:.3f} {}\n",
             w.name, floor.median * 1e6, best * 1e6, best / floor.median, best_name, seconds * 1e6,
             chosen.timeline.seconds * 1e6, seconds / best, name);
  std::fflush(stdout);
}

int bench(const Options& options) {
  if (options.list) {
    fmt::print("{}", testing::shapes_csv(shapes(options)));
    return 0;
  }
  const auto start = std::chrono::steady_clock::now();
  Report report(options.out);
  const studies::Target target = studies::device_target();
  const gpu::Device device = gpu::current_device();
  fmt::print("# {} driver {} CUDA {} empty kernel {:.2f} us\n", device.name, device.driver, device.cuda,
             gpu::time_empty_kernel(options.measure).median * 1e6);
  for (const Workload& w : shapes(options)) {
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
    if (spent.count() > options.limit_seconds) {
      fmt::print("# time limit before {}\n", w.name);
      break;
    }
    time_shape(w, target, options, report);
  }
  return 0;
}

}  // namespace
}  // namespace splitwave

int main(int argc, char** argv) {
  splitwave::Options options;
  CLI::App app{"Times plans and kernels on a CUDA device"};
  app.add_option("--shapes", options.shapes, "CSV file of shapes");
  app.add_option("--random", options.random, "this many random shapes instead")->check(CLI::Range(0, 1'000'000));
  app.add_option("--seed", options.seed, "of the random shapes");
  app.add_option("--most-gb", options.most_gb, "skip shapes with more K and V")->check(CLI::Range(1e-6, 1e6));
  app.add_option("--least-gb", options.least_gb, "skip shapes with less K and V")->check(CLI::Range(0.0, 1e6));
  app.add_option("--out", options.out, "JSON Lines file of records, appended to");
  app.add_option("--candidate", options.candidates, "SCHEDULE@VARIANT or SCHEDULE@VARIANT/TILE; none: a sweep");
  app.add_option("--schedule", options.schedules, "schedules, each on the plainest kernel with its own merge")
      ->delimiter(',');
  app.add_flag("--list", options.list, "print the shapes as a CSV table and time nothing");
  app.add_flag("--auto", options.only_auto, "time only the model's choice");
  app.add_option("--overlap", options.overlap,
                 "none, wait or prefetch; the model's choice overlaps only where that pays")
      ->check(CLI::IsMember({"none", "wait", "prefetch"}));
  app.add_flag("--record", options.record, "let the timed launches record (run --trace): what that costs");
  app.add_option("--dtype", options.dtype, "f16 or bf16")->check(CLI::IsMember({"f16", "bf16"}));
  app.add_option("--page", options.page, "page size; 0: contiguous")->check(CLI::Range(0, 1 << 20));
  app.add_option("--layout", options.layout, "bshd or bhsd")->check(CLI::IsMember({"bshd", "bhsd"}));
  app.add_option("--limit", options.limit_seconds, "begin no shape after this many seconds");
  app.add_option("--every", options.every, "only every n-th shape")->check(CLI::Range(1, 1'000'000));
  app.add_option("--first", options.first, "begin with this shape")->check(CLI::Range(0, 1'000'000));
  app.add_option("--replays", options.measure.replays, "samples per time")->check(CLI::Range(1, 1'000'000));
  app.add_option("--replay-seconds", options.measure.seconds_per_replay, "least length of a sample")
      ->check(CLI::Range(0.0, 3600.0));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;  // 0: it asked for help
  }
  return splitwave::benchmarks::exit_status("bench_decode", [&] { return splitwave::bench(options); });
}
