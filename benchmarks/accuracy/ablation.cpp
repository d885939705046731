// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/accuracy/ablation.h"

#include <fmt/format.h>

#include <functional>
#include <vector>

#include "benchmarks/accuracy/own.h"
#include "benchmarks/accuracy/statistics.h"
#include "benchmarks/accuracy/tables.h"
#include "reports/table.h"

namespace splitwave::accuracy {
namespace {

using studies::Target;

/// A mechanism and how it is taken out.
struct Ablation {
  std::string title;
  std::function<void(Target&)> apply;
};

/// Changes every config of the target's kernel.
std::function<void(Target&)> of_configs(const std::function<void(simulator::KernelVariant&)>& change) {
  return [change](Target& target) {
    for (simulator::KernelVariant& variant : target.kernel->variants) change(variant);
  };
}

std::vector<Ablation> ablations() {
  using simulator::KernelVariant;
  return {
      {"nothing", [](Target&) {}},
      {"chains of instructions", of_configs([](KernelVariant& v) {
         v.kernel.chain_clocks = v.kernel.single_item_chain_clocks = 0;
         v.kernel.paged_chain_clocks = v.kernel.paged_single_item_chain_clocks = 0;
       })},
      {"prologue and epilogue", of_configs([](KernelVariant& v) {
         for (simulator::ClusterCosts& costs : v.clusters) costs.fixed_seconds = costs.single_item_fixed_seconds = 0;
       })},
      {"the shorter kernel for lists of one item", of_configs([](KernelVariant& v) {
         if (v.kernel.most_tokens > 0) return;
         for (simulator::ClusterCosts& costs : v.clusters) costs.single_item_fixed_seconds = 0;
       })},
      {"further items", of_configs([](KernelVariant& v) {
         v.kernel.item_seconds = v.kernel.item_crowded_seconds = v.kernel.second_item_seconds = 0;
       })},
      {"others on the SM (items, starts)", of_configs([](KernelVariant& v) {
         v.kernel.item_crowded_seconds = v.kernel.item_seconds;
         v.kernel.crowd_start_seconds = v.kernel.single_item_crowd_start_seconds = 0;
         v.kernel.full_sm_seconds = v.kernel.paged_full_sm_seconds = v.kernel.full_sm_start_seconds = 0;
         v.kernel.edge_chunk_seconds = 0;
       })},
      {"merges", of_configs([](KernelVariant& v) {
         v.kernel.merge_seconds = v.kernel.merge_seconds_per_split = v.kernel.merge_batch_seconds = 0;
         v.kernel.merge_launch_seconds = v.kernel.merge_kernel_seconds_per_split = 0;
         v.kernel.merge_kernel_batch_seconds = 0;
       })},
      {"batches of partials",
       of_configs([](KernelVariant& v) { v.kernel.merge_batch_seconds = v.kernel.merge_kernel_batch_seconds = 0; })},
      {"turns of merge kernels' CTAs", of_configs([](KernelVariant& v) { v.kernel.merge_kernel_warps = 0; })},
      {"queries at the edge of a mask",
       of_configs([](KernelVariant& v) { v.kernel.edge_seconds = v.kernel.edge_query_seconds = 0; })},
      {"lists from a queue",
       of_configs([](KernelVariant& v) { v.kernel.queue_list_seconds = v.kernel.queue_prologue_seconds = 0; })},
      {"the rings' own latency", of_configs([](KernelVariant& v) { v.kernel.latency_scale = 1; })},
      {"ports", [](Target& target) { target.machine.port_of_sm.clear(); }},
      {"the launch", [](Target& target) { target.machine.launch_seconds = 0; }},
  };
}

/// A table of ablations without rows.
reports::Table empty_table() {
  using reports::Align;
  return {{{"without", Align::left},
           {"mean %", Align::right},
           {"p50", Align::right},
           {"p90", Align::right},
           {"bias", Align::right}},
          {}};
}

void add_row(reports::Table& table, const std::string& title, std::span<const JudgedPoint> judged) {
  const Summary errors = summarize(judged, [](const JudgedPoint&) { return true; });
  table.rows.push_back({title, percent(errors.mean), percent(errors.p50), percent(errors.p90),
                        fmt::format("{:+.1f}", errors.bias * 100)});
}

/// What others' kernels have and the project's own lack.
struct PeerAblation {
  std::string title;
  KernelChange change;
  double cold_share = 1;  ///< of the machine's cold_start
};

std::vector<PeerAblation> peer_ablations() {
  using simulator::KernelProfile;
  return {
      {"nothing", {}},
      {"rows of partials that waiting CTAs load", [](KernelProfile& k) { k.merge_row_clocks = 0; }},
      {"launches that reset flags or queues",
       [](KernelProfile& k) { k.flag_reset_seconds = k.queue_reset_seconds = 0; }},
      {"a queue's way past the requests", [](KernelProfile& k) { k.queue_walk_seconds = 0; }},
      {"time until a window is asked for anew", [](KernelProfile& k) { k.refill_seconds = 0; }},
      {"merges",
       [](KernelProfile& k) {
         k.merge_seconds = k.merge_seconds_per_split = k.merge_launch_seconds = k.merge_row_clocks = 0;
       }},
      {"latencies that nothing hides", [](KernelProfile& k) { k.exposed_latencies = 0; }},
      {"cold pages", {}, 0},
  };
}

}  // namespace

std::string ablation_table(std::span<const Point> points, const Target& target) {
  reports::Table table = empty_table();
  for (const Ablation& ablation : ablations()) {
    Target less = target;
    ablation.apply(less);
    const std::vector<JudgedPoint> judged = judge_own(points, less);
    add_row(table, ablation.title, judged);
  }
  return reports::to_markdown(table);
}

std::string peers_ablation_table(std::span<const Point> points, const Target& target) {
  reports::Table table = empty_table();
  for (const PeerAblation& ablation : peer_ablations()) {
    Target less = target;
    less.machine.cold_seconds *= ablation.cold_share;
    add_row(table, ablation.title, judge_all(points, less, Constants::of_kernel, ablation.change));
  }
  return reports::to_markdown(table);
}

}  // namespace splitwave::accuracy
