// SPDX-License-Identifier: Apache-2.0
#include "studies/split_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "studies/predict.h"

namespace splitwave::studies {

SplitCache::SplitCache(Target target, const SplitCall& call, std::int32_t max_splits)
    : target_(std::move(target)), call_(call), most_(max_splits > 0 ? std::min(max_splits, call.most) : call.most) {}

const Alternative& SplitCache::get(const workloads::Workload& workload) {
  if (workload.requests.empty()) throw base::InputError("requests: the batch is empty; allowed: at least one request");
  const BatchBucket key = bucket_of(workload);
  const auto known = best_.find(key);
  if (known != best_.end()) return known->second;
  const auto best = best_split(call_, workload, target_, most_);
  if (best) return best_.emplace(key, *best).first->second;
  predict(workload, call_.rule, target_);  // throws, and says why
  throw base::InputError(fmt::format("{} serves {} on {} with no split count up to {}", call_.library, workload.name,
                                     target_.name, most_));
}

}  // namespace splitwave::studies
