// SPDX-License-Identifier: Apache-2.0
#include "cpu_reference/stream_probe.h"

#include <algorithm>
#include <utility>

#include "base/stop.h"
#include "cpu_reference/interruptions.h"
#include "cpu_reference/measure.h"

namespace splitwave::cpu_reference {
namespace {

/// K and V of one thread: some tenths of a millisecond. Of many rows, which arithmetic holds up, less.
constexpr std::int64_t kStreamBytes = 6 << 20;
constexpr std::int32_t kRowsOfAllBytes = 8;
constexpr std::int64_t kLeastBytes = 2 << 20;
constexpr std::int32_t kShortTokens = 64;
constexpr std::int32_t kLeastItems = 4;

/// Kinds of plans.
enum : std::size_t { kFew, kMany, kLists };

/// Tokens that the request of a KV token shows in the mean; 0 if there are none.
double mean_context(const workloads::Workload& workload) {
  double tokens = 0;
  double squares = 0;
  for (const workloads::Request& request : workload.requests) {
    const double seen = workloads::visible_to_queries(workload.geometry, request, 0, request.query_len).size();
    tokens += seen;
    squares += seen * seen;
  }
  return tokens > 0 ? squares / tokens : 0;
}

/// Requests of one thread, and the context of each.
struct ThreadShare {
  std::int32_t requests = 1;
  std::int32_t context = 0;
};

/// Contexts are as long as the workload's, as far as the bytes go: where rows of several heads lie side by side, a long
/// one streams more slowly. They are of an odd number of short items, so that the requests of threads do not all begin
/// at the same place in their pages.
ThreadShare share_of(const workloads::Workload& like, std::int32_t rows) {
  const std::int64_t bytes = std::max(kLeastBytes, kStreamBytes * kRowsOfAllBytes / std::max(rows, kRowsOfAllBytes));
  const std::int64_t row = like.geometry.kv_heads * workloads::kv_bytes_per_token(like.geometry) * kShortTokens;
  const auto most = std::max(kLeastItems, static_cast<std::int32_t>(bytes / row));  // short items of all bytes
  const double mean = mean_context(like) / kShortTokens;
  const std::int32_t items =
      (mean > 0 ? static_cast<std::int32_t>(std::clamp<double>(mean, kLeastItems, most)) : most) | 1;
  return {std::max(1, most / items), items * kShortTokens};
}

}  // namespace

StreamCost stream_cost(double bytes, int few, int many, double few_seconds, double many_seconds, double lists_seconds) {
  StreamCost cost;
  cost.item_seconds = std::max(0.0, (many_seconds - few_seconds) / (many - few));
  cost.list_seconds = std::max(0.0, cost.item_seconds + (lists_seconds - many_seconds) / (many - 1));
  cost.seconds_per_kv_byte = std::max(0.0, few_seconds - cost.list_seconds - (few - 1) * cost.item_seconds) / bytes;
  return cost;
}

StreamProbe::StreamProbe(const workloads::Workload& like, std::int32_t rows, int threads) : threads_(threads) {
  const ThreadShare share = share_of(like, rows);
  const std::int32_t heads = like.geometry.kv_heads;
  const workloads::Workload workload = made_up_workload(like, rows, threads * share.requests, share.context);
  bytes_ = static_cast<double>(workloads::kv_bytes(workload)) / threads;
  few_ = share.requests * heads;
  many_ = few_ * share.context / kShortTokens;
  std::vector<schedules::Plan> plans;
  const auto add = [&](std::int32_t tokens, Lists lists) {
    for (int thread = 0; thread < threads; ++thread) {
      const MadeUpOutputs outputs{thread * share.requests, (thread + 1) * share.requests, heads};
      plans.push_back(items_plan(workload, outputs, tokens, lists));
    }
  };
  add(share.context, Lists::one);
  add(kShortTokens, Lists::one);
  add(kShortTokens, Lists::each);
  run_.emplace(workload, std::move(plans));
  for (std::size_t kind = 0; kind < seconds_.size(); ++kind) seconds_of(kind);  // pages of the results
}

/// Of a whole run from memory, by thread.
std::vector<double> StreamProbe::seconds_of(std::size_t kind) {
  base::stop_if_asked();
  std::vector<double> seconds;
  until_uninterrupted([&] { evict(run_->tensors(), threads_); },
                      [&] {
                        seconds = thread_seconds(threads_, threads_, [&](int thread) {
                          run_->run(kind * static_cast<std::size_t>(threads_) + static_cast<std::size_t>(thread));
                        });
                      });
  return seconds;
}

void StreamProbe::measure() {
  for (std::size_t kind = 0; kind < seconds_.size(); ++kind) seconds_[kind].add(seconds_of(kind));
}

StreamCost StreamProbe::cost(double Pace::*of) const {
  return stream_cost(bytes_, few_, many_, seconds_[kFew].pace(1).*of, seconds_[kMany].pace(1).*of,
                     seconds_[kLists].pace(1).*of);
}

}  // namespace splitwave::cpu_reference
