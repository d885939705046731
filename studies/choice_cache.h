// SPDX-License-Identifier: Apache-2.0
// Choices for a decode loop, whose batches change a little from step to step: one choice for all batches that are much
// alike.
//
//   studies::ChoiceCache choices(studies::device_target());
//   const studies::Choice& choice = choices.get(workload);
//   const schedules::Plan plan = schedules::make_plan(choice.schedule, workload, choice.grid);
#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>
#include <utility>

#include "schedules/grid.h"
#include "studies/batch_bucket.h"
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

  /// studies::choose() for the first workload of a bucket (bucket_of), and its answer for all others. The plan that the
  /// choice makes is valid for each of them. Throws as choose() does.
  const Choice& get(const workloads::Workload& workload);

  /// Buckets that were asked for.
  std::size_t size() const { return choices_.size(); }

 private:
  Target target_;
  std::unordered_map<BatchBucket, Choice, BatchBucketHash> choices_;
};

}  // namespace splitwave::studies
