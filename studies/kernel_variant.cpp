// SPDX-License-Identifier: Apache-2.0
#include "studies/kernel_variant.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "studies/constant_list.h"
#include "studies/edge_constants.h"
#include "studies/merge_constants.h"
#include "studies/probe_times.h"
#include "studies/round_costs.h"

namespace splitwave::studies {
namespace {

using gpu::KernelConfig;
using gpu::KernelProbe;
using gpu::ProbeKind;
using Json = nlohmann::ordered_json;

/// The constants of one config as they are written.
class Writer {
 public:
  /// merging: the config whose probes say what merges cost, which does not depend on masks. shared_turns: parts times
  /// turns from which on CTAs that wait share a merge.
  Writer(const ProbedConfig& probed, const ProbedConfig& merging, const ProbeBase& base, double shared_turns)
      : probed_(probed),
        merging_(merging),
        base_(base),
        shared_turns_(shared_turns),
        merge_times_(merging),
        rounds_(probed, base),
        waiting_(probed, base, true),
        times_(rounds_.times()),
        list_(base.source) {}

  Json write() {
    resources();
    if (probed_.config.stages == 1) {
      whole_item();
    } else {
      fixed();
      chains();
      items();
      waiting();
      later_starts();
      add_merge_constants(probed_, merging_, base_, shared_turns_, list_);
    }
    paged();
    const KernelConfig& c = probed_.config;
    const std::int32_t d = probed_.geometry.head_dim;
    Json variant = {{"head_dim", {d, d}}, {"config", gpu::name_without_cluster(c)}, {"rows", 8 * c.row_tiles}};
    if (probed_.masked) variant["masked"] = true;
    if (c.team == gpu::Team::group || c.team == gpu::Team::seesaw) variant["instruction"] = "wgmma";
    if (probed_.geometry.kind == workloads::AttentionKind::mla) variant["value_dim"] = probed_.geometry.value_dim;
    variant["constants"] = std::move(list_).take();
    return variant;
  }

 private:
  void add(const char* key, const char* unit, const Json& value, const char* confidence = "measured") {
    list_.add(key, unit, value, confidence);
  }
  void add_ns(const char* key, double value) { list_.add_ns(key, value); }
  void add_clocks(const char* key, double ns, std::int32_t tokens) {
    add(key, "clock", rounded(std::max(0.0, ns) * 1e-9 * base_.clock_hz / tokens));
  }
  template <class F>
  Json by_cluster(F value) const {
    Json list = Json::array();
    for (const std::int32_t cluster : probed_.clusters) list.push_back(rounded(std::max(0.0, value(cluster))));
    return list;
  }

  /// CTAs of the least cluster that it is compiled for.
  std::int32_t least() const { return probed_.clusters.front(); }
  /// Whether the warps have lists of their own.
  bool alone() const { return probed_.config.team == gpu::Team::alone; }
  bool shares_tiles() const { return probed_.config.team != gpu::Team::warps && !alone(); }

  void resources() {
    const gpu::KernelResources& single = probed_.resources.front();
    const KernelConfig& c = probed_.config;
    add("threads", "thread", single.threads);
    add("registers_per_thread", "register", single.registers_per_thread);
    add("shared_memory", "byte", single.shared_bytes);
    add("cluster_shared_memory", "byte", probed_.resources.back().shared_bytes);
    add("bytes_in_flight", "byte", c.bytes_in_flight(probed_.geometry), "derived");
    add("tile_tokens", "token", c.warps * c.tokens, "derived");
    add("clusters", "CTA", probed_.clusters);
    if (single.single_item_registers_per_thread > 0) {
      Json registers = Json::array();
      Json shared = Json::array();
      for (const gpu::KernelResources& found : probed_.resources) {
        registers.push_back(found.single_item_registers_per_thread);
        shared.push_back(found.single_item_shared_bytes);
      }
      add("single_item_registers_per_thread", "register", registers);
      add("single_item_shared_memory", "byte", shared);
    }
    if (shares_tiles()) add("shares_tiles", "1", 1, "derived");
    if (!alone()) return;
    add("warps_alone", "1", 1, "derived");
    // A round of one item, of which each warp has a piece, and two items of which two warps have one each.
    add_ns("combine",
           times_.at(1, true, ProbeKind::item, times_.round(1)) - times_.at(1, true, ProbeKind::short_items, 2));
  }

  /// A kernel that holds its item: what an SM that is full takes for each CTA, and the rest of what a lone one takes.
  void whole_item() {
    Json crowded_clocks = Json::array();
    Json single = Json::array();
    Json transfers = Json::array();
    Json early = Json::array();
    for (std::size_t i = 0; i < probed_.clusters.size(); ++i) {
      const std::int32_t cluster = probed_.clusters[i];
      const double lone = times_.at(cluster, false, ProbeKind::item, times_.round(cluster));
      const double wave = times_.each(cluster, false, ProbeKind::waves);
      const double on_sm = probed_.resources[i].single_item_where.ctas_per_sm;
      const double crowded = on_sm > 1 ? wave / on_sm : 0;
      crowded_clocks.push_back(rounded(std::max(0.0, crowded) * 1e-9 * base_.clock_hz / times_.round(1)));
      const std::optional<double> round = times_.held_transfer(cluster);
      if (round) transfers.push_back(rounded(*round));
      const double fixed = round ? times_.at(cluster, false, ProbeKind::cold, times_.round(cluster)) -
                                       rounds_.launch() - rounds_.latency() - rounds_.farther() - *round - crowded
                                 : lone - rounds_.launch() - rounds_.latency() - rounds_.transfer(cluster) - crowded;
      // Not 0 where nothing is left over: that would say that there is no such kernel.
      single.push_back(rounded(std::max(1.0, fixed)));
      early.push_back(rounded(std::max(0.0, 1 - fixed) * 1e-9 * base_.clock_hz / times_.round(1)));
    }
    add("fixed", "ns", by_cluster([](std::int32_t) { return 0.0; }), "derived");
    add("single_item_fixed", "ns", single);
    add("most_tokens", "token", times_.round(1), "derived");
    if (transfers.size() == probed_.clusters.size()) add("held_transfer", "ns", transfers);
    add("early_clocks", "clock", early);
    add("crowded_clocks", "clock", crowded_clocks);
    table();
    if (times_.find(least(), false, ProbeKind::row_waves, 2)) {
      const double less =
          times_.each(least(), false, ProbeKind::waves) - times_.each(least(), false, ProbeKind::row_waves);
      add_ns("fewer_rows", less / probed_.resources.front().single_item_where.ctas_per_sm);
    }
    const double two = times_.at(least(), false, ProbeKind::waves, 2);
    add_ns("single_item_crowd_start", two - 2 * times_.each(least(), false, ProbeKind::waves) - rounds_.launch());
    add_part_merges(probed_, times_, base_, list_);
  }

  void table() {
    const std::int32_t round = times_.round(least());
    add_ns("table",
           times_.at(least(), false, ProbeKind::table, round) - times_.at(least(), false, ProbeKind::item, round));
  }

  /// Prologue and epilogue.
  void fixed() {
    if (probed_.masked) return masked_fixed();
    const auto empty = [&](std::int32_t c) { return times_.at(c, true, ProbeKind::empty, 0) - rounds_.launch(); };
    // Clusters run any plan in probes of items without tokens alone. Of group kernels these are all that counts in L2:
    // their queries come through the ring, no later than keys from memory.
    const double warm = shares_tiles() ? 0 : rounds_.around(1, true) - empty(1);
    const bool cold = times_.find(1, true, ProbeKind::cold, times_.round(1)).has_value();
    const double more = cold ? rounds_.around_cold(1, true) - empty(1) : warm;
    add("fixed", "ns", by_cluster([&](std::int32_t c) { return empty(c) + more; }));
    const bool single = probed_.resources.front().single_item;
    add("single_item_fixed", "ns",
        by_cluster([&](std::int32_t c) { return single ? rounds_.around_cold(c, false) : 0.0; }));
    for (const std::int32_t c : probed_.clusters) {
      // Of group kernels what waves take longer is counted from what their starts take with K and V in DRAM.
      wave_fixed_.push_back(
          std::max(0.0, single ? rounds_.around(c, false) : empty(c) + (shares_tiles() ? more : warm)));
    }
    if (single) table();
  }

  void masked_fixed() {
    // A round takes a cluster's CTA as long as a single one, as without masks: masked probes of one item over
    // clusters with 256 rows and more, all CTAs', take two and three times as long a round, which plans do not show.
    for (const std::int32_t c : probed_.clusters) {
      wave_fixed_.push_back(std::max(0.0, rounds_.around_masked(c)));
    }
    Json fixed = Json::array();
    for (const double warm : wave_fixed_) fixed.push_back(rounded(warm));
    add("fixed", "ns", fixed);
    add_edge_constants(probed_, times_, list_);
    add("single_item_fixed", "ns", by_cluster([](std::int32_t) { return 0.0; }), "derived");
  }

  void chains() {
    const std::int32_t round = times_.round(1);
    add_clocks("chain_clocks", times_.chain(1, true), round);
    if (const std::optional<double> boxes = times_.box_chain()) add_clocks("box_chain_clocks", *boxes, round);
    full_sms();
    add("first_rounds", "ns", rounded(times_.first_rounds(true)));
    refill("ring_refill", true);
    partial_tile();
    if (!probed_.resources.front().single_item) return;
    add_clocks("single_item_chain_clocks", times_.chain(1, false), round);
    add("single_item_first_rounds", "ns", rounded(times_.first_rounds(false)));
    refill("single_item_ring_refill", false);
  }

  void refill(const char* key, bool any_plan) {
    if (const auto ns = rounds_.ring_refill(any_plan, shares_tiles())) add(key, "ns", rounded(*ns));
  }

  /// What an SM takes for a token where it holds as many CTAs as fit. Nothing where that is one, or could not be
  /// probed.
  void full_sms() {
    const std::optional<double> rounds = full_rounds(false);
    if (!rounds) return;
    add_clocks("crowded_clocks", *rounds / probed_.resources.front().where.ctas_per_sm, 8 * times_.round(1));
    const std::optional<double> looked_up = full_rounds(true);
    if (looked_up && *rounds > 0) add("paged_crowded", "1", rounded(std::max(1.0, *looked_up / *rounds)));
  }
  /// Eight rounds of the items on such an SM, in ns.
  std::optional<double> full_rounds(bool pages) const {
    const std::int32_t before = probed_.config.stages * times_.round(1);
    const std::optional<double> less = times_.find(1, true, ProbeKind::full, before, pages);
    const std::optional<double> more = times_.find(1, true, ProbeKind::full, before + 8 * times_.round(1), pages);
    if (!less || !more) return std::nullopt;
    return *more - *less;
  }

  /// Share of a round's arithmetic that one of few tokens takes all the same, from lists of either: what of the
  /// difference is not the way of the other tokens, which an item waits for.
  void partial_tile() {
    const double missing = 1 - gpu::kFewTokens / static_cast<double>(times_.round(1));
    const double less = times_.each(1, true, ProbeKind::items) - times_.each(1, true, ProbeKind::short_items) -
                        missing * rounds_.transfer(1);
    const double share = 1 - less / times_.chain(1, true) / missing;
    add("partial_tile", "1", rounded(std::clamp(share, 0.0, 1.0)));
  }

  /// The key of the prologue and epilogue of lists of one item.
  const char* fixed_key() const { return probed_.resources.front().single_item ? "single_item_fixed" : "fixed"; }

  /// What a further item takes beside its round, and how much more of it with as many CTAs on an SM as fit.
  std::pair<double, double> item_costs(const ProbeTimes& times, bool pages) const {
    const ProbeKind kind = probed_.masked ? ProbeKind::unhidden : ProbeKind::items;
    const double epilogue = alone() ? 0 : list_.value(fixed_key())[0].get<double>() / 2;
    const double lone =
        times.each(1, true, kind, pages) - times.chain(1, true, pages) - epilogue + times_.farther_item();
    const double crowd =
        times.each(1, true, ProbeKind::crowd, pages) - times.each(1, true, ProbeKind::short_items, pages);
    return {std::max(0.0, lone), std::max(0.0, crowd)};
  }

  void items() {
    const double each = times_.each(1, true, ProbeKind::items);
    const auto [item, crowd] = item_costs(times_, false);
    add_ns("item", item);
    add_ns("item_crowded", item + crowd);
    if (times_.find(1, true, ProbeKind::row_items, 2)) {
      add_ns("item_fewer_rows", each - times_.each(1, true, ProbeKind::row_items));
    }
    const std::optional<double> second = times_.second_item();
    if (second && !alone()) add("second_item", "ns", rounded(*second));
    add_ns("spread_start", spread_start());
    add_ns("crowd_start", crowd_start());
    full_sm_start();
    const double list = times_.each(1, true, ProbeKind::queue);
    const double end = alone() ? list_.value(fixed_key())[0].get<double>() / 2 : 0;  // in `each` of the others
    add_ns("queue_list", list - each - end - rounds_.latency() - rounds_.stream(1, true));
    add_ns("queue_prologue", times_.first(1, true, ProbeKind::queue) - times_.first(1, true, ProbeKind::items));
  }

  /// The same of the kernel for CTAs that wait: prologue and epilogue by what a start takes less than the other's.
  /// Nothing of points without such probes.
  void waiting() {
    if (!waiting_.times().find(1, true, ProbeKind::items, 2)) return;
    const double more = probed_.masked ? waiting_.around_masked(1) - rounds_.around_masked(1)
                                       : waiting_.around_cold(1, true) - rounds_.around_cold(1, true);
    add_ns("waiting_fixed", list_.value("fixed")[0].get<double>() + more);
    const auto [item, crowd] = item_costs(waiting_.times(), false);
    add_ns("waiting_item", item);
    add_ns("waiting_item_crowded", item + crowd);
    add_clocks("waiting_chain_clocks", waiting_.times().chain(1, true), times_.round(1));
  }

  /// For each doubling of the CTAs that start, by what few show: no more than many do, of kernels of many rows of which
  /// the second CTA already starts as late as the eighth.
  double spread_start() const {
    const auto doubling = [&](std::int32_t ctas) { return merge_times_.starts(ctas, dispatch()) / std::log2(ctas); };
    return std::max(0.0, std::min(doubling(8), doubling(gpu::kMergedLists)));
  }
  /// What so many CTAs' first rounds from L2 take longer than a lone one's: streams count that by themselves.
  double shared_l2(double ctas) const {
    if (base_.l2_bytes_per_second <= 0) return 0;
    return std::max(0.0, ctas * rounds_.round_bytes(1) / base_.l2_bytes_per_second * 1e9 - rounds_.transfer(1));
  }
  /// What is left for a device that is full, which grows by the CTA. Of kernels that share tiles the wait for queries
  /// that all ask for together is none, as in `fixed`: the start of lists of short items says what else it takes.
  double crowd_start() const {
    if (shares_tiles()) return beside_counted(times_.crowded_starts());
    constexpr double kMany = gpu::kMergedLists;
    const double all = merge_times_.starts(gpu::kMergedLists, dispatch()) - shared_l2(kMany);
    const double workers = probed_.resources.front().where.workers;
    return (all - spread_start() * std::log2(kMany)) * workers / kMany;
  }
  /// Those of many, of which crowd_start() is, have an SM each. With masks single items are lists too, whose waves show
  /// what several on an SM take of each other.
  void full_sm_start() {
    if (!probed_.masked || alone() || shares_tiles()) return;
    const double wave = times_.first(1, false, ProbeKind::waves) - times_.first(1, true, ProbeKind::short_items);
    add_ns("full_sm_start", beside_counted(wave) - std::max(0.0, crowd_start()));
  }
  /// Of what a full device's starts take longer than a lone CTA's, what neither dispatch nor spread_start() counts.
  double beside_counted(double longer) const {
    const double workers = probed_.resources.front().where.workers;
    return longer - (workers - 1) * dispatch() - spread_start() * std::log2(workers);
  }
  /// Of each CTA that starts, in ns.
  double dispatch() const { return base_.launch_seconds_per_cta * 1e9; }

  /// Of the probes of waves, which are by the kernel for lists of one item where there is one.
  double wave_workers(std::size_t i) const {
    const gpu::KernelResources& found = probed_.resources[i];
    return found.single_item ? found.single_item_where.workers : found.where.workers;
  }

  /// A wave of CTAs of few tokens, each as if alone, as the constants have it: with the clusters' size number i.
  double wave_of_lone(std::size_t i) const {
    const std::int32_t cluster = probed_.clusters[i];
    const double tokens = gpu::kFewTokens / static_cast<double>(times_.round(cluster));
    const double least = alone() ? 1 : list_.value("partial_tile").get<double>();
    const double edge = probed_.masked ? list_.value("edge").get<double>() : 0;
    const double combine = alone() ? list_.value("combine").get<double>() : 0;  // of no lone warp's item
    return wave_workers(i) * dispatch() + wave_fixed_[i] - combine + rounds_.latency() +
           rounds_.transfer(cluster) * tokens + edge + times_.chain(1, probed_.masked) * (least + (1 - least) * tokens);
  }

  /// What such a CTA takes longer in the place of one that has ended, on a full device.
  void later_starts() {
    Json later = Json::array();
    for (std::size_t i = 0; i < probed_.clusters.size(); ++i) {
      const double wave = times_.each(probed_.clusters[i], false, ProbeKind::waves);
      later.push_back(rounded(std::max(0.0, wave - wave_of_lone(i))));
    }
    add("later_start", "ns", later);
    if (!probed_.resources.front().single_item) return;
    const double first = times_.first(1, false, ProbeKind::waves);
    const double spread = spread_start() * std::log2(wave_workers(0));
    add_ns("single_item_crowd_start", first - rounds_.launch() - wave_of_lone(0) - spread);
  }

  void paged() {
    const std::int32_t round = times_.round(least());
    const bool any_plan = probed_.masked;
    if (!times_.find(least(), any_plan, ProbeKind::item, round, true)) return;
    const auto prologue = [&](bool pages) {
      return times_.first(1, true, ProbeKind::items, pages) - times_.chain(1, true, pages);
    };
    const auto item_prologue = [&](bool pages) {
      const double chain = probed_.config.stages == 1 ? 0 : times_.chain(1, any_plan, pages);
      return times_.at(least(), any_plan, ProbeKind::item, round, pages) - chain;
    };
    add_ns("paged", probed_.masked ? prologue(true) - prologue(false) : item_prologue(true) - item_prologue(false));
    if (probed_.config.stages == 1) {
      const double wave = times_.each(least(), false, ProbeKind::waves);
      const double looked_up = times_.each(least(), false, ProbeKind::waves, true);
      if (wave > 0) add("paged_crowded", "1", rounded(std::max(1.0, looked_up / wave)));
      const auto item = [&](std::int32_t c, bool pages) {
        return times_.find(c, false, ProbeKind::item, times_.round(c), pages);
      };
      if (least() == 1 || !item(probed_.clusters.back(), true)) return;
      add("held_paged", "ns", by_cluster([&](std::int32_t c) { return *item(c, true) - *item(c, false); }));
      return;
    }
    const auto [item, crowd] = item_costs(times_, false);
    const auto [paged_item, paged_crowd] = item_costs(times_, true);
    add_ns("paged_item", paged_item - item);
    add_ns("paged_item_crowded", paged_item + paged_crowd - item - crowd);
    add_clocks("paged_chain_clocks", times_.chain(1, true, true), round);
    if (probed_.resources.front().single_item)
      add_clocks("paged_single_item_chain_clocks", times_.chain(1, false, true), round);
  }

  const ProbedConfig& probed_;
  const ProbedConfig& merging_;
  const ProbeBase& base_;
  double shared_turns_ = 0;
  ProbeTimes merge_times_;
  RoundCosts rounds_;
  RoundCosts waiting_;  ///< of the kernel for CTAs that wait
  const ProbeTimes& times_;
  std::vector<double> wave_fixed_;  ///< of each size of clusters, what fixed_key() is to a wave, with K and V in L2
  ConstantList list_;
};

}  // namespace

nlohmann::ordered_json kernel_variant(const ProbedConfig& probed, const ProbedConfig& merging, const ProbeBase& base,
                                      double shared_turns) {
  return Writer(probed, merging, base, shared_turns).write();
}

}  // namespace splitwave::studies
