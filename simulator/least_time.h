// SPDX-License-Identifier: Apache-2.0
// What lists of items take at least: the sums from which bounds of plans are made.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "schedules/plan.h"
#include "simulator/kernel.h"
#include "simulator/machine.h"
#include "simulator/warp_parts.h"
#include "simulator/work.h"

namespace splitwave::simulator {

/// What rounding, and ends within a hundredth of a byte that are one event, may make of the event loop's time.
inline constexpr double kBoundSlack = 1 - 5e-7;

/// Parts of the time from the launch of lists to the last one's result, each of which none is below.
struct LeastParts {
  double start_seconds = 0;  ///< until the first wave's first requests
  double all_seconds = 0;    ///< after it: until all bytes are there, or all arithmetic is done, at the machine's rate
  double slots_seconds = 0;  ///< after it: until all lists, one after the other in as many places as there are
  double longest_seconds = 0;  ///< after it: of the longest list
  double full_sm_seconds = 0;  ///< besides, as far as SMs are full at the start, which some lists may not meet
  double issue_seconds = 0;    ///< from the launch: until SMs have given their time to all CTAs that hold their items
  /// How lists end: together, as they start at once; or after others in their places, the longest of them first or in
  /// any order.
  enum class Ends { together, longest_first, any } ends = Ends::together;

  /// merge: what follows where another list than the longest ends last.
  double least(double merge = 0) const {
    const double after = std::max(std::max(all_seconds, slots_seconds) + merge, longest_seconds);
    return std::max(start_seconds + after, issue_seconds);
  }
  /// A guess. Where lists do not end together all parts cost something, most of all the longest.
  double expected(double merge) const;
};

/// Lists of a plan, or of one that need not be made, and the time from their launch to the last item's result that no
/// machine with these limits is below.
class LeastTime {
 public:
  /// per_sm: CTAs that fit on an SM. resident: of the plan's, at a time.
  LeastTime(const Machine& machine, const KernelProfile& kernel, const Work& work, std::int32_t per_sm,
            std::int32_t resident);

  /// So many lists of a plan, all alike (simulator/alike.h).
  void add(std::span<const schedules::Item> list, std::int32_t count);
  /// Lists of one item each: how many, of how many tokens in all, and of how many the shortest and the longest has.
  void add_items(std::int64_t lists, double tokens, double shortest, double longest);
  /// `lists` of `tokens` and `items` in all, all equally long.
  void add_equal(std::int64_t lists, double tokens, double items);

  /// So many lists at most are without tokens.
  void add_unread(std::int64_t lists);

  /// ctas: those that have lists with items, of which as many start at once as are resident. further_start: seconds of
  /// a list that takes the place of another, before its first requests.
  LeastParts parts(std::int64_t ctas, double further_start) const;

  /// That all CTAs take in together, at most.
  double most_bytes_per_second() const;

  /// From the last byte of any item to its result, at least.
  double end_seconds() const { return shortest_end_; }

 private:
  /// What a byte takes of its CTA, and of its SM, in tiles of one height.
  struct ByteSeconds {
    double arithmetic = 0;  ///< of a CTA alone on its SM
    double cta = 0;         ///< the same or longer, since they must arrive
    double sm = 0;
  };
  WarpParts least_parts(std::span<const schedules::Item> list) const;
  double least_end() const;
  void add_totals(std::int64_t lists, double bytes, double slot_seconds, double shortest, double longest);
  double drifting_share() const;

  const Machine& machine_;
  const KernelProfile& kernel_;
  const Work& work_;
  std::int32_t per_sm_ = 1;
  std::int32_t resident_ = 1;
  double fill_ = 0;                        ///< from a list's first requests to its stream
  double further_item_ = 0;                ///< of a further item of a list, besides its tokens and its end
  std::vector<ByteSeconds> byte_seconds_;  ///< by height

  std::int64_t lists_ = 0;  ///< that have tokens
  double bytes_ = 0;
  double slot_seconds_ = 0;  ///< of all lists, from their first requests to their ends
  double sm_seconds_ = 0;    ///< arithmetic of all lists on SMs that have as much of it at a time as they can
  double longest_ = 0;       ///< seconds of a list
  double shortest_ = std::numeric_limits<double>::infinity();
  double shortest_end_ = std::numeric_limits<double>::infinity();
  std::int32_t first_tokens_ = -1;  ///< of the first item
  bool equal_ = true;               ///< all items have as many
  std::int64_t unread_ = 0;         ///< lists without tokens
};

}  // namespace splitwave::simulator
