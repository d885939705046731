// SPDX-License-Identifier: Apache-2.0
// Constants that a made-up kernel's probes were computed from come back. No device is needed.
#include "studies/kernel_constants.h"

#include <gtest/gtest.h>

#include <cmath>
#include <tuple>

#include "base/error.h"
#include "simulator/alternatives.h"
#include "simulator/kernel.h"
#include "workloads/load.h"

namespace splitwave::studies {
namespace {

using gpu::ProbeKind;

const simulator::Machine kH200 = simulator::load_machine("h200");
constexpr double kNs = 1e-9;
constexpr double kLaunch = 600, kLatency = 350, kEmptyAny = 2500, kEmptySingle = 1500, kChainAny = 400,
                 kChainSingle = 440, kItem = 900, kMerge = 1500, kPerSplit = 90, kBatch = 600, kList = 1300,
                 kFirstRound = 70, kCrowd = 150, kSmOfL2 = 250,
                 kShort = (1 - 16.0 / 64) * (0.4 * kChainAny + 64 * 512 / kSmOfL2), kLater = 170, kTraffic = 120,
                 kPagedItem = 260, kPagedCrowd = 180, kPerCta = 0.5, kDispatch = 396 * kPerCta, kLaterStart = 480,
                 kCrowdStart = 230, kShared = 700, kWaiting = 600, kWaitingPerSplit = 12, kSpread = 40, kFlag = 250,
                 kSingleMerge = 800, kSinglePerSplit = 30, kSingleBatch = 200, kFullRound = 550, kPagedFullRound = 660,
                 kFewerRows = 320, kFullStart = 700;
constexpr std::int32_t kRegisters = 160, kSharedBytes = 70'000, kSingleWorkers = 396;
/// A round: half of the window that comes while a stage is waited for and worked on.
constexpr double kTransferAny = (kLatency + kChainAny) / 2, kTransferSingle = (kLatency + kChainSingle) / 2;
constexpr double kFirst = kLaunch + kEmptyAny + kLatency + kTransferAny + kChainAny;
constexpr double kFirstSingle = kLaunch + kEmptySingle + kLatency + kTransferSingle + kChainSingle;
/// A quarter of a round in a CTA alone: 16 tokens of 512 bytes at 250 GB/s.
constexpr double kFew = kEmptySingle + kLatency + (0.6 + 0.4 / 4) * kChainSingle + 16 * 512 / kSmOfL2;

/// Probes of r1w4s2t16, clusters of 1, in nanoseconds.
class Probes {
 public:
  /// by_packets: of CTAs that wait.
  std::vector<gpu::KernelProbe> make(bool by_packets = true) {
    by_packets_ = by_packets;
    for (const bool any : {true, false}) single_items(any);
    lists();
    paged_ = true;
    for (const bool any : {true, false}) single_items(any);
    lists();
    paged_ = false;
    for (const std::int32_t count : {2, 6}) {
      add(ProbeKind::queue, count, true, kFirst + 100 + (count - 1) * (kEach + kList));
      add(ProbeKind::waves, count, false,
          kLaunch + count * (kDispatch + kFew) + kCrowdStart + kSpread * std::log2(kSingleWorkers) +
              (count - 1) * kLaterStart);
    }
    merges();
    add(ProbeKind::table, kRound, false, kFirstSingle + 80);
    for (const bool paged : {false, true}) {
      paged_ = paged;
      for (const std::int32_t rounds : {2, 10}) {
        add(ProbeKind::full, rounds * kRound, true, kFirst + rounds * (paged ? kPagedFullRound : kFullRound));
      }
    }
    return all_;
  }

 private:
  static constexpr std::int32_t kRound = 64;
  static constexpr double kEach = kChainAny + kEmptySingle / 2 + kItem;

  void single_items(bool any) {
    const double empty = kLaunch + (any ? kEmptyAny : kEmptySingle);
    add(ProbeKind::empty, 0, any, empty);
    for (const std::int32_t rounds : {1, 2, 10}) {
      add(ProbeKind::item, rounds * kRound, any,
          empty + kLatency + (any ? kTransferAny : kTransferSingle) + rounds * (any ? kChainAny : kChainSingle) +
              (rounds > 1 ? kFirstRound : 0));
    }
  }

  void lists() {
    const double each = kEach + (paged_ ? kPagedItem : 0);
    for (const std::int32_t count : {2, 6}) {
      add(ProbeKind::items, count, true, kFirst + (count - 1) * each);
      add(ProbeKind::short_items, count, true, kFirst + (count - 1) * (each - kShort));
      if (!paged_) add(ProbeKind::row_items, count, true, kFirst + (count - 1) * (each - kFewerRows));
      add(ProbeKind::crowd, count, true,
          kFirst + kFullStart + (count - 1) * (each - kShort + (paged_ ? kPagedCrowd : 0)));
    }
  }

  void merges() {
    for (const std::int32_t parts : {2, 8, 32}) {
      const double merge = kMerge + parts * kPerSplit + (parts > 8 ? (parts / 8 - 1) * kBatch : 0);
      const double single = kSingleMerge + parts * kSinglePerSplit + (parts > 8 ? (parts / 8 - 1) * kSingleBatch : 0);
      add(ProbeKind::splits, parts, true, kFirst + kFlag + merge);
      add(ProbeKind::splits, parts, false, kFirstSingle + kFlag + single);
      const double shared = kFlag + kShared + 0.5 * (merge - kShared);  // one turn for two
      add(ProbeKind::host, parts, true, kFirst + (by_packets_ ? kFlag + kWaiting + parts * kWaitingPerSplit : shared));
      add(ProbeKind::kernel, parts, true, lists_of(gpu::kMergedLists) + merge + 500 + kTraffic);
      add(ProbeKind::lone_kernel, parts, true, lists_of(parts) + merge + 500);
      add(ProbeKind::unmerged, parts, true, lists_of(parts));
    }
    add(ProbeKind::unmerged, gpu::kMergedLists, true, lists_of(gpu::kMergedLists));
  }

  /// So many lists at a time.
  static double lists_of(std::int32_t count) {
    return kFirst + (count - 1) * kPerCta + kSpread * std::log2(count) + (count == gpu::kMergedLists ? kCrowd : 0);
  }

  void add(ProbeKind kind, std::int32_t count, bool any, double ns) {
    gpu::KernelProbe probe;
    probe.geometry.head_dim = 128;
    probe.geometry.value_dim = 128;
    probe.config.stages = 2;
    probe.paged = paged_;
    probe.kind = kind;
    probe.count = count;
    probe.any_plan = any;
    probe.seconds = ns * kNs;
    all_.push_back(probe);
  }
  bool by_packets_ = true;
  bool paged_ = false;
  std::vector<gpu::KernelProbe> all_;
};

ProbedConfig probed_config() {
  ProbedConfig probed;
  probed.config.stages = 2;
  probed.geometry.head_dim = 128;
  probed.clusters = {1};
  probed.resources = {{128, 255, 80'000, {2, 264}, true, kRegisters, kSharedBytes, {3, kSingleWorkers}}};
  probed.probes = Probes().make();
  return probed;
}

ProbeBase base_of_probes() {
  ProbeBase base;
  base.launch_seconds = kLaunch * kNs;
  base.launch_later_seconds = kLater * kNs;
  base.launch_seconds_per_cta = kPerCta * kNs;
  base.ring_l2_seconds = kLatency * kNs;
  base.ring_l2_bytes_per_second = kSmOfL2 * 1e9;
  base.sm_bytes_per_second = 200e9;
  base.flag_seconds = kFlag * kNs;
  base.latency_scale = 0.5;
  base.queue_scale = 0.4;
  base.clock_hz = 2e9;
  base.source = "a test";
  return base;
}

/// The profile that a kernel file with the config's constants gives.
simulator::KernelProfile profile_of(const ProbedConfig& probed, const char* workload,
                                    const ProbeBase& base = base_of_probes()) {
  const std::string file = changed_kernel_file(simulator::kernel_text("splitwave"), {probed}, base, kH200);
  const simulator::KernelFamily family = simulator::parse_kernel(file, "file");
  auto all = simulator::alternatives(family, workloads::parse_spec(workload), kH200, simulator::kAnyRows);
  const auto other = [&](const simulator::KernelProfile& kernel) { return kernel.config != to_string(probed.config); };
  std::erase_if(all, other);
  EXPECT_EQ(all.size(), 1U);
  return all.at(0);
}

std::vector<std::string> configs_of(const std::string& file) {
  std::vector<std::string> all;
  for (const simulator::KernelVariant& variant : simulator::parse_kernel(file, "file").variants) {
    all.push_back(variant.kernel.config);
  }
  return all;
}

TEST(KernelConstants, WhatTheDeviceDoesNotRunIsKept) {
  const std::string shipped = simulator::kernel_text("splitwave");
  const std::vector<std::string> before = configs_of(shipped);
  ProbeBase base;
  base.source = "a test";
  const std::vector<std::string> after = configs_of(changed_kernel_file(shipped, {probed_config()}, base, kH200));
  const auto of_team = [](const std::vector<std::string>& configs, char team) {
    return std::count_if(configs.begin(), configs.end(),
                         [&](const std::string& config) { return config.size() > 2 && config[2] == team; });
  };
  EXPECT_EQ(of_team(after, 'w'), 1);
  EXPECT_GT(of_team(before, 'w'), 1);
  for (const char team : {'g', 'm', 'a', 'p'}) {
    EXPECT_GT(of_team(before, team), 0) << team;
    EXPECT_EQ(of_team(after, team), of_team(before, team)) << team;
  }
}

TEST(KernelConstants, AreThoseThatTheProbesWereMadeOf) {
  const simulator::KernelProfile kernel = profile_of(probed_config(), "h=8/1,d=128:1q1s1k");
  EXPECT_EQ(kernel.config, "r1w4s2t16c1");
  EXPECT_NEAR(kernel.prologue_seconds + kernel.epilogue_seconds, kEmptyAny * kNs, 1e-12);
  EXPECT_NEAR(kernel.single_item_prologue_seconds + kernel.epilogue_seconds, kEmptySingle * kNs, 1e-12);
  EXPECT_NEAR(kernel.chain_clocks * 64 / 2, kChainAny, 0.1);
  EXPECT_NEAR(kernel.single_item_chain_clocks * 64 / 2, kChainSingle, 0.1);
  EXPECT_NEAR(kernel.first_round_seconds, kFirstRound * kNs, 1e-12);
  EXPECT_NEAR(kernel.single_item_first_round_seconds, kFirstRound * kNs, 1e-12);
  EXPECT_NEAR(kernel.item_seconds, kItem * kNs, 1e-12);
  EXPECT_NEAR(kernel.item_fewer_rows_seconds, kFewerRows * kNs, 1e-12);
  EXPECT_LT(kernel.waiting_prologue_seconds, 0);
  EXPECT_NEAR(kernel.table_seconds, 80 * kNs, 1e-12);
  EXPECT_NEAR(kernel.spread_start_seconds, kSpread * kNs, 1e-12);
  EXPECT_NEAR(kernel.crowd_start_seconds, kCrowd * 264 / gpu::kMergedLists * kNs, 1e-11);
  EXPECT_NEAR(kernel.single_item_crowd_start_seconds, kCrowdStart * kNs, 1e-12);
  EXPECT_NEAR(kernel.later_start_seconds, kLaterStart * kNs, 1e-12);
  EXPECT_NEAR(kernel.item_crowded_seconds, kItem * kNs, 1e-12);
  EXPECT_NEAR(kernel.paged_item_seconds, kPagedItem * kNs, 1e-12);
  EXPECT_NEAR(kernel.paged_item_crowded_seconds, (kPagedItem + kPagedCrowd) * kNs, 1e-12);
  EXPECT_NEAR(kernel.queue_list_seconds, (kList - kLatency - kTransferAny) * kNs, 1e-12);
  EXPECT_NEAR(kernel.queue_prologue_seconds, 100 * kNs, 1e-12);
  EXPECT_NEAR(kernel.merge_seconds, kMerge * kNs, 1e-12);
  EXPECT_NEAR(kernel.merge_seconds_per_split, kPerSplit * kNs, 1e-12);
  EXPECT_NEAR(kernel.merge_batch_seconds, kBatch * kNs, 1e-12);
  EXPECT_NEAR(kernel.single_item_merge_seconds, kSingleMerge * kNs, 1e-12);
  EXPECT_NEAR(kernel.single_item_merge_seconds_per_split, kSinglePerSplit * kNs, 1e-12);
  EXPECT_NEAR(kernel.single_item_merge_batch_seconds, kSingleBatch * kNs, 1e-12);
  EXPECT_EQ(kernel.single_item_registers_per_thread, kRegisters);
  EXPECT_EQ(kernel.single_item_shared_bytes, kSharedBytes);
  EXPECT_NEAR(kernel.crowded_clocks * 2 * 64 / 2, kFullRound, 0.1);
  EXPECT_NEAR(kernel.paged_crowded, kPagedFullRound / kFullRound, 1e-4);
  EXPECT_NEAR(kernel.waiting_merge_seconds, kWaiting * kNs, 1e-12);
  EXPECT_NEAR(kernel.waiting_merge_seconds_per_split, kWaitingPerSplit * kNs, 1e-12);
  EXPECT_LT(kernel.merge_shared_seconds, 0);
  EXPECT_NEAR(kernel.merge_launch_seconds, (kMerge + 500 + kLater) * kNs, 1e-12);
  EXPECT_NEAR(kernel.merge_kernel_bytes_per_second * kTraffic * kNs, gpu::kMergedLists * 8 * (128 + 1) * 4.0, 1);
  EXPECT_NEAR(kernel.partial_tile, 0.6, 1e-4);
  EXPECT_NEAR(kernel.merge_kernel_batch_seconds, kBatch * kNs, 1e-12);
  EXPECT_EQ(kernel.latency_scale, 0.5);
  EXPECT_EQ(kernel.queue_scale, 0.4);
}

TEST(KernelConstants, OfKernelsWhoseWarpsWorkTogether) {
  ProbedConfig probed = probed_config();
  probed.config.team = gpu::Team::group;
  probed.probes = Probes().make(false);
  const simulator::KernelProfile kernel = profile_of(probed, "h=8/1,d=128:1q1s1k");
  EXPECT_NEAR(kernel.merge_shared_seconds, kShared * kNs, 1e-12);
  EXPECT_LT(kernel.waiting_merge_seconds, 0);
  EXPECT_NEAR(kernel.crowd_start_seconds, (kFullStart - 263 * kPerCta - kSpread * std::log2(264)) * kNs, 1e-11);
}

/// With masks single items are lists too, and what CTAs of an SM take of each other is in waves of them.
TEST(KernelConstants, OfMaskedItemsOnAFullDevice) {
  ProbedConfig probed = probed_config();
  probed.masked = true;
  for (gpu::KernelProbe& probe : probed.probes) probe.seconds += probe.kind == ProbeKind::waves ? kFirst * kNs : 0;
  for (gpu::KernelProbe probe : Probes().make()) {
    const bool queries = probe.kind == ProbeKind::splits && probe.count == 8;
    if (probe.kind != ProbeKind::items && !queries) continue;
    probe.kind = queries ? ProbeKind::queries : ProbeKind::unhidden;
    probed.probes.push_back(probe);
  }
  const double more = kSpread * (std::log2(kSingleWorkers) - std::log2(264)) - 263 * kPerCta;
  const simulator::KernelProfile kernel = profile_of(probed, "h=4/1,d=128:1q2s1k");
  EXPECT_NEAR(kernel.full_sm_start_seconds + kernel.crowd_start_seconds,
              (kLaunch + kDispatch + kFew + kCrowdStart + more) * kNs, 0.1 * kNs);
}

/// Where the second CTA already starts as late as the eighth.
TEST(KernelConstants, OfStartsAreNoMoreThanManyShow) {
  ProbedConfig probed = probed_config();
  for (gpu::KernelProbe& probe : probed.probes) {
    const bool many = probe.kind == ProbeKind::unmerged && probe.count == gpu::kMergedLists;
    if (many) probe.seconds -= (kCrowd + 0.5 * kSpread * std::log2(gpu::kMergedLists)) * kNs;
  }
  EXPECT_NEAR(profile_of(probed, "h=8/1,d=128:1q1s1k").spread_start_seconds, 0.5 * kSpread * kNs, 1e-11);
}

/// CTAs that wait have kernels of their own, whose lists take something else, and their merges are what is added to
/// these.
TEST(KernelConstants, OfKernelsForCtasThatWait) {
  constexpr double kStart = -150, kFurther = -80;
  ProbedConfig probed = probed_config();
  const std::vector<gpu::KernelProbe> all = probed.probes;
  for (gpu::KernelProbe probe : all) {
    const bool one = probe.kind == ProbeKind::item;
    const bool several =
        probe.kind == ProbeKind::items || probe.kind == ProbeKind::short_items || probe.kind == ProbeKind::crowd;
    if (!probe.any_plan || probe.paged || !(one || several)) continue;
    probe.waits = true;
    probe.seconds += (kStart + (several ? (probe.count - 1) * kFurther : 0)) * kNs;
    probed.probes.push_back(probe);
  }
  const simulator::KernelProfile before = profile_of(probed_config(), "h=8/1,d=128:1q1s1k");
  const simulator::KernelProfile kernel = profile_of(probed, "h=8/1,d=128:1q1s1k");
  EXPECT_NEAR(kernel.prologue_seconds, before.prologue_seconds, 1e-13);
  EXPECT_NEAR(kernel.waiting_prologue_seconds, kernel.prologue_seconds + kStart * kNs, 1e-12);
  EXPECT_NEAR(kernel.waiting_item_seconds, (kItem + kFurther) * kNs, 1e-12);
  EXPECT_NEAR(kernel.waiting_item_crowded_seconds, (kItem + kFurther) * kNs, 1e-12);
  EXPECT_NEAR(kernel.waiting_chain_clocks, kernel.chain_clocks, 1e-6);
  EXPECT_NEAR(kernel.waiting_merge_seconds, (kWaiting - kStart) * kNs, 1e-12);
}

TEST(KernelConstants, OfKeysInBoxes) {
  ProbedConfig probed = probed_config();
  EXPECT_EQ(profile_of(probed, "h=8/1,d=128:1q1s1k").box_chain_clocks, 0);
  for (const std::int32_t rounds : {2, 10}) {
    probed.probes.push_back(probed.probes.front());
    probed.probes.back().kind = ProbeKind::boxes;
    probed.probes.back().count = rounds * 64;
    probed.probes.back().any_plan = true;
    probed.probes.back().seconds = (kFirst + rounds * kChainAny / 2) * kNs;
  }
  EXPECT_NEAR(profile_of(probed, "h=8/1,d=128:1q1s1k").box_chain_clocks * 64 / 2, kChainAny / 2, 0.1);
}

/// Two short items fall to two warps, and two items of a round are two rounds of each: no warp has a second one.
TEST(KernelConstants, OfWarpsWithListsOfTheirOwn) {
  constexpr double kCombine = 500, kUnhidden = 5000, kEdge = 40;
  ProbedConfig probed = probed_config();
  for (gpu::KernelProbe& probe : probed.probes) {
    if (probe.count != 2 || probe.paged) continue;
    if (probe.kind == ProbeKind::short_items) probe.seconds = (kFirst - kCombine) * kNs;
  }
  probed.config.team = gpu::Team::alone;
  const simulator::KernelProfile kernel = profile_of(probed, "h=8/1,d=128:1q1s1k");
  EXPECT_EQ(kernel.config, "r1a4s2t16c1");
  EXPECT_TRUE(kernel.warps_alone);
  EXPECT_NEAR(kernel.combine_seconds, kCombine * kNs, 1e-12);
  probed.masked = true;
  for (const auto& [kind, count, ns] : {std::tuple{ProbeKind::unhidden, 2, kUnhidden},
                                        {ProbeKind::unhidden, 6, kUnhidden + 4 * kChainAny},
                                        {ProbeKind::queries, 8, kFirst + 6 * kEdge}}) {
    for (const bool paged : {false, true}) {
      probed.probes.push_back(probed.probes.front());
      probed.probes.back().kind = kind;
      probed.probes.back().count = count;
      probed.probes.back().paged = paged;
      probed.probes.back().any_plan = true;
      probed.probes.back().seconds = ns * kNs;
    }
  }
  const simulator::KernelProfile masked = profile_of(probed, "h=4/1,d=128:1q2s1k");
  EXPECT_NEAR(masked.prologue_seconds + masked.epilogue_seconds,
              (kUnhidden - 2 * kChainAny - kLatency - kTransferAny - kLaunch) * kNs, 1e-10);
}

/// Adds items of one round and of two with K and V in DRAM, of which what stands around a round takes `around`, and a
/// further first round `less` than the others.
void add_cold_items(ProbedConfig& probed, const ProbeBase& base, bool any, double around, double less) {
  constexpr double kRoundBytes = 64 * 512;
  const double chain = any ? kChainAny : kChainSingle;
  const double one =
      kLaunch + around + kLatency + base.farther_seconds / kNs + kRoundBytes / base.sm_bytes_per_second / kNs + chain;
  for (const std::int32_t rounds : {1, 2}) {
    probed.probes.push_back(probed.probes.front());
    probed.probes.back().kind = ProbeKind::cold;
    probed.probes.back().count = rounds * 64;
    probed.probes.back().any_plan = any;
    probed.probes.back().seconds = (rounds == 1 ? one : one + chain - less) * kNs;
  }
}

/// What a start hides of the way from memory is its own; and first rounds wait less for their loads to be sent.
TEST(KernelConstants, OfItemsInDramAreWhatCallsTake) {
  ProbeBase base = base_of_probes();
  base.farther_seconds = 240 * kNs;
  const simulator::KernelProfile warm = profile_of(probed_config(), "h=8/1,d=128:1q1s1k", base);
  ProbedConfig probed = probed_config();
  add_cold_items(probed, base, true, kEmptyAny + 90, 60);
  add_cold_items(probed, base, false, kEmptySingle - 110, 50);
  const simulator::KernelProfile kernel = profile_of(probed, "h=8/1,d=128:1q1s1k", base);
  EXPECT_NEAR(kernel.prologue_seconds + kernel.epilogue_seconds, (kEmptyAny + 90) * kNs, 0.1 * kNs);
  EXPECT_NEAR(kernel.single_item_prologue_seconds + kernel.epilogue_seconds, (kEmptySingle - 110) * kNs, 0.1 * kNs);
  EXPECT_NEAR(kernel.first_round_seconds, -60 * kNs, 0.1 * kNs);
  EXPECT_NEAR(kernel.single_item_first_round_seconds, -50 * kNs, 0.1 * kNs);
  // Waves of short items are in L2, and take what they took.
  EXPECT_NEAR(kernel.later_start_seconds, warm.later_start_seconds, 0.1 * kNs);
  EXPECT_NEAR(kernel.single_item_crowd_start_seconds, warm.single_item_crowd_start_seconds, 0.1 * kNs);
}

TEST(KernelConstants, OfAFullDeviceLeaveOutWhatL2IsShared) {
  ProbeBase base = base_of_probes();
  base.l2_bytes_per_second = 16e12;
  const double shared = gpu::kMergedLists * 64 * 512 / 16e3 - 64 * 512 / kSmOfL2;
  EXPECT_NEAR(profile_of(probed_config(), "h=8/1,d=128:1q1s1k", base).crowd_start_seconds,
              (kCrowd - shared) * 264 / gpu::kMergedLists * kNs, 0.1 * kNs);
}

TEST(KernelConstants, OfMergesAreThoseOfTheSameConfigWithoutMasks) {
  std::vector<ProbedConfig> all(4, probed_config());
  all[0].config.stages = 4;
  all[2].masked = true;
  all[3].masked = true;
  all[3].config.tokens = 32;
  EXPECT_EQ(&merging_like(all[1], all), &all[1]);
  EXPECT_EQ(&merging_like(all[2], all), &all[1]) << "not the first one that merges alike";
  EXPECT_EQ(&merging_like(all[3], all), &all[0]) << "where its own does not run";
}

TEST(KernelConstants, RefuseAFileThatIsNone) {
  EXPECT_THROW(changed_kernel_file("[]", {}, {}, kH200), base::InputError);
}

}  // namespace
}  // namespace splitwave::studies
