// SPDX-License-Identifier: Apache-2.0
#include "studies/explain_limit.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <utility>

#include "reports/table.h"
#include "simulator/alternatives.h"
#include "studies/traced_plan.h"

namespace splitwave::studies {
namespace {

std::string plural(std::int64_t count, const char* one) {
  return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s");
}

/// When a CTA slot last worked on KV tokens, and how long it merged after the last item of all.
struct SlotUse {
  double worked_until = -1;  ///< seconds; negative: it never had a KV token
  bool merges = false;
};

std::vector<SlotUse> slot_uses(const Explanation& e) {
  const PictureRows rows = picture_rows(e.grid, e.kernel, e.timeline);
  std::vector<SlotUse> slots(static_cast<std::size_t>(rows.sms) * static_cast<std::size_t>(rows.slots_per_sm));
  for (const schedules::Span& span : e.timeline.spans) {
    SlotUse& slot = slots.at(static_cast<std::size_t>(span.sm) * static_cast<std::size_t>(rows.slots_per_sm) +
                             static_cast<std::size_t>(span.slot));
    if (span.item < 0) {
      slot.merges = true;
    } else if (e.plan.items[static_cast<std::size_t>(span.item)].tokens() > 0) {
      slot.worked_until = std::max(slot.worked_until, span.end_seconds);
    }
  }
  return slots;
}

std::int64_t slots_with_work(const Explanation& e) {
  const std::vector<SlotUse> slots = slot_uses(e);
  return std::count_if(slots.begin(), slots.end(), [](const SlotUse& slot) { return slot.worked_until >= 0; });
}

/// CTA slots that lists of items can go to: a queue has no more than its workers.
std::int64_t slots_that_take(const Explanation& e) {
  const std::int32_t resident = e.grid.resident();
  return e.plan.dispatch == schedules::Dispatch::queue ? std::min(e.plan.workers, resident) : resident;
}

std::string why_launch(const Explanation& /*e*/) {
  return "starting the kernel and its CTAs takes longer than any other part";
}

std::string why_ramp(const Explanation& /*e*/) {
  return "CTAs start up and wait for their first bytes longer than they read";
}

std::string why_stream(const Explanation& e) {
  const std::string share = reports::format_percent(e.bandwidth_share);
  if (e.bandwidth_share >= kNearPlateau) {
    return fmt::format("memory: the workload's bytes arrive at {} of the bandwidth that a plain read reaches", share);
  }
  const std::int64_t working = slots_with_work(e);
  const std::string slots = working < e.grid.resident()
                                ? fmt::format("only {} of {} CTA slots read", working, e.grid.resident())
                                : fmt::format("all {} CTA slots read at some time", e.grid.resident());
  return fmt::format("memory: {}, and together reach {} of the bandwidth of a plain read", slots, share);
}

/// Rows that the instruction computes for a tile of `rows` rows.
std::int32_t padded_rows(const simulator::KernelProfile& kernel, std::int32_t rows) {
  return (rows + kernel.mma_rows - 1) / kernel.mma_rows * kernel.mma_rows;
}

std::string why_compute(const Explanation& e) {
  const std::int32_t rows = simulator::most_rows(e.plan);
  const std::int32_t padded = padded_rows(e.kernel, rows);
  return fmt::format("arithmetic: tiles of {}{} take longer to compute than to read", plural(rows, "query row"),
                     padded > rows ? fmt::format(", padded to {} by the instruction,", padded) : "");
}

std::string why_merge(const Explanation& e) {
  if (e.metrics.merges > 0) {
    return fmt::format("combining partial results: {} over {}", plural(e.metrics.merges, "merge"),
                       plural(e.plan.slots(), "partial result"));
  }
  return "a second kernel is launched after the plan's own, although no output is split";
}

std::string why_wait(const Explanation& e) {
  return fmt::format("CTAs that merge wait for the partial results of others ({})", plural(e.metrics.merges, "merge"));
}

std::string why_no_work(const Explanation& e) {
  std::string text = fmt::format("idle CTA slots: {} of {} get no KV token to read",
                                 e.grid.resident() - slots_with_work(e), e.grid.resident());
  if (e.metrics.empty_items > 0) {
    text += fmt::format("; {} of {} items are empty", e.metrics.empty_items, e.metrics.items);
  }
  return text;
}

std::string why_uneven(const Explanation& e) {
  std::string text = "idle CTA slots: some run out of work before others";
  const std::int64_t takers = slots_that_take(e);
  if (e.lists_with_tokens > takers) {
    text += fmt::format("; {} {} on {} of them are {:.2f} waves", e.lists_with_tokens,
                        e.plan.dispatch == schedules::Dispatch::queue ? "tiles of a queue" : "CTAs with work", takers,
                        static_cast<double>(e.lists_with_tokens) / static_cast<double>(takers));
  }
  if (e.metrics.longest_list_tiles * e.lists_with_tokens > e.metrics.tiles) {
    text += fmt::format("; the longest has {}, the average {:.1f}", plural(e.metrics.longest_list_tiles, "KV tile"),
                        static_cast<double>(e.metrics.tiles) / static_cast<double>(e.lists_with_tokens));
  }
  return text;
}

std::string why_idle(const Explanation& e) {
  const double most = std::max({e.idle.no_work, e.idle.uneven, e.idle.merging});
  if (most == e.idle.no_work) return why_no_work(e);
  if (most == e.idle.uneven) return why_uneven(e);
  return fmt::format("idle CTA slots: they have no part in {} inside the kernel", plural(e.metrics.merges, "merge"));
}

/// What would help whatever the schedule; empty if the numbers name nothing.
std::string other_help(const Explanation& e, std::string_view part) {
  if (part == "launch") return "more requests per call, or a CUDA graph";
  if (part == "stream" && e.bandwidth_share >= kNearPlateau) {
    return "fewer bytes (a smaller K/V type, fewer KV heads, a window) or faster memory";
  }
  const std::int32_t rows = simulator::most_rows(e.plan);
  if (part == "compute" && padded_rows(e.kernel, rows) > rows) {
    const bool packed = e.plan.outputs.front().head_count == e.group;
    return packed ? "an instruction with fewer rows" : "all query heads of a KV head in one tile";
  }
  return "";
}

/// The fastest clearly faster alternatives with more splits, with fewer and with as many, the fastest first.
std::string faster_alternatives(const Explanation& e) {
  if (e.alternatives.empty()) return "nothing else can serve this workload";
  using Better = std::pair<const Alternative*, const char*>;
  std::vector<Better> found;
  const auto look = [&](const char* words, const std::function<bool(std::int32_t, std::int32_t)>& compares) {
    for (const Alternative& one : e.alternatives) {  // fastest first
      if (e.timeline.seconds <= one.seconds * (1 + kClearlyFaster)) return;
      if (compares(one.num_splits, e.plan.num_splits)) return void(found.emplace_back(&one, words));
    }
  };
  look("more splits", std::greater<>());
  look("fewer splits", std::less<>());
  look("another schedule with as many splits", std::equal_to<>());
  if (found.empty()) {
    return fmt::format("none of the {} others tried is more than {:.0f} % faster", e.alternatives.size(),
                       kClearlyFaster * 100);
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Better& a, const Better& b) { return a.first->seconds < b.first->seconds; });
  std::vector<std::string> words;
  for (const auto& [one, name] : found) {
    words.push_back(fmt::format("{} ({}: {} as fast)", name, one->schedule,
                                reports::format_factor(e.timeline.seconds / one->seconds)));
  }
  return fmt::format("{}", fmt::join(words, ", or "));
}

using Sentence = std::string (*)(const Explanation&);
constexpr std::array<std::pair<std::string_view, Sentence>, 7> kWhy = {{{"launch", why_launch},
                                                                        {"ramp", why_ramp},
                                                                        {"stream", why_stream},
                                                                        {"compute", why_compute},
                                                                        {"merge", why_merge},
                                                                        {"wait", why_wait},
                                                                        {"idle", why_idle}}};

}  // namespace

IdleCauses idle_causes(const Explanation& e) {
  const std::vector<SlotUse> slots = slot_uses(e);
  double last = 0;
  for (const SlotUse& slot : slots) last = std::max(last, slot.worked_until);
  const double count = static_cast<double>(slots.size());
  const bool in_kernel =
      e.plan.merge == schedules::MergeKind::host_cta || e.plan.merge == schedules::MergeKind::last_arriver;
  double no_work = 0;
  double merging = 0;
  for (const SlotUse& slot : slots) {
    if (slot.worked_until < 0) no_work += last / count;
    if (in_kernel && !slot.merges) merging += (e.timeline.seconds - last) / count;
  }
  const double idle = e.timeline.breakdown.idle;
  IdleCauses causes;
  causes.no_work = std::min(no_work, idle);
  causes.merging = std::clamp(merging, 0.0, idle - causes.no_work);
  causes.uneven = idle - causes.no_work - causes.merging;
  return causes;
}

Limit limit_of(const Explanation& e) {
  const std::array<Part, 7> all = parts(e.timeline.breakdown);
  const Part largest =
      *std::max_element(all.begin(), all.end(), [](const Part& a, const Part& b) { return a.seconds < b.seconds; });
  const auto why =
      std::find_if(kWhy.begin(), kWhy.end(), [&](const auto& entry) { return entry.first == largest.name; });
  const double total = e.timeline.breakdown.total();
  const std::string other = other_help(e, largest.name);
  return {largest.name, total > 0 ? largest.seconds / total : 0, why->second(e),
          (other.empty() ? "" : other + "; ") + faster_alternatives(e)};
}

}  // namespace splitwave::studies
