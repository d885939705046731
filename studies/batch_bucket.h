// SPDX-License-Identifier: Apache-2.0
// Batches that are much alike, of which a decode loop asks the same question again and again.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "workloads/workload.h"

namespace splitwave::studies {

/// Equal for workloads of the same geometry, cache layout and number of queries, whose batch, tokens and longest
/// context are alike to an eighth of an octave; contexts of up to 2,048 tokens of as many pieces of 64, since kernels
/// without rings hold so many.
using BatchBucket = std::array<std::int32_t, 14>;
BatchBucket bucket_of(const workloads::Workload& workload);

struct BatchBucketHash {
  std::size_t operator()(const BatchBucket& bucket) const;
};

}  // namespace splitwave::studies
