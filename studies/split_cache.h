// SPDX-License-Identifier: Apache-2.0
// num_splits for a decode loop, whose batches change a little from step to step: one search for all batches that are
// much alike.
//
//   studies::SplitCache splits(studies::target("h100-sxm"), studies::kSplitCalls[1]);
//   const int num_splits = splits.get(workload).num_splits;
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "studies/batch_bucket.h"
#include "studies/split_choice.h"
#include "studies/target.h"
#include "workloads/workload.h"

namespace splitwave::studies {

/// Not for several threads at a time.
class SplitCache {
 public:
  /// max_splits: most that is answered, as vLLM's max_num_splits_for_cuda_graph; 0: what the library allows.
  SplitCache(Target target, const SplitCall& call, std::int32_t max_splits = 0);

  /// best_split() for the first workload of a bucket (bucket_of), and its answer for all others. Throws InputError if
  /// the workload has no requests or the library cannot serve it on the target.
  const Alternative& get(const workloads::Workload& workload);

  /// Buckets that were asked for.
  std::size_t size() const { return best_.size(); }

 private:
  Target target_;
  SplitCall call_;
  std::int32_t most_;
  std::unordered_map<BatchBucket, Alternative, BatchBucketHash> best_;
};

}  // namespace splitwave::studies
