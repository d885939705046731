// SPDX-License-Identifier: Apache-2.0
// Times plans and kernels on shapes. One CSV line per time; docs/measuring.md says how.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <exception>

#include "gpu/choose.h"
#include "gpu/decode.h"
#include "gpu/device.h"
#include "gpu/error.h"
#include "gpu/measure.h"
#include "tests/gpu/bench_candidates.h"
#include "tests/gpu/bench_shapes.h"
#include "workloads/error.h"

namespace splitwave {
namespace {

using testing::Candidate;
using workloads::Workload;

struct Options {
  std::string shapes;
  std::int32_t random = 0;
  std::uint32_t seed = 1;
  double most_gb = 20;
  std::string out = "bench.csv";
  std::vector<std::string> candidates;
  std::string overlap = "none";
  std::string dtype = "f16";
  std::int32_t page = 0;
  std::string layout = "bshd";
  double limit_seconds = 1e9;
  double least_gb = 0;
  std::int32_t every = 1;
  std::int32_t first = 0;
  bool only_auto = false;
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

gpu::LaunchOptions launch_options(const Options& options) {
  gpu::LaunchOptions launch;
  if (options.overlap == "wait") launch.overlap = gpu::Overlap::wait_first;
  if (options.overlap == "prefetch") launch.overlap = gpu::Overlap::prefetch;
  return launch;
}

void time_shape(const Workload& w, const Options& options, FILE* out) {
  const gpu::DeviceTensors tensors = gpu::DeviceTensors::generate(w, gpu::copies_for(w, options.measure));
  const gpu::Timing floor = gpu::time_plain_read(w, tensors, options.measure);
  const auto bytes = static_cast<long long>(workloads::kv_bytes(w));
  fmt::print(out, "{},read,{},{:.3f},{:.3f},{:.3f},,,\n", w.name, bytes, floor.median * 1e6, floor.p20 * 1e6,
             floor.p80 * 1e6);
  std::vector<Candidate> candidates;
  if (options.candidates.empty() && !options.only_auto) candidates = testing::sweep_candidates(w);
  for (const std::string& text : options.candidates) candidates.push_back(testing::parse_candidate(text));
  // Always timed with the others: what the model chooses.
  const gpu::Choice chosen = gpu::choose(w);
  const Candidate automatic{chosen.schedule, chosen.variant, schedules::MergeKind::last_arriver};
  if (std::find(candidates.begin(), candidates.end(), automatic) == candidates.end()) candidates.push_back(automatic);
  double best = 0;
  double auto_seconds = 0;
  std::string best_name;
  for (const Candidate& candidate : candidates) {
    try {
      const schedules::Plan plan = testing::plan_of(w, candidate);
      gpu::Decoder decoder(gpu::capacity_of(w, plan, candidate.variant));
      const gpu::HostTimes host =
          decoder.set_plan(w, tensors.addressing(), plan, candidate.variant, launch_options(options));
      decoder.synchronize();
      const gpu::Timing t = gpu::time_plan(w, tensors, decoder, false, options.measure);
      fmt::print(out, "{},{},{},{:.3f},{:.3f},{:.3f},{},{},{:.1f}\n", w.name, testing::to_string(candidate), bytes,
                 t.median * 1e6, t.p20 * 1e6, t.p80 * 1e6, decoder.ctas(), decoder.uniform() ? "U" : "T",
                 (host.encode + host.upload) * 1e6);
      if (candidate == automatic) auto_seconds = t.median;
      if (best == 0 || t.median < best) {
        best = t.median;
        best_name = testing::to_string(candidate);
      }
    } catch (const workloads::InputError& error) {
      fmt::print(out, "{},{},{},,,,,{},\n", w.name, testing::to_string(candidate), bytes, error.what());
    }
  }
  std::fflush(out);
  fmt::print(out, "{},auto,{},{:.3f},{:.3f},,,,{}\n", w.name, bytes, auto_seconds * 1e6, chosen.predicted_seconds * 1e6,
             testing::to_string(automatic));
  std::fflush(out);
  fmt::print("{:<28} read {:9.2f} best {:9.2f} x {:.3f} {:<34} auto {:9.2f} predicted {:9.2f} behind {:.3f} {}\n",
             w.name, floor.median * 1e6, best * 1e6, best / floor.median, best_name, auto_seconds * 1e6,
             chosen.predicted_seconds * 1e6, auto_seconds / best, testing::to_string(automatic));
  std::fflush(stdout);
}

int bench(const Options& options) {
  const auto start = std::chrono::steady_clock::now();
  FILE* out = std::fopen(options.out.c_str(), "a");
  if (out == nullptr) throw workloads::InputError(options.out + ": cannot be written");
  const gpu::Device device = gpu::current_device();
  fmt::print("# {} driver CUDA {} empty kernel {:.2f} us\n", device.name, device.driver,
             gpu::time_empty_kernel(options.measure).median * 1e6);
  for (const Workload& w : shapes(options)) {
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
    if (spent.count() > options.limit_seconds) {
      fmt::print("# time limit before {}\n", w.name);
      break;
    }
    time_shape(w, options, out);
  }
  std::fclose(out);
  return 0;
}

}  // namespace
}  // namespace splitwave

int main(int argc, char** argv) {
  splitwave::Options options;
  CLI::App app{"Times plans and kernels on a CUDA device"};
  app.add_option("--shapes", options.shapes, "CSV file of shapes");
  app.add_option("--random", options.random, "this many random shapes instead");
  app.add_option("--seed", options.seed, "of the random shapes");
  app.add_option("--most-gb", options.most_gb, "skip shapes with more K and V");
  app.add_option("--least-gb", options.least_gb, "skip shapes with less K and V");
  app.add_option("--out", options.out, "CSV file, appended to");
  app.add_option("--candidate", options.candidates, "SCHEDULE@VARIANT[+MERGE]; none: a sweep");
  app.add_flag("--auto", options.only_auto, "time only the model's choice");
  app.add_option("--overlap", options.overlap, "none, wait or prefetch")
      ->check(CLI::IsMember({"none", "wait", "prefetch"}));
  app.add_option("--dtype", options.dtype, "f16 or bf16")->check(CLI::IsMember({"f16", "bf16"}));
  app.add_option("--page", options.page, "page size; 0: contiguous");
  app.add_option("--layout", options.layout, "bshd or bhsd")->check(CLI::IsMember({"bshd", "bhsd"}));
  app.add_option("--limit", options.limit_seconds, "begin no shape after this many seconds");
  app.add_option("--every", options.every, "only every n-th shape");
  app.add_option("--first", options.first, "begin with this shape");
  app.add_option("--replays", options.measure.replays, "samples per time");
  app.add_option("--replay-seconds", options.measure.seconds_per_replay, "least length of a sample");
  CLI11_PARSE(app, argc, argv);
  try {
    return splitwave::bench(options);
  } catch (const splitwave::workloads::InputError& error) {
    fmt::print(stderr, "bench_decode: {}\n", error.what());
    return 2;
  } catch (const splitwave::workloads::MissingError& error) {
    fmt::print(stderr, "bench_decode: {}\n", error.what());
    return 3;
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_decode: {}\n", error.what());
    return 1;
  }
}
