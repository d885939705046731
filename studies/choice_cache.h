// SPDX-License-Identifier: Apache-2.0
// Choices for a decode loop, whose batches change a little from step to step: one choice for all batches that are much
// alike.
//
//   studies::ChoiceCache choices(studies::device_target());
//   const studies::Choice& choice = choices.get(workload);
//   const schedules::Plan plan = schedules::make_plan(choice.schedule, workload, choice.grid);
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>

#include "schedules/grid.h"
#include "studies/target.h"
#include "workloads/workload.h"

namespace splitwave::studies {

/// A schedule, what it is told of the machine, and the kernel that runs its plan.
struct Choice {
  std::string schedule;
  schedules::Grid grid;
  std::string config;  ///< of the kernel; empty where it has none
};

/// Not for several threads at a time.
class ChoiceCache {
 public:
  explicit ChoiceCache(Target target) : target_(std::move(target)) {}

  /// studies::choose() for the first workload of a bucket, and its answer for all others: the same geometry, cache
  /// layout and number of queries; batch, tokens and longest context alike to an eighth of an octave; contexts of up to
  /// 2,048 tokens of as many pieces of 64, since kernels without rings hold so many. The plan that the choice makes is
  /// valid for each of them. Throws as choose() does.
  const Choice& get(const workloads::Workload& workload);

  /// Buckets that were asked for.
  std::size_t size() const { return choices_.size(); }

 private:
  using Key = std::array<std::int32_t, 14>;
  struct Hash {
    std::size_t operator()(const Key& key) const;
  };
  static Key key_of(const workloads::Workload& workload);

  Target target_;
  std::unordered_map<Key, Choice, Hash> choices_;
};

}  // namespace splitwave::studies
