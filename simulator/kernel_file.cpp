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

void take(double& target, const std::optional<double>& found) {
  if (found) target = *found;
}

/// Applies the constants that are there to `kernel`.
void read_constants(KernelProfile& kernel, Constants& constants) {
  const auto whole = [&](auto& target, std::string_view key, std::string_view unit, std::int32_t least,
                         std::int32_t most) {
    if (constants.optional_number(key, unit, 1, least, most)) target = constants.integer(key, unit, least, most);
  };
  whole(kernel.threads, "threads", "thread", 1, 1024);
  whole(kernel.registers_per_thread, "registers_per_thread", "register", 16, 512);
  whole(kernel.shared_bytes, "shared_memory", "byte", 0, 1 << 28);
  whole(kernel.bytes_in_flight, "bytes_in_flight", "byte", 1, 1 << 28);
  whole(kernel.tile_tokens, "tile_tokens", "token", 1, 1 << 20);
  whole(kernel.mma_rows, "mma_rows", "row", 1, 1024);
  take(kernel.refill_seconds, constants.optional_number("refill", "ns", 1e-9, 0, 1e6));
  take(kernel.mma_efficiency, constants.optional_number("mma_efficiency", "1", 1, 0.001, 1));
  take(kernel.clocks_per_token, constants.optional_number("clocks_per_token", "clock", 1, 0, 1e6));
  take(kernel.clocks_per_row_token, constants.optional_number("clocks_per_row_token", "clock", 1, 0, 1e6));
  take(kernel.shared_reads, constants.optional_number("shared_reads", "1", 1, 0, 1000));
  take(kernel.operand_reads, constants.optional_number("operand_reads", "1", 1, 0, 1000));
  take(kernel.unhidden_crowded, constants.optional_number("unhidden_crowded", "1", 1, 0, 10));
  take(kernel.unhidden_alone, constants.optional_number("unhidden_alone", "1", 1, 0, 10));
  take(kernel.prologue_seconds, constants.optional_number("prologue", "ns", 1e-9, 0, 1e6));
  take(kernel.overlapped_prologue_seconds, constants.optional_number("overlapped_prologue", "ns", 1e-9, 0, 1e6));
  take(kernel.cold_loads, constants.optional_number("cold_loads", "1", 1, 0, 100));
  take(kernel.queue_prologue_seconds, constants.optional_number("queue_prologue", "ns", 1e-9, 0, 1e6));
  take(kernel.queue_walk_seconds, constants.optional_number("queue_walk", "ns", 1e-9, 0, 1e6));
  take(kernel.queue_reset_seconds, constants.optional_number("queue_reset", "ns", 1e-9, 0, 1e6));
  take(kernel.epilogue_seconds, constants.optional_number("epilogue", "ns", 1e-9, 0, 1e6));
  take(kernel.empty_list_seconds, constants.optional_number("empty_list", "ns", 1e-9, 0, 1e6));
  take(kernel.item_seconds, constants.optional_number("item", "ns", 1e-9, 0, 1e6));
  const auto flag = [&](bool& target, std::string_view key) {
    if (const auto found = constants.optional_number(key, "1", 1, 0, 1)) target = *found != 0;
  };
  flag(kernel.prefetches_items, "prefetches_items");
  flag(kernel.merges_after_list, "merges_after_list");
  flag(kernel.persistent, "persistent");
  flag(kernel.moves_rows, "moves_rows");
  flag(kernel.programmatic_launch, "programmatic_launch");
  flag(kernel.always_merges, "always_merges");
  flag(kernel.tile_of_plan, "tile_of_plan");
  take(kernel.exposed_latencies, constants.optional_number("exposed_latencies", "1", 1, 0, 100));
  take(kernel.first_tiles, constants.optional_number("first_tiles", "tile", 1, 0, 100));
  take(kernel.drain_tiles, constants.optional_number("drain_tiles", "tile", 1, 0, 100));
  take(kernel.merge_launch_seconds, constants.optional_number("merge_launch", "ns", 1e-9, 0, 1e6));
  take(kernel.merge_seconds, constants.optional_number("merge", "ns", 1e-9, 0, 1e6));
  take(kernel.merge_seconds_per_split, constants.optional_number("merge_per_split", "ns", 1e-9, 0, 1e6));
  take(kernel.merge_row_clocks, constants.optional_number("merge_row_clocks", "clock", 1, 0, 1e6));
  whole(kernel.merge_rows, "merge_rows", "row", 1, 1024);
  take(kernel.flag_reset_seconds, constants.optional_number("flag_reset", "ns", 1e-9, 0, 1e6));
  whole(kernel.merge_batch_splits, "merge_splits_per_batch", "1", 1, 1024);
  take(kernel.merge_batch_seconds, constants.optional_number("merge_batch", "ns", 1e-9, 0, 1e6));
  whole(kernel.merge_kernel_warp_splits, "merge_kernel_warp_splits", "1", 1, 1024);
  whole(kernel.merge_kernel_most_warps, "merge_kernel_most_warps", "1", 1, 32);
  whole(kernel.merge_fragments, "merge_fragments", "1", 1, 1 << 16);
  whole(kernel.merge_warps, "merge_warps", "1", 1, 32);
  take(kernel.waiting_merge_seconds, constants.optional_number("waiting_merge", "ns", 1e-9, 0, 1e6));
  take(kernel.waiting_merge_seconds_per_split,
       constants.optional_number("waiting_merge_per_split", "ns", 1e-9, 0, 1e6));
  take(kernel.merge_shared_seconds, constants.optional_number("merge_shared", "ns", 1e-9, 0, 1e6));
  take(kernel.merge_shared_turns, constants.optional_number("merge_shared_turns", "1", 1, 0, 1e6));
  take(kernel.merge_kernel_batch_seconds, constants.optional_number("merge_kernel_batch", "ns", 1e-9, 0, 1e6));
  take(kernel.merge_kernel_bytes_per_second,
       constants.optional_number("merge_kernel_bandwidth", "GB/s", 1e9, 1e-3, 1e6));
  take(kernel.merge_kernel_seconds_per_split, constants.optional_number("merge_kernel_per_split", "ns", 1e-9, 0, 1e6));
  take(kernel.latency_scale, constants.optional_number("latency_scale", "1", 1, 0.01, 10));
  take(kernel.queue_scale, constants.optional_number("queue_scale", "1", 1, 0.01, 10));
  flag(kernel.refills_after_use, "refills_after_use");
  flag(kernel.shares_tiles, "shares_tiles");
  take(kernel.item_stops, constants.optional_number("item_stops", "1", 1, 0, 100));
  flag(kernel.warps_alone, "warps_alone");
  take(kernel.combine_seconds, constants.optional_number("combine", "ns", 1e-9, 0, 1e6));
}

/// What only compiled configs have.
void read_config(KernelVariant& variant, Constants& constants) {
  KernelProfile& kernel = variant.kernel;
  take(kernel.chain_clocks, constants.optional_number("chain_clocks", "clock", 1, 0, 1e6));
  take(kernel.partial_tile, constants.optional_number("partial_tile", "1", 1, 0, 1));
  take(kernel.first_round_seconds, constants.optional_number("first_rounds", "ns", 1e-9, -1e6, 1e6));
  take(kernel.single_item_first_round_seconds,
       constants.optional_number("single_item_first_rounds", "ns", 1e-9, -1e6, 1e6));
  take(kernel.ring_refill_seconds, constants.optional_number("ring_refill", "ns", 1e-9, -1e6, 1e6));
  take(kernel.single_item_ring_refill_seconds,
       constants.optional_number("single_item_ring_refill", "ns", 1e-9, -1e6, 1e6));
  take(kernel.single_item_merge_seconds, constants.optional_number("single_item_merge", "ns", 1e-9, 0, 1e6));
  take(kernel.single_item_merge_seconds_per_split,
       constants.optional_number("single_item_merge_per_split", "ns", 1e-9, 0, 1e6));
  take(kernel.single_item_merge_batch_seconds,
       constants.optional_number("single_item_merge_batch", "ns", 1e-9, 0, 1e6));
  take(kernel.table_seconds, constants.optional_number("table", "ns", 1e-9, 0, 1e6));
  const auto clocks = [&](std::string_view key, double otherwise) {
    return constants.optional_number(key, "clock", 1, 0, 1e6).value_or(otherwise);
  };
  kernel.single_item_chain_clocks = clocks("single_item_chain_clocks", kernel.chain_clocks);
  kernel.paged_chain_clocks = clocks("paged_chain_clocks", kernel.chain_clocks);
  kernel.box_chain_clocks = clocks("box_chain_clocks", 0);
  kernel.paged_single_item_chain_clocks = clocks("paged_single_item_chain_clocks", kernel.single_item_chain_clocks);
  kernel.item_crowded_seconds =
      constants.optional_number("item_crowded", "ns", 1e-9, 0, 1e6).value_or(kernel.item_seconds);
  if (const auto fixed = constants.optional_number("waiting_fixed", "ns", 1e-9, 0, 1e6)) {
    variant.waiting_fixed_seconds = *fixed;
    kernel.waiting_item_seconds = constants.number("waiting_item", "ns", 1e-9, 0, 1e6);
    kernel.waiting_item_crowded_seconds = constants.number("waiting_item_crowded", "ns", 1e-9, 0, 1e6);
    kernel.waiting_chain_clocks = constants.number("waiting_chain_clocks", "clock", 1, 0, 1e6);
  }
  take(kernel.item_fewer_rows_seconds, constants.optional_number("item_fewer_rows", "ns", 1e-9, 0, 1e6));
  take(kernel.spread_start_seconds, constants.optional_number("spread_start", "ns", 1e-9, 0, 1e6));
  take(kernel.crowd_start_seconds, constants.optional_number("crowd_start", "ns", 1e-9, 0, 1e6));
  take(kernel.single_item_crowd_start_seconds,
       constants.optional_number("single_item_crowd_start", "ns", 1e-9, 0, 1e6));
  take(kernel.edge_seconds, constants.optional_number("edge", "ns", 1e-9, 0, 1e6));
  take(kernel.edge_query_seconds, constants.optional_number("edge_per_query", "ns", 1e-9, 0, 1e6));
  take(kernel.queue_list_seconds, constants.optional_number("queue_list", "ns", 1e-9, 0, 1e6));
  take(kernel.paged_seconds, constants.optional_number("paged", "ns", 1e-9, 0, 1e6));
  take(kernel.paged_item_seconds, constants.optional_number("paged_item", "ns", 1e-9, 0, 1e6));
  take(kernel.paged_item_crowded_seconds, constants.optional_number("paged_item_crowded", "ns", 1e-9, 0, 1e6));
  take(kernel.paged_crowded, constants.optional_number("paged_crowded", "1", 1, 0.1, 10));
  if (constants.optional_number("most_tokens", "token", 1, 1, 1 << 20)) {
    kernel.most_tokens = constants.integer("most_tokens", "token", 1, 1 << 20);
  }
  variant.cluster_shared_bytes = constants.integer("cluster_shared_memory", "byte", 0, 1 << 28);
  const std::vector<std::int32_t> sizes = constants.integers("clusters", "CTA", 1, 16);
  const std::vector<double> fixed = constants.numbers("fixed", "ns", 1e-9, 0, 1e6, sizes.size());
  const std::vector<double> single = constants.numbers("single_item_fixed", "ns", 1e-9, 0, 1e6, sizes.size());
  std::vector<double> crowded(sizes.size(), 0);
  if (kernel.most_tokens > 0) {
    crowded = constants.numbers("crowded_clocks", "clock", 1, 0, 1e6, sizes.size());
  } else if (const auto ring = constants.optional_number("crowded_clocks", "clock", 1, 0, 1e6)) {
    crowded.assign(sizes.size(), *ring);
  }
  take(kernel.fewer_rows_seconds, constants.optional_number("fewer_rows", "ns", 1e-9, 0, 1e6));
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
  const bool held = kernel.most_tokens > 0 && constants.has("held_transfer");
  const std::vector<double> transfer = of_clusters("held_transfer", "ns", 1e-9, 1e6);
  const std::vector<double> early = of_clusters("early_clocks", "clock", 1, 1e6);
  // Of kernels that hold their items only larger clusters take outputs in parts.
  const double parts_from =
      constants.optional_number("parts_from", "CTA", 1, 1, 16).value_or(kernel.most_tokens > 0 ? 17 : 1);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    variant.clusters.push_back({sizes[i], fixed[i], single[i], crowded[i], later[i],
                                static_cast<std::int32_t>(registers[i]), static_cast<std::int64_t>(shared[i]),
                                merges && sizes[i] >= parts_from ? merge[i] : -1, per_split[i], held ? transfer[i] : -1,
                                early[i]});
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
    read_config(variant, constants);
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
