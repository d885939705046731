// SPDX-License-Identifier: Apache-2.0
#include "schedules/merge_choice.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "schedules/validate.h"

namespace splitwave::schedules {
namespace {

/// Leaves out every empty item beside another of its output, and the lists that held nothing else. Returns how many
/// items went.
std::size_t drop_padding(Plan& plan) {
  if (std::none_of(plan.items.begin(), plan.items.end(), [](const Item& item) { return item.tokens() == 0; })) return 0;
  std::vector<bool> served(plan.outputs.size(), false);  // has an item that stays
  for (const Item& item : plan.items) {
    if (item.tokens() > 0) served[static_cast<std::size_t>(item.output)] = true;
  }
  std::vector<Item> items;
  items.reserve(plan.items.size());
  std::vector<std::int32_t> cta_begin{0};
  cta_begin.reserve(plan.cta_begin.size());
  for (std::int32_t list = 0; list < plan.lists(); ++list) {
    const std::size_t before = items.size();
    for (const Item& item : plan.list(list)) {
      if (item.tokens() == 0 && served[static_cast<std::size_t>(item.output)]) continue;
      served[static_cast<std::size_t>(item.output)] = true;
      items.push_back(item);
    }
    const bool only_padding = items.size() == before && !plan.list(list).empty();
    if (!only_padding) cta_begin.push_back(static_cast<std::int32_t>(items.size()));
  }
  const std::size_t dropped = plan.items.size() - items.size();
  plan.items = std::move(items);
  plan.cta_begin = std::move(cta_begin);
  return dropped;
}

/// Slots dense again, in their old order, and merges of those alone that still have two parts or more.
void close_gaps(Plan& plan) {
  std::vector<std::int32_t> slot_of(static_cast<std::size_t>(plan.slots()), -1);  // by old slot
  std::vector<bool> stays(slot_of.size(), false);
  for (const Item& item : plan.items) {
    if (item.slot >= 0) stays[static_cast<std::size_t>(item.slot)] = true;
  }
  std::vector<Merge> merges;
  std::int32_t next = 0;
  for (const Merge& merge : plan.merges) {
    if (std::count(stays.begin() + merge.slot_begin, stays.begin() + merge.slot_end, true) < 2) continue;
    const std::int32_t first = next;
    for (std::int32_t slot = merge.slot_begin; slot < merge.slot_end; ++slot) {
      if (stays[static_cast<std::size_t>(slot)]) slot_of[static_cast<std::size_t>(slot)] = next++;
    }
    merges.push_back({merge.output, first, next});
  }
  for (Item& item : plan.items) {
    if (item.slot >= 0) item.slot = slot_of[static_cast<std::size_t>(item.slot)];
  }
  plan.merges = std::move(merges);
}

/// CTAs that wait are all there at once, and owe nobody anything while they do.
void make_waiting_grid(const workloads::Workload& workload, Plan& plan, const Grid& grid) {
  if (plan.lists() > grid.resident()) {
    throw base::InputError(
        fmt::format("schedule {}: {} CTAs would wait for each other, {} are resident; allowed: +kernel, +last_arriver",
                    plan.schedule, plan.lists(), grid.resident()));
  }
  plan.dispatch = Dispatch::fixed;
  plan.workers = 0;
  std::vector<std::string> problems;
  check_dispatch(workload, plan, problems);
  if (problems.empty()) return;
  throw base::InputError(
      fmt::format("schedule {}: {}; allowed: +kernel, +last_arriver", plan.schedule, problems.front()));
}

}  // namespace

std::string_view without_merge(std::string_view name) {
  return name.substr(0, name.find('+'));
}

std::optional<MergeKind> merge_of(std::string_view name) {
  const std::size_t plus = name.find('+');
  if (plus == std::string_view::npos) return {};
  const std::string_view word = name.substr(plus + 1);
  for (const MergeKind merge : {MergeKind::kernel, MergeKind::host_cta, MergeKind::last_arriver}) {
    if (to_string(merge) == word) return merge;
  }
  throw base::InputError(fmt::format("schedule {}: merge '{}' is not allowed; allowed is {}",
                                     base::printable(without_merge(name)), base::printable(word), kMergeNames));
}

Plan with_merge(const workloads::Workload& workload, Plan plan, MergeKind merge, const Grid& grid) {
  plan.schedule += '+' + to_string(merge);
  plan.reason += fmt::format("; merge {} as asked", to_string(merge));
  if (merge == MergeKind::kernel) {
    if (!plan.merges.empty()) plan.merge = merge;
    return plan;
  }
  if (const std::size_t dropped = drop_padding(plan); dropped > 0) {
    close_gaps(plan);
    plan.reason += fmt::format(", {} empty items left out", dropped);
  }
  plan.merge = plan.merges.empty() ? MergeKind::none : merge;
  if (plan.merge == MergeKind::host_cta) make_waiting_grid(workload, plan, grid);
  return plan;
}

}  // namespace splitwave::schedules
