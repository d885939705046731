// SPDX-License-Identifier: Apache-2.0
#include "studies/choice_cache.h"

#include "studies/choose.h"

namespace splitwave::studies {
const Choice& ChoiceCache::get(const workloads::Workload& workload) {
  const BatchBucket key = bucket_of(workload);
  const auto known = choices_.find(key);
  if (known != choices_.end()) return known->second;
  Prediction chosen = choose(workload, target_);
  return choices_.emplace(key, Choice{chosen.plan.schedule, chosen.grid, chosen.kernel.config}).first->second;
}

}  // namespace splitwave::studies
