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
      {"further items",
       of_configs([](KernelVariant& v) { v.kernel.item_seconds = v.kernel.item_crowded_seconds = 0; })},
      {"others on the SM (items, starts)", of_configs([](KernelVariant& v) {
         v.kernel.item_crowded_seconds = v.kernel.item_seconds;
         v.kernel.crowd_start_seconds = v.kernel.single_item_crowd_start_seconds = 0;
       })},
      {"merges", of_configs([](KernelVariant& v) {
         v.kernel.merge_seconds = v.kernel.merge_seconds_per_split = v.kernel.merge_batch_seconds = 0;
         v.kernel.merge_launch_seconds = v.kernel.merge_kernel_seconds_per_split = 0;
         v.kernel.merge_kernel_batch_seconds = 0;
       })},
      {"batches of partials",
       of_configs([](KernelVariant& v) { v.kernel.merge_batch_seconds = v.kernel.merge_kernel_batch_seconds = 0; })},
      {"queries at the edge of a mask", of_configs([](KernelVariant& v) { v.kernel.edge_seconds = 0; })},
      {"lists from a queue",
       of_configs([](KernelVariant& v) { v.kernel.queue_list_seconds = v.kernel.queue_prologue_seconds = 0; })},
      {"the rings' own latency", of_configs([](KernelVariant& v) { v.kernel.latency_scale = 1; })},
      {"ports", [](Target& target) { target.machine.port_of_sm.clear(); }},
      {"the launch", [](Target& target) { target.machine.launch_seconds = 0; }},
  };
}

}  // namespace

std::string ablation_table(std::span<const Point> points, const Target& target) {
  using reports::Align;
  reports::Table table{{{"without", Align::left},
                        {"mean %", Align::right},
                        {"p50", Align::right},
                        {"p90", Align::right},
                        {"bias", Align::right}},
                       {}};
  for (const Ablation& ablation : ablations()) {
    Target less = target;
    ablation.apply(less);
    const std::vector<JudgedPoint> judged = judge_own(points, less);
    const Summary errors = summarize(judged, [](const JudgedPoint&) { return true; });
    table.rows.push_back({ablation.title, percent(errors.mean), percent(errors.p50), percent(errors.p90),
                          fmt::format("{:+.1f}", errors.bias * 100)});
  }
  return reports::to_markdown(table);
}

}  // namespace splitwave::accuracy
