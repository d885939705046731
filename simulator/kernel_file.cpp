// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <array>
#include <tuple>
#include <utility>

#include "base/document.h"
#include "base/error.h"
#include "base/fields.h"
#include "simulator/constants.h"
#include "simulator/kernel.h"

namespace splitwave::simulator {
namespace {

using base::JsonValue;

constexpr std::array<std::string_view, 7> kKeys = {"format", "name",      "title",   "instruction",
                                                   "source", "constants", "variants"};
constexpr std::array<std::string_view, 8> kVariantKeys = {"head_dim", "value_dim", "group",       "config",
                                                          "rows",     "masked",    "instruction", "constants"};
constexpr std::array<std::string_view, 4> kInstructions = {"mma.sync", "wgmma", "cuda_core", "tcgen05"};

/// Which constants a kernel must have over common and variant part together.
constexpr std::array<std::string_view, 5> kRequired = {"threads", "registers_per_thread", "shared_memory",
                                                       "bytes_in_flight", "tile_tokens"};

/// Takes the constants that are there; those that are not leave their target as it is.
struct Reader {
  Constants& constants;

  void number(double& target, std::string_view key, std::string_view unit, double scale, double least, double most) {
    target = constants.optional_number(key, unit, scale, least, most).value_or(target);
  }
  void ns(double& target, std::string_view key) { number(target, key, "ns", 1e-9, 0, 1e6); }
  void clocks(double& target, std::string_view key) { number(target, key, "clock", 1, 0, 1e6); }
  template <class Integer>
  void whole(Integer& target, std::string_view key, std::string_view unit, std::int32_t least, std::int32_t most) {
    if (constants.optional_number(key, unit, 1, least, most)) target = constants.integer(key, unit, least, most);
  }
  void flag(bool& target, std::string_view key) {
    if (const auto found = constants.optional_number(key, "1", 1, 0, 1)) target = *found != 0;
  }
};

/// What a kernel's CTAs hold, and how they stream and compute.
void read_streaming(KernelProfile& kernel, Reader read) {
  read.whole(kernel.threads, "threads", "thread", 1, 1024);
  read.whole(kernel.registers_per_thread, "registers_per_thread", "register", 16, 512);
  read.whole(kernel.shared_bytes, "shared_memory", "byte", 0, 1 << 28);
  read.whole(kernel.bytes_in_flight, "bytes_in_flight", "byte", 1, 1 << 28);
  read.whole(kernel.tile_tokens, "tile_tokens", "token", 1, 1 << 20);
  read.whole(kernel.mma_rows, "mma_rows", "row", 1, 1024);
  read.ns(kernel.refill_seconds, "refill");
  read.number(kernel.mma_efficiency, "mma_efficiency", "1", 1, 0.001, 1);
  read.clocks(kernel.clocks_per_token, "clocks_per_token");
  read.clocks(kernel.clocks_per_row_token, "clocks_per_row_token");
  read.number(kernel.shared_reads, "shared_reads", "1", 1, 0, 1000);
  read.number(kernel.operand_reads, "operand_reads", "1", 1, 0, 1000);
  read.number(kernel.unhidden_crowded, "unhidden_crowded", "1", 1, 0, 10);
  read.number(kernel.unhidden_alone, "unhidden_alone", "1", 1, 0, 10);
  read.number(kernel.cold_loads, "cold_loads", "1", 1, 0, 100);
  read.flag(kernel.persistent, "persistent");
  read.flag(kernel.moves_rows, "moves_rows");
  read.flag(kernel.tile_of_plan, "tile_of_plan");
  read.number(kernel.exposed_latencies, "exposed_latencies", "1", 1, 0, 100);
  read.number(kernel.first_tiles, "first_tiles", "tile", 1, 0, 100);
  read.number(kernel.drain_tiles, "drain_tiles", "tile", 1, 0, 100);
  read.number(kernel.latency_scale, "latency_scale", "1", 1, 0.01, 10);
  read.number(kernel.queue_scale, "queue_scale", "1", 1, 0.01, 10);
  read.flag(kernel.refills_after_use, "refills_after_use");
  read.flag(kernel.shares_tiles, "shares_tiles");
}

/// What lists and their items begin and end with.
void read_items(KernelProfile& kernel, Reader read) {
  read.ns(kernel.prologue_seconds, "prologue");
  read.ns(kernel.overlapped_prologue_seconds, "overlapped_prologue");
  read.ns(kernel.queue_prologue_seconds, "queue_prologue");
  read.ns(kernel.queue_walk_seconds, "queue_walk");
  read.ns(kernel.queue_reset_seconds, "queue_reset");
  read.ns(kernel.epilogue_seconds, "epilogue");
  read.ns(kernel.empty_list_seconds, "empty_list");
  read.ns(kernel.item_seconds, "item");
  read.flag(kernel.prefetches_items, "prefetches_items");
  read.flag(kernel.programmatic_launch, "programmatic_launch");
  read.number(kernel.item_stops, "item_stops", "1", 1, 0, 100);
  read.flag(kernel.warps_alone, "warps_alone");
  read.ns(kernel.combine_seconds, "combine");
}

void read_merges(KernelProfile& kernel, Reader read) {
  read.flag(kernel.merges_after_list, "merges_after_list");
  read.flag(kernel.always_merges, "always_merges");
  read.ns(kernel.merge_launch_seconds, "merge_launch");
  read.ns(kernel.merge_seconds, "merge");
  read.ns(kernel.merge_seconds_per_split, "merge_per_split");
  read.clocks(kernel.merge_row_clocks, "merge_row_clocks");
  read.whole(kernel.merge_rows, "merge_rows", "row", 1, 1024);
  read.ns(kernel.flag_reset_seconds, "flag_reset");
  read.whole(kernel.merge_batch_splits, "merge_splits_per_batch", "1", 1, 1024);
  read.ns(kernel.merge_batch_seconds, "merge_batch");
  read.whole(kernel.merge_kernel_warp_splits, "merge_kernel_warp_splits", "1", 1, 1024);
  read.whole(kernel.merge_kernel_most_warps, "merge_kernel_most_warps", "1", 1, 32);
  read.whole(kernel.merge_kernel_warps, "merge_kernel_warps", "1", 1, 32);
  read.whole(kernel.merge_kernel_ctas, "merge_kernel_ctas", "CTA/SM", 1, 32);
  read.whole(kernel.merge_kernel_run, "merge_kernel_run", "1", 1, 32);
  read.whole(kernel.merge_fragments, "merge_fragments", "1", 1, 1 << 16);
  read.whole(kernel.merge_warps, "merge_warps", "1", 1, 32);
  read.ns(kernel.waiting_merge_seconds, "waiting_merge");
  read.ns(kernel.waiting_merge_seconds_per_split, "waiting_merge_per_split");
  read.ns(kernel.merge_shared_seconds, "merge_shared");
  read.number(kernel.merge_shared_turns, "merge_shared_turns", "1", 1, 0, 1e6);
  read.ns(kernel.merge_kernel_batch_seconds, "merge_kernel_batch");
  read.number(kernel.merge_kernel_bytes_per_second, "merge_kernel_bandwidth", "GB/s", 1e9, 1e-3, 1e6);
  read.ns(kernel.merge_kernel_seconds_per_split, "merge_kernel_per_split");
}

/// Applies the constants that are there to `kernel`.
void read_constants(KernelProfile& kernel, Constants& constants) {
  read_streaming(kernel, {constants});
  read_items(kernel, {constants});
  read_merges(kernel, {constants});
}

/// What only compiled configs have, whatever their cluster.
void read_config(KernelVariant& variant, Reader read) {
  KernelProfile& kernel = variant.kernel;
  read.clocks(kernel.chain_clocks, "chain_clocks");
  read.number(kernel.partial_tile, "partial_tile", "1", 1, 0, 1);
  read.number(kernel.first_round_seconds, "first_rounds", "ns", 1e-9, -1e6, 1e6);
  read.number(kernel.single_item_first_round_seconds, "single_item_first_rounds", "ns", 1e-9, -1e6, 1e6);
  read.number(kernel.ring_refill_seconds, "ring_refill", "ns", 1e-9, -1e6, 1e6);
  read.number(kernel.single_item_ring_refill_seconds, "single_item_ring_refill", "ns", 1e-9, -1e6, 1e6);
  read.ns(kernel.single_item_merge_seconds, "single_item_merge");
  read.ns(kernel.single_item_merge_seconds_per_split, "single_item_merge_per_split");
  read.ns(kernel.single_item_merge_batch_seconds, "single_item_merge_batch");
  read.ns(kernel.table_seconds, "table");
  read.ns(kernel.item_fewer_rows_seconds, "item_fewer_rows");
  read.number(kernel.second_item_seconds, "second_item", "ns", 1e-9, -1e6, 1e6);
  read.ns(kernel.spread_start_seconds, "spread_start");
  read.ns(kernel.crowd_start_seconds, "crowd_start");
  read.ns(kernel.single_item_crowd_start_seconds, "single_item_crowd_start");
  read.ns(kernel.full_sm_seconds, "full_sm");
  read.ns(kernel.full_sm_start_seconds, "full_sm_start");
  read.ns(kernel.paged_full_sm_seconds, "paged_full_sm");
  read.ns(kernel.edge_seconds, "edge");
  read.ns(kernel.edge_query_seconds, "edge_per_query");
  read.ns(kernel.edge_chunk_seconds, "edge_per_chunk");
  read.ns(kernel.queue_list_seconds, "queue_list");
  read.ns(kernel.paged_seconds, "paged");
  read.ns(kernel.paged_item_seconds, "paged_item");
  read.ns(kernel.paged_item_crowded_seconds, "paged_item_crowded");
  read.number(kernel.paged_crowded, "paged_crowded", "1", 1, 0.1, 10);
  read.ns(kernel.fewer_rows_seconds, "fewer_rows");
  kernel.single_item_chain_clocks = kernel.paged_chain_clocks = kernel.chain_clocks;
  read.clocks(kernel.single_item_chain_clocks, "single_item_chain_clocks");
  read.clocks(kernel.paged_chain_clocks, "paged_chain_clocks");
  kernel.box_chain_clocks = 0;
  read.clocks(kernel.box_chain_clocks, "box_chain_clocks");
  kernel.paged_single_item_chain_clocks = kernel.single_item_chain_clocks;
  read.clocks(kernel.paged_single_item_chain_clocks, "paged_single_item_chain_clocks");
  kernel.item_crowded_seconds = kernel.item_seconds;
  read.ns(kernel.item_crowded_seconds, "item_crowded");
  read.whole(kernel.most_tokens, "most_tokens", "token", 1, 1 << 20);
  variant.cluster_shared_bytes = read.constants.integer("cluster_shared_memory", "byte", 0, 1 << 28);
  if (const auto fixed = read.constants.optional_number("waiting_fixed", "ns", 1e-9, 0, 1e6)) {
    variant.waiting_fixed_seconds = *fixed;
    kernel.waiting_item_seconds = read.constants.number("waiting_item", "ns", 1e-9, 0, 1e6);
    kernel.waiting_item_crowded_seconds = read.constants.number("waiting_item_crowded", "ns", 1e-9, 0, 1e6);
    kernel.waiting_chain_clocks = read.constants.number("waiting_chain_clocks", "clock", 1, 0, 1e6);
  }
}

/// What they have by the size of their cluster. After read_config().
void read_clusters(KernelVariant& variant, Constants& constants) {
  const std::vector<std::int32_t> sizes = constants.integers("clusters", "CTA", 1, 16);
  const std::vector<double> fixed = constants.numbers("fixed", "ns", 1e-9, 0, 1e6, sizes.size());
  const std::vector<double> single = constants.numbers("single_item_fixed", "ns", 1e-9, 0, 1e6, sizes.size());
  std::vector<double> crowded(sizes.size(), 0);
  if (variant.kernel.most_tokens > 0) {
    crowded = constants.numbers("crowded_clocks", "clock", 1, 0, 1e6, sizes.size());
  } else if (const auto ring = constants.optional_number("crowded_clocks", "clock", 1, 0, 1e6)) {
    crowded.assign(sizes.size(), *ring);
  }
  const auto of_clusters = [&](std::string_view key, std::string_view unit, double scale, double most) {
    if (!constants.has(key)) return std::vector<double>(sizes.size(), 0);
    return constants.numbers(key, unit, scale, 0, most, sizes.size());
  };
  const std::vector<double> later = of_clusters("later_start", "ns", 1e-9, 1e6);
  const std::vector<double> registers = of_clusters("single_item_registers_per_thread", "register", 1, 512);
  const std::vector<double> shared = of_clusters("single_item_shared_memory", "byte", 1, 1 << 28);
  const bool merges = constants.has("cluster_merge");
  const std::vector<double> merge = of_clusters("cluster_merge", "ns", 1e-9, 1e6);
  const std::vector<double> per_split = of_clusters("cluster_merge_per_split", "ns", 1e-9, 1e6);
  const bool held = variant.kernel.most_tokens > 0 && constants.has("held_transfer");
  const std::vector<double> transfer = of_clusters("held_transfer", "ns", 1e-9, 1e6);
  const std::vector<double> early = of_clusters("early_clocks", "clock", 1, 1e6);
  const bool pages = constants.has("held_paged");
  const std::vector<double> paged = of_clusters("held_paged", "ns", 1e-9, 1e6);
  // Of kernels that hold their items only larger clusters take outputs in parts.
  const double parts_from =
      constants.optional_number("parts_from", "CTA", 1, 1, 16).value_or(variant.kernel.most_tokens > 0 ? 17 : 1);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    variant.clusters.push_back({sizes[i], fixed[i], single[i], crowded[i], later[i],
                                static_cast<std::int32_t>(registers[i]), static_cast<std::int64_t>(shared[i]),
                                merges && sizes[i] >= parts_from ? merge[i] : -1, per_split[i], held ? transfer[i] : -1,
                                early[i], pages ? paged[i] : -1});
  }
}

std::pair<std::int32_t, std::int32_t> read_range(const base::Fields& fields, std::string_view key) {
  const JsonValue& range = fields.array(key);
  const std::string allowed = "[least, most], integers from 1 to 65536";
  if (range.items.size() != 2) fields.refuse(key, allowed);
  std::array<std::int32_t, 2> bounds{};
  for (std::size_t i = 0; i < 2; ++i) {
    const std::optional<std::int64_t> number = range.items[i].as_int64();
    if (!number || *number < 1 || *number > 65536) fields.refuse(key, allowed);
    bounds[i] = static_cast<std::int32_t>(*number);
  }
  if (bounds[0] > bounds[1]) fields.refuse(key, allowed);
  return {bounds[0], bounds[1]};
}

KernelVariant read_variant(const KernelProfile& common, const JsonValue* common_constants, const JsonValue& value,
                           const std::string& where, const std::string& path) {
  const base::Fields fields(value, where, path, kVariantKeys);
  KernelVariant variant;
  variant.kernel = common;
  std::tie(variant.head_dim_least, variant.head_dim_most) = read_range(fields, "head_dim");
  if (fields.has("group")) std::tie(variant.group_least, variant.group_most) = read_range(fields, "group");
  const JsonValue& own = fields.at("constants");
  Constants constants(own, where, path + ".constants");
  read_constants(variant.kernel, constants);
  if (const auto config = fields.optional_label("config")) {
    variant.kernel.config = *config;
    variant.kernel.most_rows = fields.int32("rows", 1, 65536);
    variant.value_dim = fields.optional_int32("value_dim", 1, 65536).value_or(0);
    variant.kernel.masked = fields.optional_boolean("masked").value_or(false);
    if (const auto instruction = fields.optional_choice("instruction", kInstructions)) {
      variant.kernel.instruction = static_cast<MmaInstruction>(*instruction);
    }
    read_config(variant, {constants});
    read_clusters(variant, constants);
  }
  constants.finish();
  for (const std::string_view key : kRequired) {
    const bool in_common = common_constants != nullptr && common_constants->find(key) != nullptr;
    if (!in_common && own.find(key) == nullptr) {
      throw base::InputError(fmt::format("{}: {} is missing", where, constants.path_of(key)));
    }
  }
  return variant;
}

}  // namespace

KernelFamily parse_kernel(std::string_view text, const std::string& where) {
  const JsonValue document = base::parse_document(text, where);
  const base::Fields fields(document, where, "", kKeys);
  fields.integer("format", 1, 1);
  KernelProfile common;
  common.name = fields.label("name");
  fields.text("source");
  fields.optional_label("title");
  fields.at("instruction");
  common.instruction = static_cast<MmaInstruction>(*fields.optional_choice("instruction", kInstructions));
  const JsonValue* constants = fields.find("constants");
  if (constants != nullptr) {
    Constants shared(*constants, where, "constants");
    read_constants(common, shared);
    shared.finish();
  }
  const JsonValue& list = fields.array("variants");
  if (list.items.empty()) fields.refuse("variants", "at least one variant");
  KernelFamily family;
  family.name = common.name;
  for (std::size_t i = 0; i < list.items.size(); ++i) {
    family.variants.push_back(read_variant(common, constants, list.items[i], where, fmt::format("variants[{}]", i)));
  }
  return family;
}

}  // namespace splitwave::simulator
