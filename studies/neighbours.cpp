// SPDX-License-Identifier: Apache-2.0
#include "studies/neighbours.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/stop.h"
#include "workloads/limits.h"

namespace splitwave::studies {
namespace {

using workloads::Request;
using workloads::Workload;

constexpr std::int64_t kMostGrowth = 4;
constexpr std::int64_t kLeastTokens = 32768;  ///< that a batch may have however few the workload has
constexpr std::int64_t kMostPlannedTokens = std::int64_t{1} << 22;

/// A batch in the making.
class Mix {
 public:
  Mix(std::string name, const Workload& given) : given_(given) {
    batch_.name = std::move(name);
    batch_.workload = given;
    batch_.workload.requests.clear();
  }
  Mix& original(std::int32_t request) {
    batch_.workload.requests.push_back(given_.requests[static_cast<std::size_t>(request)]);
    batch_.original.push_back(request);
    return *this;
  }
  Mix& originals(std::int32_t begin, std::int32_t end) {
    for (std::int32_t request = begin; request < end; ++request) original(request);
    return *this;
  }
  /// Within what the workload's cache has room for.
  Mix& stranger(Request request) {
    const std::int64_t most = given_.kv.cache_len.value_or(static_cast<std::int32_t>(workloads::kMaxContextLen));
    request.context_len = static_cast<std::int32_t>(std::min<std::int64_t>(request.context_len, most));
    batch_.workload.requests.push_back(request);
    batch_.original.push_back(kStranger);
    return *this;
  }
  NeighbourBatch done() { return std::move(batch_); }

 private:
  const Workload& given_;
  NeighbourBatch batch_;
};

std::int32_t count_of(const Workload& workload) {
  return static_cast<std::int32_t>(workload.requests.size());
}

std::int64_t tokens_of(const Workload& workload) {
  return std::accumulate(workload.requests.begin(), workload.requests.end(), std::int64_t{0},
                         [](std::int64_t sum, const Request& request) { return sum + request.context_len; });
}

const Request& longest_of(const Workload& workload) {
  return *std::max_element(workload.requests.begin(), workload.requests.end(),
                           [](const Request& a, const Request& b) { return a.context_len < b.context_len; });
}

/// The requests in groups of so many, one batch each.
void add_groups(const Workload& given, std::int32_t size, std::vector<NeighbourBatch>& batches) {
  const std::int32_t count = count_of(given);
  for (std::int32_t begin = 0; begin < count; begin += size) {
    const std::int32_t end = std::min(count, begin + size);
    batches.push_back(
        Mix(fmt::format("requests {} to {} of {}", begin, end - 1, count), given).originals(begin, end).done());
  }
}

/// The workload and strangers like its requests after each, so that there are `size` requests.
NeighbourBatch filled_up(const Workload& given, std::int32_t size) {
  const std::int32_t count = count_of(given);
  Mix mix(fmt::format("{} more like these", size - count), given);
  std::int32_t strangers = size - count;
  for (std::int32_t request = 0; request < count; ++request) {
    const std::int32_t here = strangers / (count - request);
    strangers -= here;
    for (std::int32_t i = 0; i < here; ++i) mix.stranger(given.requests[static_cast<std::size_t>(request)]);
    mix.original(request);
  }
  return mix.done();
}

void add_larger(const Workload& given, std::vector<NeighbourBatch>& batches) {
  const std::int32_t count = count_of(given);
  const std::int64_t tokens = tokens_of(given);
  const std::int64_t mean = std::max<std::int64_t>(1, tokens / count);
  std::int32_t last = count;
  for (const std::int32_t size : {count + 1, 2 * count, 4 * count, 16, 64, 512}) {
    const bool plan_only = size * mean > std::max(kMostGrowth * tokens, kLeastTokens);
    if (size <= last || (plan_only && size * mean > kMostPlannedTokens)) continue;
    last = size;
    batches.push_back(filled_up(given, size));
    batches.back().plan_only = plan_only;
  }
}

/// The workload's own shape with strangers' tensors in every other request.
NeighbourBatch half_strangers(const Workload& given, std::int32_t kept) {
  Mix mix(kept == 0 ? "other tensors in odd requests" : "other tensors in even requests", given);
  for (std::int32_t request = 0; request < count_of(given); ++request) {
    if (request % 2 == kept) {
      mix.original(request);
    } else {
      mix.stranger(given.requests[static_cast<std::size_t>(request)]);
    }
  }
  return mix.done();
}

NeighbourBatch beside_shorter(const Workload& given) {
  constexpr std::int32_t kLengths[] = {1, 17, 130, 515, 1000};
  Mix mix("a short stranger before each", given);
  for (std::int32_t request = 0; request < count_of(given); ++request) {
    mix.stranger({1, kLengths[static_cast<std::size_t>(request) % std::size(kLengths)]}).original(request);
  }
  return mix.done();
}

NeighbourBatch beside_longer(const Workload& given) {
  const Request& longest = longest_of(given);
  const std::int64_t tokens = std::min<std::int64_t>(4 * std::int64_t{longest.context_len}, workloads::kMaxContextLen);
  return Mix("a stranger of four times the longest context", given)
      .originals(0, count_of(given))
      .stranger({longest.query_len, static_cast<std::int32_t>(tokens)})
      .done();
}

/// Copies all rows of the heads of one token.
void copy_token(workloads::Dtype dtype, std::int32_t heads, std::int32_t row, const workloads::Bytes& from,
                workloads::Bytes& to, auto from_offset, auto to_offset) {
  const std::int64_t bytes = workloads::bytes_per_element(dtype);
  for (std::int32_t head = 0; head < heads; ++head) {
    std::memcpy(to.data() + to_offset(head) * bytes, from.data() + from_offset(head) * bytes,
                static_cast<std::size_t>(row * bytes));
  }
}

/// Copies the tensors of one request.
void copy_request(const Workload& from, const workloads::Tensors& source, std::int32_t original, const Workload& to,
                  workloads::Tensors& target, std::int32_t request) {
  const workloads::Geometry& g = from.geometry;
  const Request& shape = from.requests[static_cast<std::size_t>(original)];
  for (std::int32_t query = 0; query < shape.query_len; ++query) {
    copy_token(
        g.dtype, g.query_heads, g.head_dim, source.q, target.q,
        [&](std::int32_t head) { return q_row(from, source, original, query, head); },
        [&](std::int32_t head) { return q_row(to, target, request, query, head); });
  }
  for (std::int32_t position = 0; position < shape.context_len; ++position) {
    copy_token(
        g.dtype, g.kv_heads, g.head_dim, source.k, target.k,
        [&](std::int32_t head) { return k_row(from, source, original, position, head); },
        [&](std::int32_t head) { return k_row(to, target, request, position, head); });
    if (g.kind == workloads::AttentionKind::mla) continue;
    copy_token(
        g.dtype, g.kv_heads, g.value_dim, source.v, target.v,
        [&](std::int32_t head) { return v_row(from, source, original, position, head); },
        [&](std::int32_t head) { return v_row(to, target, request, position, head); });
  }
}

}  // namespace

std::vector<NeighbourBatch> alone(const Workload& workload) {
  std::vector<NeighbourBatch> batches;
  for (std::int32_t request = 0; request < count_of(workload); ++request) {
    batches.push_back(Mix(fmt::format("alone: request {}", request), workload).original(request).done());
  }
  return batches;
}

std::vector<NeighbourBatch> among_others(const Workload& workload) {
  const std::int32_t count = count_of(workload);
  std::vector<NeighbourBatch> batches;
  if (count == 0) return batches;
  add_larger(workload, batches);
  if (count > 1) {
    batches.push_back(Mix("as given", workload).originals(0, count).done());
    Mix reversed("reversed", workload);
    for (std::int32_t request = count; request-- > 0;) reversed.original(request);
    batches.push_back(reversed.done());
    batches.push_back(half_strangers(workload, 0));
    batches.push_back(half_strangers(workload, 1));
  }
  if (count > 2) add_groups(workload, 2, batches);
  if (count > 5) add_groups(workload, (count + 1) / 2, batches);
  if (count > 3) batches.push_back(Mix("without the last", workload).originals(0, count - 1).done());
  batches.push_back(beside_shorter(workload));
  batches.push_back(beside_longer(workload));
  return batches;
}

workloads::Tensors tensors_of(const NeighbourBatch& batch, const Workload& given, const workloads::Tensors& tensors,
                              std::int64_t memory_limit_bytes) {
  Workload with_other_values = batch.workload;
  with_other_values.seed = ~given.seed;  // of strangers, and of what the copies below forget
  workloads::Tensors result = workloads::make_tensors(with_other_values, memory_limit_bytes);
  for (std::size_t request = 0; request < batch.original.size(); ++request) {
    base::stop_if_asked();
    if (batch.original[request] == kStranger) continue;
    copy_request(given, tensors, batch.original[request], batch.workload, result, static_cast<std::int32_t>(request));
  }
  return result;
}

}  // namespace splitwave::studies
