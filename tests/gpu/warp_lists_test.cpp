// SPDX-License-Identifier: Apache-2.0
// Lists cut for the warps of a CTA: every token once, in order, and no warp with more than its share.
#include "gpu/warp_lists.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "schedules/schedules.h"
#include "simulator/warp_parts.h"
#include "tests/support/battery.h"

namespace splitwave::gpu {
namespace {

using schedules::Item;
using schedules::Plan;

/// A plan whose lists have items of so many tokens.
Plan plan_of(const std::vector<std::vector<std::int32_t>>& lists) {
  Plan plan;
  for (const std::vector<std::int32_t>& list : lists) {
    for (const std::int32_t tokens : list) {
      const std::int32_t begin = 5;
      plan.items.push_back({static_cast<std::int32_t>(plan.items.size()), begin, begin + tokens, -1});
    }
    plan.cta_begin.push_back(static_cast<std::int32_t>(plan.items.size()));
  }
  return plan;
}

std::int64_t steps(const TableEntry& entry, std::int32_t tokens) {
  return (entry.kv_end - entry.kv_begin + tokens - 1) / tokens;
}

/// By the place of its first entry, each warp's entries in the order of its list.
std::map<std::int32_t, std::vector<TableEntry>> chains(const std::vector<TableEntry>& entries, std::int32_t firsts) {
  std::map<std::int32_t, TableEntry> by_place;
  for (const TableEntry& entry : entries) by_place.emplace(entry.at, entry);
  EXPECT_EQ(by_place.size(), entries.size()) << "a place for each";
  std::map<std::int32_t, std::vector<TableEntry>> all;
  std::size_t found = 0;
  for (const auto& [place, entry] : by_place) {
    if (place >= firsts) continue;
    for (std::int32_t at = place; at >= 0; at = by_place.at(at).next) {
      all[place].push_back(by_place.at(at));
      ++found;
    }
  }
  EXPECT_EQ(found, entries.size()) << "each in a chain";
  return all;
}

void check(const Plan& plan, const ListShape& shape, std::int32_t spare) {
  TableOrder order;
  const std::vector<TableEntry>& entries = order.order(plan, shape, spare);
  const std::int32_t firsts = std::max(plan.lists(), spare) * shape.warps;
  const auto all = chains(entries, firsts);
  EXPECT_LE(order.places(), table_size(plan, shape) + std::max(0, spare - plan.lists()) * shape.warps);
  for (std::int32_t list = 0; list < plan.lists(); ++list) {
    const std::int32_t end = plan.cta_begin[static_cast<std::size_t>(list) + 1];
    std::int32_t item = plan.cta_begin[static_cast<std::size_t>(list)];
    std::int32_t token = item < end ? plan.items[static_cast<std::size_t>(item)].kv_begin : 0;
    std::int32_t piece = 0;
    std::set<std::int64_t> shares;
    for (std::int32_t warp = 0; warp < shape.warps; ++warp) {
      const auto chain = all.find(list * shape.warps + warp);
      std::int64_t share = 0;
      for (const TableEntry& entry : chain == all.end() ? std::vector<TableEntry>{} : chain->second) {
        ASSERT_LT(item, end);
        EXPECT_EQ(entry.item, item);
        EXPECT_EQ(entry.kv_begin, token);
        EXPECT_EQ(entry.piece, piece);
        EXPECT_GT(entry.pieces, piece);
        share += steps(entry, shape.tokens);
        const Item& whole = plan.items[static_cast<std::size_t>(item)];
        if (entry.kv_end < whole.kv_end) {
          EXPECT_EQ((entry.kv_end - whole.kv_begin) % shape.tokens, 0) << "cut between steps";
          EXPECT_EQ(entry.next, -1) << "an item that goes on ends its warp's list";
          token = entry.kv_end;
          ++piece;
          continue;
        }
        EXPECT_EQ(entry.pieces, piece + 1);
        piece = 0;
        if (++item < end) token = plan.items[static_cast<std::size_t>(item)].kv_begin;
      }
      shares.insert(share);
    }
    EXPECT_EQ(item, end) << "every item";
    EXPECT_LE(*shares.rbegin() - *shares.begin(), 1) << "as many steps for each warp";
  }
}

TEST(WarpLists, EveryTokenOnceInOrder) {
  check(plan_of({{64}, {100, 3, 0, 200}, {}, {0}, {1}, {17, 17, 17}, {0, 0, 1000, 0}}), {4, 16}, 0);
  check(plan_of({{64}, {5000, 30}}), {8, 32}, 9);
}

RC_GTEST_PROP(WarpLists, AnyListIsCutEvenly, ()) {
  const auto lists = *rc::gen::container<std::vector<std::vector<std::int32_t>>>(
      rc::gen::container<std::vector<std::int32_t>>(rc::gen::inRange(0, 600)));
  check(plan_of(lists), {*rc::gen::element(2, 4, 8), *rc::gen::element(16, 32)}, *rc::gen::inRange(0, 12));
}

/// The model of what the warps do (simulator/warp_parts.h) and the table that they read are of the same cuts.
RC_GTEST_PROP(WarpLists, TheSimulatorCutsThemAlike, ()) {
  const auto lists = *rc::gen::container<std::vector<std::vector<std::int32_t>>>(
      1, rc::gen::container<std::vector<std::int32_t>>(rc::gen::inRange(0, 300)));
  const Plan plan = plan_of(lists);
  const ListShape shape{*rc::gen::element(2, 4, 8), *rc::gen::element(16, 32)};
  TableOrder order;
  const std::vector<TableEntry>& entries = order.order(plan, shape, 0);
  constexpr double kPiece = 0.7, kCombine = 0.9;
  double longest = 0;
  std::map<std::int64_t, double> ends;  // of each item that is cut, when the warps end that have it last
  for (const auto& [first, chain] : chains(entries, shape.warps)) {
    double seconds = 0;
    double pieces = 0;
    for (const TableEntry& entry : chain) {
      seconds += static_cast<double>(steps(entry, shape.tokens));
      pieces += entry.kv_begin < entry.kv_end ? 1 : 0;
    }
    seconds += std::max(0.0, pieces - 1) * kPiece;
    longest = std::max(longest, seconds);
    if (chain.empty() || chain.back().pieces == 1) continue;
    double& end = ends[chain.back().item];
    end = std::max(end, seconds);
  }
  double combined = longest;
  for (const auto& [item, end] : ends) combined = std::max(combined, end + kCombine);
  const double first = lists[0].empty() ? 0 : (lists[0][0] + shape.tokens - 1) / shape.tokens;
  const auto parts = simulator::warp_parts(plan.list(0), {shape.warps, shape.tokens, 1, kPiece, kCombine});
  RC_ASSERT(std::abs(parts.further_seconds - std::max(0.0, longest - std::ceil(first / shape.warps))) < 1e-9);
  RC_ASSERT(std::abs(parts.combine_seconds - (combined - longest)) < 1e-9);
}

TEST(WarpLists, WarpsThatShareTheirListKeepItWhole) {
  for (const workloads::Workload& w : testing::battery()) {
    const Plan plan = schedules::make_plan("lean", w, schedules::Grid{13, 1, 0, 64});
    const std::vector<TableEntry> entries = TableOrder().order(plan, {}, 0);
    ASSERT_EQ(entries.size(), plan.items.size());
    for (std::size_t i = 0; i < entries.size(); ++i) {
      EXPECT_EQ(entries[i].item, static_cast<std::int64_t>(i));
      EXPECT_EQ(entries[i].kv_begin, plan.items[i].kv_begin);
      EXPECT_EQ(entries[i].kv_end, plan.items[i].kv_end);
      EXPECT_EQ(entries[i].pieces, 1);
    }
  }
}

/// The piece of an item that a warp ends with and the next one begins with: what alone.cuh counts on.
TEST(WarpLists, PiecesAreOfConsecutiveWarps) {
  const Plan plan = plan_of({{40, 600, 40}});
  const ListShape shape{4, 16};
  TableOrder order;
  const auto all = chains(order.order(plan, shape, 0), shape.warps);
  for (std::int32_t warp = 0; warp < shape.warps; ++warp) {
    const std::vector<TableEntry>& list = all.at(warp);
    for (const TableEntry& entry : list) {
      if (entry.item != 1) continue;
      EXPECT_EQ(entry.piece, warp);
    }
  }
}

}  // namespace
}  // namespace splitwave::gpu
