// SPDX-License-Identifier: Apache-2.0
#include "studies/batch_bucket.h"

#include <algorithm>
#include <cmath>

namespace splitwave::studies {
namespace {

constexpr std::int32_t kPiece = 64;        ///< what kernels without rings hold comes in multiples of this
constexpr std::int32_t kMostWhole = 2048;  ///< tokens of an item that any of them holds
constexpr double kStepsPerOctave = 8;

std::int32_t step(double value) {
  return value < 1 ? -1 : static_cast<std::int32_t>(std::lround(kStepsPerOctave * std::log2(value)));
}

/// Negative for short contexts, of which pieces count.
std::int32_t longest_step(std::int32_t longest) {
  return longest <= kMostWhole ? -1 - (longest + kPiece - 1) / kPiece : step(longest);
}

}  // namespace

std::size_t BatchBucketHash::operator()(const BatchBucket& bucket) const {
  std::uint64_t hash = 0xcbf29ce484222325ULL;  // FNV-1a over the numbers
  for (const std::int32_t number : bucket) hash = (hash ^ static_cast<std::uint32_t>(number)) * 0x100000001b3ULL;
  return static_cast<std::size_t>(hash);
}

BatchBucket bucket_of(const workloads::Workload& workload) {
  const workloads::Geometry& g = workload.geometry;
  std::int32_t longest = 0;
  std::int32_t most_queries = 0;
  std::int64_t tokens = 0;
  bool uniform = true;
  for (const workloads::Request& request : workload.requests) {
    longest = std::max(longest, request.context_len);
    most_queries = std::max(most_queries, request.query_len);
    tokens += request.context_len;
    uniform = uniform && request == workload.requests.front();
  }
  return {g.query_heads,
          g.kv_heads,
          g.head_dim,
          g.value_dim,
          static_cast<std::int32_t>(g.dtype),
          g.causal ? 1 : 0,
          g.window.value_or(-1),
          static_cast<std::int32_t>(workload.kv.layout),
          workload.kv.page_size,
          most_queries,
          uniform ? 1 : 0,
          step(static_cast<double>(workload.requests.size())),
          step(static_cast<double>(tokens)),
          longest_step(longest)};
}

}  // namespace splitwave::studies
