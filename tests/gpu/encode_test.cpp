// SPDX-License-Identifier: Apache-2.0
// Plans as the kernels read them: every item arrives, once, with its output's facts.
#include "gpu/encode.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>

#include "base/error.h"
#include "schedules/schedules.h"
#include "tests/support/battery.h"
#include "workloads/tensors.h"

namespace splitwave::gpu {
namespace {

using schedules::Plan;
using workloads::Workload;

struct Encoded {
  std::vector<DeviceItem> items;
  std::vector<DeviceMerge> merges;
};

Encoded encode(const Workload& w, const Plan& plan, std::int32_t spare_lists = 0) {
  const PlanSize size = size_of(plan);
  Encoded out;
  DeviceItem used;  // what another plan left there
  std::memset(&used, 0x7f, sizeof(used));
  out.items.resize(static_cast<std::size_t>(table_size(plan, {}) + std::max(0, spare_lists - size.lists)), used);
  out.merges.resize(static_cast<std::size_t>(size.merges) + 1);
  Encoder().encode(w, dense_addressing(w), plan, {}, spare_lists, 3, out.items, out.merges);
  return out;
}

TEST(Encode, EveryItemOfEveryListInOrder) {
  for (const Workload& w : testing::battery()) {
    if (w.geometry.kind == workloads::AttentionKind::mla) continue;
    for (const char* name : {"fa2", "fixed-split:3", "lean", "fa3", "fixed-size:64"}) {
      Plan plan;
      try {
        plan = schedules::make_plan(name, w, schedules::Grid{13, 1, 0, 64});
      } catch (const base::InputError&) {
        continue;
      }
      for (const std::int32_t spare : {0, plan.lists() + 5}) {
        const Encoded out = encode(w, plan, spare);
        for (std::int32_t list = 0; list < plan.lists(); ++list) {
          std::int32_t at = plan.list(list).empty() ? -1 : list;
          if (at < 0) {
            EXPECT_EQ(out.items[static_cast<std::size_t>(list)].rows, 0);
            EXPECT_EQ(out.items[static_cast<std::size_t>(list)].kv_end, 0);
            EXPECT_EQ(out.items[static_cast<std::size_t>(list)].next, -1);
          }
          for (const schedules::Item& item : plan.list(list)) {
            ASSERT_GE(at, 0) << w.name << " " << name;
            const DeviceItem& device = out.items[static_cast<std::size_t>(at)];
            const schedules::OutputTile& tile = plan.outputs[static_cast<std::size_t>(item.output)];
            EXPECT_EQ(device.kv_begin, item.kv_begin);
            EXPECT_EQ(device.kv_end, item.kv_end);
            EXPECT_EQ(device.rows, tile.rows());
            EXPECT_EQ(device.head_count, tile.head_count);
            EXPECT_EQ(device.kv_head, schedules::kv_head(w, tile));
            EXPECT_EQ(device.parts == 1 ? -1 : device.slot_begin + device.part, item.slot);
            if (plan.merge == schedules::MergeKind::host_cta && device.parts > 1) {
              // All that share a merge end their lists; the part after them does not.
              EXPECT_GE(device.mergers, 1);
              const bool shares = device.part > 0 && device.part < device.mergers;
              const bool follows = device.part > 0 && device.part == device.mergers;
              EXPECT_TRUE(!shares || device.next == -1);
              EXPECT_TRUE(!follows || device.next >= 0);
            }
            at = device.next;
          }
          EXPECT_EQ(at, -1) << w.name << " " << name;
        }
        for (std::int32_t list = plan.lists(); list < spare; ++list) {
          EXPECT_EQ(out.items[static_cast<std::size_t>(list)].rows, 0);
          EXPECT_EQ(out.items[static_cast<std::size_t>(list)].next, -1);
        }
        EXPECT_EQ(out.merges.back().parts, 0);
      }
    }
  }
}

/// Offset in elements that the kernels compute for a KV position of a contiguous item.
std::int64_t kernel_offset(const DeviceItem& item, const KvAddressing& addressing) {
  return std::int64_t{item.kv_base} * 8 + item.kv_begin * addressing.token_stride;
}

TEST(Encode, ItemsPointAtTheRowsOfTheirTensors) {
  for (const workloads::KvLayout layout :
       {workloads::KvLayout::bshd, workloads::KvLayout::bhsd, workloads::KvLayout::paged}) {
    Workload w = testing::with_queries(testing::decode("w", testing::geometry(8, 2, 64), {100, 0, 257}), {1, 2, 3});
    w.kv.layout = layout;
    if (layout == workloads::KvLayout::paged) w.kv.page_size = 16;
    const workloads::Tensors tensors = workloads::make_tensors(w, std::int64_t{1} << 24);
    const KvAddressing addressing = dense_addressing(w);
    const Plan plan = schedules::make_plan("fixed-size:64", w, schedules::Grid{13, 1, 0, 64});
    const Encoded out = encode(w, plan);
    for (std::int32_t list = 0; list < plan.lists(); ++list) {
      const schedules::Item& item = plan.list(list).front();
      const DeviceItem& device = out.items[static_cast<std::size_t>(list)];
      const schedules::OutputTile& tile = plan.outputs[static_cast<std::size_t>(item.output)];
      const workloads::Request& request = w.requests[static_cast<std::size_t>(tile.request)];
      EXPECT_EQ(device.first_position, request.context_len - request.query_len);
      EXPECT_EQ(std::int64_t{device.query_row} * 64, workloads::q_row(w, tensors, tile.request, 0, tile.head_begin));
      if (layout == workloads::KvLayout::paged) {
        EXPECT_EQ(device.kv_base, tensors.first_page[static_cast<std::size_t>(tile.request)]);
      } else {
        EXPECT_EQ(kernel_offset(device, addressing),
                  workloads::k_row(w, tensors, tile.request, item.kv_begin, device.kv_head));
      }
    }
  }
}

TEST(Encode, TilesOfOneQueryAreNotMasked) {
  const Workload w = testing::with_queries(testing::decode("w", testing::geometry(8, 2, 64), {100}), {3});
  for (const std::int32_t tile_q : {4, 8}) {  // rows of 4 heads: one query, or two
    const Plan plan = schedules::make_plan("fixed-size:64", w, schedules::Grid{13, 1, tile_q, 64});
    for (const DeviceItem& item : encode(w, plan).items) EXPECT_EQ(item.masked, item.rows > 4 ? 1U : 0U) << tile_q;
  }
}

TEST(Encode, AWindowAloneMasksTilesOfSeveralQueries) {
  Workload w = testing::with_queries(testing::decode("w", testing::geometry(8, 2, 64), {100}), {3});
  w.geometry.causal = false;
  const auto masked = [&] {
    return encode(w, schedules::make_plan("fa2", w, schedules::Grid{13, 1, 16, 64})).items[0].masked;
  };
  EXPECT_EQ(masked(), 0U);
  w.geometry.window = 20;
  EXPECT_EQ(masked(), 1U);
}

TEST(Encode, UniformPlansAreSeen) {
  const workloads::Geometry llama = testing::geometry(32, 8, 128);
  for (const std::int32_t length : {1, 64, 1000, 4096}) {
    const Workload w = testing::decode("uniform", llama, {length, length, length});
    for (const char* name : {"fa2", "fixed-split:1", "fixed-split:2", "fixed-split:5", "fixed-split:16"}) {
      const Plan plan = schedules::make_plan(name, w, schedules::Grid{132, 1, 0, 16});
      const std::optional<UniformPlan> uniform = as_uniform(w, dense_addressing(w), plan);
      ASSERT_TRUE(uniform.has_value()) << name << " " << length;
      EXPECT_EQ(static_cast<std::size_t>(uniform->parts) * plan.outputs.size(), plan.items.size());
    }
  }
}

TEST(Encode, PartsOfOneTileMoreThanTheOthersAreUniform) {
  const Workload w = testing::decode("uneven", testing::geometry(4, 1, 64), {7 * 64});
  Plan plan = schedules::make_plan("fixed-split:3", w, schedules::Grid{132, 1, 0, 64});
  ASSERT_EQ(plan.items.size(), 3U);  // of 3, 3 and 1 tiles
  plan.items[1].kv_end = plan.items[2].kv_begin = 5 * 64;
  const std::optional<UniformPlan> uniform = as_uniform(w, dense_addressing(w), plan);
  ASSERT_TRUE(uniform.has_value());
  EXPECT_EQ(uniform->tiles_per_part, 2);
  EXPECT_EQ(uniform->longer_parts, 1);
}

TEST(Encode, EmptyListsBehindTheOthersNeedNoCta) {
  const Workload w = testing::decode("few", testing::geometry(24, 1, 128), {436, 436, 436});
  Plan plan = schedules::make_plan("fixed-split:2", w, schedules::Grid{132, 1, 0, 64});
  const std::optional<UniformPlan> without = as_uniform(w, dense_addressing(w), plan);
  plan.cta_begin.resize(133, static_cast<std::int32_t>(plan.items.size()));
  ASSERT_EQ(plan.lists(), 132);
  const std::optional<UniformPlan> with = as_uniform(w, dense_addressing(w), plan);
  ASSERT_TRUE(without && with);
  EXPECT_EQ(with->parts, without->parts);
  EXPECT_EQ(with->tiles_per_part, without->tiles_per_part);
  plan.cta_begin[2] = plan.cta_begin[1];  // and the third has two
  EXPECT_FALSE(as_uniform(w, dense_addressing(w), plan));
}

TEST(Encode, OtherPlansAreNotUniform) {
  const workloads::Geometry llama = testing::geometry(32, 8, 128);
  const Workload ragged = testing::decode("ragged", llama, {1000, 999});
  const Workload alike = testing::decode("alike", llama, {5000, 5000, 5000});
  const schedules::Grid grid{132, 1, 0, 64};
  EXPECT_FALSE(as_uniform(ragged, dense_addressing(ragged), schedules::make_plan("fixed-split:4", ragged, grid)));
  EXPECT_FALSE(as_uniform(alike, dense_addressing(alike), schedules::make_plan("lean", alike, grid)));
  Plan changed = schedules::make_plan("fixed-split:4", alike, grid);
  std::swap(changed.items[0], changed.items[1]);
  EXPECT_FALSE(as_uniform(alike, dense_addressing(alike), changed));
}

TEST(Encode, RequestsBeyondTheReachOfOffsetsAreNotUniform) {
  // 2^33 elements of K each: with four of them the fourth begins at 3/4 of what 32 bits of 16 bytes reach.
  const workloads::Geometry g = testing::geometry(8, 8, 128);
  for (const std::size_t requests : {3, 5}) {
    const Workload w = testing::decode("far", g, std::vector<std::int32_t>(requests, 1 << 23));
    const Plan plan = schedules::make_plan("fa2", w, schedules::Grid{132, 1, 0, 64});
    EXPECT_EQ(as_uniform(w, dense_addressing(w), plan).has_value(), requests == 3);
  }
}

/// One request of as many query tokens as context, one head: rows of one output tile, or of tiles of `tile_q`.
Workload prefill(std::int32_t tokens) {
  return testing::with_queries(testing::decode("prefill", testing::geometry(1, 1, 64), {tokens}), {tokens});
}

std::string refusal(const Workload& w, const Plan& plan) {
  try {
    encode(w, plan);
  } catch (const base::InputError& error) {
    return error.what();
  }
  return "";
}

TEST(Encode, MoreRowsThanATableHoldsAreRefused) {
  for (const std::int32_t rows : {65535, 65536}) {
    const Workload w = prefill(rows);
    const Plan plan = schedules::make_plan("fa2", w, schedules::Grid{132, 1, rows, 64});
    ASSERT_EQ(plan.outputs.size(), 1U);
    ASSERT_EQ(plan.outputs.front().rows(), rows);
    EXPECT_EQ(refusal(w, plan), rows == 65535 ? ""
                                              : "plan: a tile's number of rows is 65536; the CUDA kernels allow at "
                                                "most 65535");
  }
  const Workload w = prefill(65536 + 128);
  const Plan tiles = schedules::make_plan("fa2", w, schedules::Grid{132, 1, 128, 64});
  EXPECT_EQ(refusal(w, tiles), "plan: a tile's first row is 65536; the CUDA kernels allow at most 65535");
}

TEST(Encode, MorePartsThanATableHoldsAreRefused) {
  const workloads::Geometry one_head = testing::geometry(1, 1, 64);
  for (const std::int32_t parts : {65535, 65536}) {
    const Workload w = testing::decode("parts", one_head, {parts});
    const Plan plan = schedules::make_plan("fixed-size:1", w, schedules::Grid{132, 1, 0, 1});
    ASSERT_EQ(plan.items.size(), static_cast<std::size_t>(parts));
    EXPECT_EQ(refusal(w, plan), parts == 65535 ? ""
                                               : "plan: an output's number of parts is 65536; the CUDA kernels allow "
                                                 "at most 65535");
    EXPECT_EQ(as_uniform(w, dense_addressing(w), plan).has_value(), parts == 65535) << "the same fields";
  }
}

TEST(Encode, ManyPartsAreSharedByTheWarpsThatTheLaunchHas) {
  EXPECT_EQ(merge_warps_shift(16), 0);
  EXPECT_EQ(merge_warps_shift(17), 1);
  EXPECT_EQ(merge_warps_shift(33), 2);
  EXPECT_EQ(merge_warps_shift(1000), 3);
  const Workload w = testing::decode("parts", testing::geometry(8, 1, 64), {64 * 40, 64});
  const Plan plan = schedules::make_plan("fixed-split:40", w, schedules::Grid{132, 1, 0, 64});
  std::vector<DeviceItem> items(static_cast<std::size_t>(table_size(plan, {})));
  std::vector<DeviceMerge> merges(plan.merges.size());
  for (const std::int32_t most : {0, 1, 2, 3}) {
    Encoder().encode(w, dense_addressing(w), plan, {}, 0, most, items, merges);
    EXPECT_EQ(merges.front().parts, 40);
    EXPECT_EQ(merges.front().warps_shift, std::min(most, 2));
  }
}

}  // namespace
}  // namespace splitwave::gpu
