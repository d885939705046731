// SPDX-License-Identifier: Apache-2.0
#include "studies/candidate_bounds.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "schedules/cut.h"
#include "schedules/rules/lean.h"
#include "simulator/alternatives.h"
#include "simulator/clusters.h"
#include "simulator/merge.h"
#include "simulator/ports.h"
#include "simulator/simulate.h"
#include "simulator/traffic.h"

namespace splitwave::studies {
namespace {

using simulator::kBoundSlack;
using simulator::KernelProfile;
using simulator::LeastTime;
using simulator::Machine;
using workloads::Workload;

/// A list of one item, for what all plans of a kernel have in common. Its tile has the fewest rows that any may have.
schedules::Plan stand_in(const Facts& facts, const KernelProfile& kernel) {
  schedules::Plan plan;
  if (facts.outputs == 0) return plan;
  const std::int32_t rows = facts.rows <= kernel.most_rows ? facts.rows : (facts.rows - 1) % kernel.most_rows + 1;
  plan.outputs = {{0, 0, facts.group, 0, facts.single_query ? rows : 1}};
  plan.items = {{0, 0, facts.longest, -1}};
  plan.cta_begin = {0, 1};
  return plan;
}

simulator::LeastParts in_order(Order order, simulator::LeastParts parts) {
  using Ends = simulator::LeastParts::Ends;
  if (order == Order::longest_first && parts.ends == Ends::any) parts.ends = Ends::longest_first;
  return parts;
}

}  // namespace

Facts facts_of(const Workload& workload, const Machine& machine, simulator::L2State l2) {
  Facts facts;
  const auto bytes = static_cast<double>(workloads::kv_bytes(workload));
  if (l2 == simulator::L2State::cold) facts.read_seconds = bytes / machine.dram_bytes_per_second;
  facts.tokens = bytes / static_cast<double>(workloads::kv_bytes_per_token(workload.geometry));
  facts.heads = workload.geometry.kv_heads;
  facts.padded = schedules::padded_seqlen_k(workload);
  facts.group = workload.geometry.group();
  facts.rows = facts.group * std::max(1, workloads::max_query_len(workload));
  facts.single_query = workloads::max_query_len(workload) <= 1;
  facts.windowed = workload.geometry.window.has_value();
  facts.latent = workload.geometry.kind == workloads::AttentionKind::mla;
  facts.uniform = workloads::is_uniform(workload);
  facts.least_rows = facts.rows;
  for (const workloads::Request& request : workload.requests) {
    if (request.context_len == 0) {
      facts.unread += facts.heads;
      continue;
    }
    facts.outputs += facts.heads;
    facts.least_rows = std::min(facts.least_rows, facts.group * request.query_len);
    facts.unsure_tokens += static_cast<double>(facts.heads) * (request.query_len - 1);
    facts.longest = std::max(facts.longest, request.context_len);
    facts.shortest = facts.shortest == 0 ? request.context_len : std::min(facts.shortest, request.context_len);
  }
  return facts;
}

/// Splits are whole tiles, so that there may be fewer than were asked for.
std::int32_t tokens_per_split(const Facts& facts, std::int32_t splits) {
  const std::int64_t tiles = schedules::ceil_div(facts.padded, kCandidateTileTokens);
  return static_cast<std::int32_t>(std::max<std::int64_t>(1, schedules::ceil_div(tiles, splits)) *
                                   kCandidateTileTokens);
}

Pieces pieces_of(const Workload& workload, std::int32_t tokens) {
  Pieces pieces{tokens, tokens, 0, 0};
  for (const workloads::Request& request : workload.requests) {
    if (request.context_len == 0) continue;
    const std::int32_t count = (request.context_len + tokens - 1) / tokens;
    pieces.lists += count;
    pieces.whole += count == 1 ? 1 : 0;
    pieces.shortest = std::min(pieces.shortest, request.context_len - (count - 1) * tokens);
  }
  pieces.lists *= workload.geometry.kv_heads;
  return pieces;
}

double reading_seconds(const Workload& workload, const Machine& machine, std::span<const KernelProfile> kernels,
                       simulator::L2State l2) {
  if (l2 == simulator::L2State::warm) return 0;
  double least = std::numeric_limits<double>::infinity();
  for (const KernelProfile& kernel : kernels) {
    least = std::min(least, simulator::launch_seconds(machine, kernel) + kernel.epilogue_seconds +
                                simulator::first_prologue_seconds(machine, kernel));
  }
  return least + static_cast<double>(workloads::kv_bytes(workload)) / machine.dram_bytes_per_second;
}

KernelBounds::KernelBounds(const Workload& workload, const Facts& facts, const Machine& machine,
                           const KernelProfile& kernel, const simulator::SimulateOptions& options)
    : workload_(workload), facts_(facts), machine_(machine), kernel_(kernel), options_(options) {
  workers_ = simulator::grid_of(machine, kernel, resident_per_sm(kernel)).resident();
  blocks_ = static_cast<std::int32_t>(schedules::ceil_div(facts.least_rows, kernel.most_rows));
  block_tokens_ = facts.tokens + (blocks_ - 1) * std::max(0.0, facts.tokens - facts.unsure_tokens);
}

/// CTAs on an SM, as many as the options allow. More than fit are refused when they are planned.
std::int32_t KernelBounds::resident_per_sm(const KernelProfile& kernel) const {
  const std::int32_t fit = simulator::ctas_per_sm(machine_, kernel);
  return options_.ctas_per_sm > 0 ? std::min(fit, options_.ctas_per_sm) : fit;
}

KernelBounds::Runner KernelBounds::make_runner(Use use) const {
  Runner runner;
  const bool has_single =
      kernel_.single_item_prologue_seconds > 0 && facts_.single_query && facts_.group <= kernel_.most_rows;
  using simulator::Lists;
  const Lists lists = use == Use::waiting                ? Lists::waiting
                      : use == Use::single && has_single ? Lists::single_items
                                                         : Lists::any;
  runner.kernel = simulator::with_costs_of(kernel_, workload_, lists);
  const bool may_be_single = has_single && (use == Use::any || use == Use::waiting);
  const auto may_run_as = [&](Lists others) {
    const KernelProfile other = simulator::with_costs_of(kernel_, workload_, others);
    KernelProfile& kernel = runner.kernel;
    kernel.prologue_seconds = std::min(kernel.prologue_seconds, other.prologue_seconds);
    kernel.item_seconds = std::min(kernel.item_seconds, other.item_seconds);
    kernel.chain_clocks = std::min(kernel.chain_clocks, other.chain_clocks);
    kernel.crowd_start_seconds = std::min(kernel.crowd_start_seconds, other.crowd_start_seconds);
  };
  // Where nothing is cut nobody waits.
  if (use == Use::waiting) may_run_as(Lists::any);
  if (may_be_single) {
    // It is run by the other one where each list comes out as one item.
    may_run_as(Lists::single_items);
    runner.kernel.first_round_seconds = 0;
    runner.kernel.reads_table = false;
  }
  runner.per_sm = resident_per_sm(runner.kernel);
  runner.workers = simulator::grid_of(machine_, runner.kernel, runner.per_sm).resident();
  if (kernel_.cluster > 1) runner.clusters = simulator::clustered(machine_, kernel_.cluster, runner.per_sm);
  const Machine& machine = runner.clusters ? *runner.clusters : machine_;
  runner.work = simulator::make_work(workload_, stand_in(facts_, kernel_), machine, runner.kernel, options_,
                                     machine.sms * runner.per_sm);
  simulator::MemoryLaw& law = runner.work.law;
  if (use == Use::heads || facts_.rows > kernel_.most_rows) {
    // Tiles beside each other read the same K and V, some of them from L2.
    law.latency_seconds -= machine.dram_latency_seconds - machine.l2_latency_seconds;
    law.queue_seconds = 0;
    law.dram_share = 0;
  }
  runner.streaming = {static_cast<std::int32_t>(runner.workers), runner.work.bytes_per_token, law.bytes_in_flight,
                      simulator::port_spread(machine)};
  runner.plateau = law.plateau;
  runner.asymptote = law.asymptote;
  return runner;
}

KernelBounds::Runner& KernelBounds::runner(Use use) {
  std::optional<Runner>& known = runners_[static_cast<std::size_t>(use)];
  if (!known) known = make_runner(use);
  return *known;
}

/// What in_step_share() says at most of so many lists of one item. neighbours: share of them beside which the next one
/// reads the same tokens of the next head.
double KernelBounds::in_step(const Runner& runner, double neighbours, std::int64_t lists) const {
  const double together = lists <= runner.workers ? 1 : neighbours;
  const double all_bytes = block_tokens_ * runner.work.bytes_per_token;
  const double list_bytes = all_bytes / static_cast<double>(std::max<std::int64_t>(1, lists));
  return together * simulator::together_share(runner.streaming, list_bytes);
}

/// in_step: share of what is read, at most, for which another list reads the same tokens of the next head.
LeastTime KernelBounds::time_of(Runner& runner, double in_step, std::int64_t resident) const {
  const double rows = simulator::row_share(workload_, machine_);
  const double faster = rows < 1 ? 1 + in_step * (1 - rows) / rows : 1;
  runner.work.law.plateau = runner.plateau * faster;
  runner.work.law.asymptote = runner.asymptote * faster;
  LeastTime time(runner.clusters ? *runner.clusters : machine_, runner.kernel, runner.work, runner.per_sm,
                 static_cast<std::int32_t>(resident));
  time.add_unread(facts_.unread * std::max(blocks_, facts_.group));
  return time;
}

/// Merges: what surely follows when all lists have ended, and what may.
Bound KernelBounds::bound_of(const simulator::LeastParts& parts, double sure_merge, double expected_merge) const {
  const double least =
      kBoundSlack * std::max(parts.least(sure_merge), parts.start_seconds + facts_.read_seconds + sure_merge);
  return {least, std::max(least, parts.expected(expected_merge))};
}

double KernelBounds::merge_seconds(std::int64_t parts, Merging merging) {
  if (parts <= 1) return 0;
  if (merging != Merging::kernel) {
    const bool waits = merging == Merging::host_cta;
    const KernelProfile& kernel = facts_.single_query && !waits ? runner(Use::single).kernel : kernel_;
    return machine_.flag_seconds + simulator::in_kernel_seconds(
                                       kernel, static_cast<double>(parts), waits ? static_cast<std::int32_t>(parts) : 0,
                                       simulator::fragments_with_rows(kernel, facts_.least_rows));
  }
  const std::int32_t serial = simulator::splits_per_warp(kernel_, static_cast<std::int32_t>(parts));
  const double further = kernel_.merge_batch_splits > 0 ? (serial - 1) / kernel_.merge_batch_splits : 0;
  return kernel_.merge_launch_seconds + std::max(0.0, kernel_.merge_kernel_seconds_per_split) * serial +
         kernel_.merge_kernel_batch_seconds * further;
}

/// More of a merge kernel: all rows of so many partial results of KV heads.
double KernelBounds::traffic_seconds(std::int64_t partial_tiles) const {
  const double rate = kernel_.merge_kernel_bytes_per_second;
  const double rows = static_cast<double>(partial_tiles) * facts_.least_rows;
  return rate > 0 ? rows * static_cast<double>(simulator::partial_row_bytes(workload_.geometry)) / rate : 0;
}

/// Lists that do not start at once, or that an SM does one after the other, may have merged before the last ones end,
/// if only some outputs are cut.
Bound KernelBounds::bound_of(const Pieces& pieces, const simulator::LeastParts& parts, std::int64_t lists,
                             Merging merging) {
  double most = merge_seconds(schedules::ceil_div(facts_.longest, pieces.tokens), merging);
  if (merging == Merging::kernel) most += traffic_seconds(pieces.lists - pieces.whole * facts_.heads);
  const bool at_once = lists <= workers_ && kernel_.most_tokens == 0;
  if (merging == Merging::kernel || at_once) return bound_of(parts, most, most);
  const std::int64_t fewest = pieces.whole > 0 ? 1 : schedules::ceil_div(facts_.shortest, pieces.tokens);
  return bound_of(parts, merge_seconds(fewest, merging), most);
}

Bound KernelBounds::whole(Order order) {
  if (facts_.outputs == 0) return {};
  Runner& one = runner(facts_.single_query ? Use::single : Use::any);
  const std::int64_t lists = facts_.outputs * blocks_;
  LeastTime time = time_of(one, in_step(one, 1, lists));  // the heads of a request are side by side
  if (facts_.windowed) {
    time.add_items(lists, block_tokens_, 0, block_tokens_ / static_cast<double>(lists));
  } else {
    time.add_items(lists, block_tokens_, facts_.single_query ? facts_.shortest : 0, facts_.longest);
  }
  return bound_of(in_order(order, time.parts(lists, one.kernel.prologue_seconds)), 0, 0);
}

Bound KernelBounds::splits(std::int32_t splits, Merging merging) {
  const std::int64_t tokens = tokens_per_split(facts_, splits);
  const std::int64_t parts = schedules::ceil_div(facts_.longest, tokens);
  if (parts <= 1) return whole();
  if (facts_.windowed) return shares(merging);
  const std::int64_t lists = facts_.outputs * parts * blocks_;
  Runner& one = runner(merging == Merging::host_cta ? Use::waiting : Use::single);
  LeastTime time = time_of(one, in_step(one, 0, lists));
  time.add_items(lists, block_tokens_, static_cast<double>(facts_.longest - (parts - 1) * tokens),
                 static_cast<double>(tokens));
  const double traffic = merging == Merging::kernel ? traffic_seconds(facts_.outputs * parts) : 0;
  const double merge = merge_seconds(parts, merging) + traffic;
  return bound_of(time.parts(lists, one.kernel.prologue_seconds), merge, merge);
}

Bound KernelBounds::pieces(const Pieces& pieces, Merging merging, Order order) {
  if (facts_.windowed || pieces.lists == 0) return shares(merging);
  const bool one_each = facts_.single_query && merging != Merging::host_cta;
  Runner& one = runner(one_each ? Use::single : use_of(merging));
  const std::int64_t lists = pieces.lists * blocks_;
  const double whole = static_cast<double>(pieces.whole * facts_.heads) / static_cast<double>(pieces.lists);
  // The longest first, the heads of every piece are side by side, not only of whole outputs.
  LeastTime time = time_of(one, in_step(one, order == Order::longest_first ? 1 : whole, lists));
  time.add_items(lists, block_tokens_, facts_.single_query ? pieces.shortest : 0,
                 std::min(pieces.tokens, facts_.longest));
  return bound_of(pieces, in_order(order, time.parts(lists, one.kernel.prologue_seconds)), lists, merging);
}

Bound KernelBounds::heads(const Pieces& pieces, Merging merging) {
  if (facts_.windowed || pieces.lists == 0) return shares(merging);
  Runner& one = runner(Use::heads);
  const std::int64_t lists = pieces.lists * facts_.group;
  LeastTime time = time_of(one, in_step(one, 1, lists));
  time.add_items(lists, facts_.tokens * facts_.group, 0, std::min(pieces.tokens, facts_.longest));
  return bound_of(pieces, time.parts(lists, one.kernel.prologue_seconds), lists, merging);
}

Bound KernelBounds::lean(std::int32_t tile_tokens, Merging merging) {
  // Nothing is known of the lists where tiles see less than the whole context.
  if (!facts_.single_query || facts_.windowed) return shares(merging);
  std::int64_t tiles = 0;
  for (const workloads::Request& request : workload_.requests) {
    tiles += schedules::ceil_div(request.context_len, tile_tokens);
  }
  tiles *= std::int64_t{facts_.heads} * blocks_;
  const std::int64_t lists = schedules::lean_grid(tiles, facts_.outputs, workers_);
  if (lists == 0) return {};
  Runner& one = runner(use_of(merging));
  const bool several = 2.0 * facts_.longest * static_cast<double>(lists) < block_tokens_;
  LeastTime time = time_of(one, several ? 0 : in_step(one, 1, lists));
  time.add_equal(lists, block_tokens_, static_cast<double>(facts_.outputs * blocks_));
  const std::int64_t parts =
      schedules::ceil_div(schedules::ceil_div(facts_.longest, tile_tokens), schedules::ceil_div(tiles, lists));
  const double merge = merge_seconds(parts, merging);
  return bound_of(time.parts(lists, one.kernel.prologue_seconds), merge, merge);
}

/// Of the longest output, if it is cut into pieces as long as each worker's share. Rules cut less where there are
/// outputs for most workers.
double KernelBounds::expected_merge_seconds(Merging merging) {
  if (2 * facts_.outputs * blocks_ > workers_) return 0;
  const double share = std::max(1.0, block_tokens_ / static_cast<double>(workers_));
  return merge_seconds(static_cast<std::int64_t>(std::ceil(facts_.longest / share)), merging);
}

/// As many lists as there are workers, if they come out equally long.
simulator::LeastParts KernelBounds::share_parts(std::int64_t workers, Use use) {
  Runner& one = runner(use);
  // Lists of several items are not in step.
  const bool several = 2.0 * facts_.longest * static_cast<double>(workers) < block_tokens_;
  LeastTime time = time_of(one, several ? 0 : in_step(one, 1, workers), workers);
  time.add_equal(workers, block_tokens_, static_cast<double>(facts_.outputs * blocks_));
  return time.parts(1, one.kernel.prologue_seconds);  // there may be fewer lists, which crowd the start less
}

/// A list for each piece.
simulator::LeastParts KernelBounds::list_parts(std::int64_t workers, double further_start, double in_step) {
  const std::int64_t least = facts_.outputs * blocks_;
  if (least < workers) return share_parts(workers, Use::any);  // as many as there are workers may read at a time
  LeastTime time = time_of(runner(Use::any), in_step, workers);
  time.add_items(least, block_tokens_, 0, 1);
  return time.parts(workers, further_start);
}

Bound KernelBounds::shares(Merging merging) {
  return bound_of(share_parts(workers_, use_of(merging)), 0, expected_merge_seconds(merging));
}

Bound KernelBounds::lists(Merging merging, bool heads_in_step) {
  const double in_step = heads_in_step || facts_.outputs == facts_.heads ? 1 : 0;
  const double further_start = runner(Use::any).kernel.prologue_seconds;
  return bound_of(list_parts(workers_, further_start, in_step), 0, expected_merge_seconds(merging));
}

Bound KernelBounds::queue(Merging merging) {
  const KernelProfile& kernel = runner(Use::any).kernel;
  const std::int64_t workers = std::min<std::int64_t>(workers_, machine_.sms);
  simulator::LeastParts parts = list_parts(workers, kernel.queue_list_seconds + kernel.item_seconds, 1);
  // It begins with the longest outputs, whose merges inside the kernel the others hide.
  parts.ends = simulator::LeastParts::Ends::longest_first;
  return bound_of(parts, 0, merging == Merging::kernel ? expected_merge_seconds(merging) : 0);
}

}  // namespace splitwave::studies
