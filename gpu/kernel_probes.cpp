// SPDX-License-Identifier: Apache-2.0
#include "gpu/kernel_probes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <optional>
#include <vector>

#include "base/error.h"
#include "gpu/compiled_kernels.h"
#include "gpu/decode.h"
#include "gpu/probe_runs.h"
#include "gpu/sm_partition.h"
#include "schedules/schedules.h"

namespace splitwave::gpu {
namespace {

using schedules::Plan;
using workloads::Workload;

/// Of the probes with K and V in DRAM: between two uses of a copy, more than an L2 keeps; and the launches are many.
constexpr std::int64_t kColdBytes = 128'000'000;
constexpr std::int32_t kColdReplays = 5;

double seconds_of(const Workload& workload, const Plan& plan, const KernelConfig& config, bool any_plan,
                  const MeasureOptions& options) {
  const DeviceTensors tensors = DeviceTensors::generate(workload, copies_for(workload, options));
  Decoder decoder(capacity_of(workload, plan, config));
  LaunchOptions launch;
  launch.replayable = any_plan;
  launch.keep_kv_in_l2 = true;
  decoder.set_plan(workload, tensors.addressing(), plan, config, launch);
  decoder.synchronize();
  return time_plan(workload, tensors, decoder, false, options).median;
}

/// The probes of one config; `probe` holds what they have in common.
class ConfigProbes {
 public:
  ConfigProbes(KernelProbe probe, const MeasureOptions& options, const std::function<void(const KernelProbe&)>& found)
      : probe_(std::move(probe)), options_(options), found_(found), round_(round_tokens(probe_.config)) {}

  void run() {
    // What pages cost is known from single CTAs, but of a latent cache, of which clusters hold parts of any size.
    if (probe_.paged && probe_.config.cluster > 1 && !probe_.config.holds_latent_items()) return;
    if (probe_.config.stages == 1) return whole_item();
    if (probe_.config.cluster > 1) return cluster();
    lists();
    if (!probe_.masked) items_of_rounds(false);
    if (probe_.paged) return;
    streams();
    waiting();
    queue();
    waves();
    if (probe_.masked) return;  // two queries have two tokens at least, and kernels for single items single queries
    row_items();
    for (const bool any_plan : {false, true}) cold(round_, any_plan);
    for (const std::int32_t items : {2, 6}) cold_items(items);
    empty();
    merges();
    table();
  }

  /// On the SMs of the thread's partition.
  void run_full() {
    const std::int32_t workers = resident();
    for (const std::int32_t rounds : {probe_.config.stages, probe_.config.stages + 8}) {
      probe_.count = rounds * round_;
      const ProbeRun run = full_sms_run(probe_, workers);
      report(ProbeKind::full, probe_.count, seconds(run.workload, run.plan, true), true);
    }
    const bool by_query = probe_.config.team == Team::warps || probe_.config.team == Team::alone;
    // Groups of warps mask scores, whatever queries they are of.
    if (!probe_.masked || probe_.paged || !by_query) return;
    for (const std::int32_t queries : {2, 8 * probe_.config.row_tiles}) {
      probe_.count = queries;
      const ProbeRun run = full_queries_run(probe_, workers);
      report(ProbeKind::full_queries, queries, seconds(run.workload, run.plan, false), true);
    }
  }

 private:
  Workload workload(std::int32_t items, std::int32_t tokens) const {
    return probe_workload(probe_.geometry.head_dim, 8 * probe_.config.row_tiles, probe_.paged, probe_.masked, items,
                          tokens);
  }

  void report(ProbeKind kind, std::int32_t count, double seconds, bool any_plan) {
    probe_.kind = kind;
    probe_.count = count;
    probe_.any_plan = any_plan;
    probe_.seconds = seconds;
    found_(probe_);
  }

  /// Of the kernel that the probes are of.
  double seconds(const Workload& w, Plan plan, bool any_plan) const { return seconds(w, plan, any_plan, options_); }
  double seconds(const Workload& w, Plan plan, bool any_plan, const MeasureOptions& options) const {
    if (probe_.waits) plan.merge = schedules::MergeKind::host_cta;  // as it is, though nothing is merged
    return seconds_of(w, plan, probe_.config, any_plan, options);
  }

  void whole_item() {
    time(ProbeKind::item, round_, 1, round_, false);
    if (!probe_.paged || probe_.config.cluster == probe_.config.least_cluster()) waves();
    if (probe_.paged) return;
    for (const std::int32_t tokens : {probe_.config.cluster * probe_.config.tokens, round_}) cold(tokens, false);
    single_item_merges({2, 8});
    if (probe_.config.cluster > probe_.config.least_cluster()) return;
    row_waves();
    table();
  }

  /// What differs from single CTAs.
  void cluster() {
    if (probe_.masked) {
      unhidden();
    } else {
      empty();
    }
    items_of_rounds(probe_.masked);
    waves();
    cold(round_, false);
    single_item_merges({2, 8});  // all are resident
  }

  /// Copy after copy, so that none is in L2 any more when it is read again.
  MeasureOptions cold_options() const {
    MeasureOptions options = options_;
    options.bytes_per_cycle = kColdBytes;
    options.replays = std::min(options.replays, kColdReplays);
    return options;
  }
  void cold(std::int32_t tokens, bool any_plan) {
    const Workload w = workload(1, tokens);
    if (!any_plan && (probe_.masked || find_single_item_kernel(w, probe_.config) == nullptr)) return;
    report(ProbeKind::cold, tokens, seconds(w, lists_of_one(w, probe_.config), any_plan, cold_options()), any_plan);
  }
  void cold_items(std::int32_t items) {
    const Workload w = workload(items, round_);
    report(ProbeKind::cold_items, items, seconds(w, even_lists(w, probe_.config, 1), false, cold_options()), true);
  }

  /// What a ring takes in from DRAM, after its first rounds.
  void streams() {
    const std::int32_t stages = probe_.config.stages;
    for (const std::int32_t rounds : {stages, stages + kStreamedRounds}) {
      for (const bool any_plan : {false, true}) cold(rounds * round_, any_plan);
    }
  }

  void lists() {
    items_of_rounds(true);
    if (probe_.config.team == Team::seesaw && !probe_.paged) boxes();
    for (const std::int32_t items : {2, 6}) {
      time(ProbeKind::items, items, items, round_, false);
      time(ProbeKind::short_items, items, items, kFewTokens, false);
    }
    if (probe_.masked) {
      unhidden();
      if (!probe_.paged && !probe_.waits) queries();
    }
    crowd();
  }

  void row_items() {
    for (const std::int32_t items : {2, 6}) {
      Workload w = workload(items, round_);
      w.geometry.query_heads = 1;
      report(ProbeKind::row_items, items, seconds(w, even_lists(w, probe_.config, 1), false), true);
    }
  }

  /// What lists take in the kernel for CTAs that wait: the end of an item passes over less there.
  void waiting() {
    if (probe_.config.team != Team::warps && probe_.config.team != Team::alone) return;
    probe_.waits = true;
    lists();
    if (!probe_.masked) cold(round_, true);
    probe_.waits = false;
  }

  void empty() {
    for (const bool any_plan : {true, false}) time(ProbeKind::empty, 0, 1, 0, any_plan);
  }

  /// A list for each request of the workload.
  void time_lists(ProbeKind kind, std::int32_t count, const Workload& w, bool any_plan) {
    report(kind, count, seconds(w, lists_of_one(w, probe_.config), any_plan), any_plan);
  }

  void time(ProbeKind kind, std::int32_t count, std::int32_t items, std::int32_t tokens, bool any_plan) {
    const Workload w = workload(items, tokens);
    const Plan plan = items > 1 ? even_lists(w, probe_.config, 1) : lists_of_one(w, probe_.config);
    report(kind, count, seconds(w, plan, any_plan), any_plan || items > 1);
  }

  /// Of one round, of the first one of each stage, and of eight more.
  void items_of_rounds(bool any_plan) {
    const std::int32_t stages = probe_.config.stages;
    for (const std::int32_t rounds : {1, stages, stages + 8}) {
      time(ProbeKind::item, rounds * round_, 1, rounds * round_, any_plan);
    }
  }

  /// A window as wide as the context on both sides: the kernel looks at the mask, which has no edge.
  void unhidden() {
    for (const std::int32_t items : {2, 6}) {
      Workload w = workload(items, round_);
      w.geometry.causal = false;
      w.geometry.window = round_;
      const Plan plan = even_lists(w, probe_.config, 1);
      report(ProbeKind::unhidden, items, seconds(w, plan, false), true);
    }
  }

  void queries() {
    const std::int32_t rows = 8 * probe_.config.row_tiles;
    Workload w = workload(1, std::max(round_, rows));
    w.geometry.query_heads = 1;
    w.requests.front().query_len = rows;
    report(ProbeKind::queries, rows, seconds(w, lists_of_one(w, probe_.config), true), true);
  }

  void single_item_merges(std::initializer_list<std::int32_t> all_parts) {
    if (find_single_item_kernel(workload(1, round_), probe_.config, true) == nullptr) return;
    for (const std::int32_t parts : all_parts) time_parts(ProbeKind::splits, parts, false);
  }

  void merges() {
    single_item_merges({2, 8, 32});
    for (const std::int32_t parts : {2, 8, 32}) {
      for (const ProbeKind kind : {ProbeKind::splits, ProbeKind::host, ProbeKind::kernel, ProbeKind::lone_kernel}) {
        time_parts(kind, parts, true);
      }
    }
    for (const std::int32_t lists : {2, 8, kMergedLists}) {
      time_lists(ProbeKind::unmerged, lists, workload(lists, round_), true);
    }
  }

  void time_parts(ProbeKind kind, std::int32_t parts, bool any_plan) {
    const Workload w = workload(kind == ProbeKind::kernel ? kMergedLists / parts : 1, parts * round_);
    const Plan plan = split_plan(w, probe_.config, parts, kind);
    report(kind, parts, seconds(w, plan, any_plan), any_plan);
  }

  void queue() {
    for (const std::int32_t lists : {2, 6}) {
      const Workload w = workload(lists, round_);
      const Plan plan = schedules::make_plan("fa3", w, probe_grid(probe_.config, 1));
      report(ProbeKind::queue, lists, seconds(w, plan, true), true);
    }
  }

  std::int32_t resident() const { return residency(workload(1, kFewTokens), probe_.config).workers; }

  void crowd() {
    for (const std::int32_t items : {2, 6}) {
      const Workload w = workload(items * resident(), kFewTokens);
      report(ProbeKind::crowd, items, seconds(w, even_lists(w, probe_.config, resident()), false), true);
    }
  }

  /// Masked rows together as well, which FlashAttention-2's tiles would part by heads.
  void waves() {
    time_waves(ProbeKind::waves, probe_.masked ? fmt::format("fixed-size:{}", kFewTokens) : "fixed-split:1",
               workload(1, kFewTokens).geometry.query_heads);
  }
  void row_waves() { time_waves(ProbeKind::row_waves, "fixed-split:1", 1); }

  void time_waves(ProbeKind kind, const std::string& schedule, std::int32_t query_heads) {
    const std::int32_t workers = single_item_residency(workload(1, kFewTokens), probe_.config).workers;
    for (const std::int32_t waves : {2, 6}) {
      Workload w = workload(waves * workers, kFewTokens);
      w.geometry.query_heads = query_heads;
      const Plan plan = schedules::make_plan(schedule, w, probe_grid(probe_.config, waves * workers));
      report(kind, waves, seconds(w, plan, false), false);
    }
  }

  /// Two items in two workers, of which the shorter one is done sooner.
  void table() {
    Workload w = workload(2, round_);
    w.requests.back().context_len = round_ / 2;
    time_lists(ProbeKind::table, round_, w, false);
  }

  void boxes() {
    schedules::Grid grid = probe_grid(probe_.config, 1);
    grid.tile_q *= 2;
    for (const std::int32_t rounds : {probe_.config.stages, probe_.config.stages + 8}) {
      Workload w = workload(1, rounds * round_);
      w.geometry.query_heads *= 2;
      const Plan plan = schedules::make_plan("fixed-split:1", w, grid);
      report(ProbeKind::boxes, rounds * round_, seconds(w, plan, false), true);
    }
  }

  KernelProbe probe_;
  const MeasureOptions& options_;
  const std::function<void(const KernelProbe&)>& found_;
  std::int32_t round_;
};

}  // namespace

std::string to_string(ProbeKind kind) {
  constexpr std::array<const char*, static_cast<std::size_t>(kLastProbeKind) + 1> kNames = {
      "empty",       "item",     "items", "unhidden",    "queries",   "splits",    "host",         "kernel",
      "lone_kernel", "unmerged", "queue", "short_items", "crowd",     "full",      "full_queries", "waves",
      "row_waves",   "cold",     "table", "boxes",       "row_items", "cold_items"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::int32_t round_tokens(const KernelConfig& config) {
  return config.cluster * config.warps * config.tokens;
}

void probe_kernels(std::int32_t head_dim, bool paged, bool masked, const MeasureOptions& options,
                   const std::function<void(const KernelProbe&)>& found) {
  const Workload any = probe_workload(head_dim, 8, paged, masked, 1, 64);
  std::vector<KernelConfig> configs = kernel_configs(any);
  if (!masked) {
    for (const KernelConfig& config : whole_item_configs(any)) configs.push_back(config);
  }
  for (const KernelConfig& config : configs) {
    KernelProbe probe;
    probe.geometry = any.geometry;
    probe.paged = paged;
    probe.masked = masked;
    probe.config = config;
    if (residency(any, config).workers == 0) continue;
    ConfigProbes(probe, options, found).run();
  }
}

void probe_full_sms(std::int32_t head_dim, bool paged, bool masked, const MeasureOptions& options,
                    const std::function<void(const KernelProbe&)>& found) {
  std::optional<SmPartition> few;
  try {
    few.emplace(kFullSms);
  } catch (const base::InputError&) {
    return;
  } catch (const base::MissingError&) {
    return;
  }
  const Workload any = probe_workload(head_dim, 8, paged, masked, 1, 64);
  for (const KernelConfig& config : kernel_configs(any)) {
    KernelProbe probe;
    probe.geometry = any.geometry;
    probe.paged = paged;
    probe.masked = masked;
    probe.config = config;
    if (config.cluster > 1 || residency(any, config).ctas_per_sm < 2) continue;
    ConfigProbes(probe, options, found).run_full();
  }
}

}  // namespace splitwave::gpu
