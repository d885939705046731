// SPDX-License-Identifier: Apache-2.0
// Other sets of tokens than the visible ones: masks that are off by one, misaligned, or ignored.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "cpu_reference/faults/probe.h"

namespace splitwave::cpu_reference::faults {
namespace {

using workloads::KvRange;

/// Most tokens of a range that is computed anew for a guess.
constexpr std::int32_t kMostRangeTokens = 1 << 18;

struct Outcome {
  std::vector<double> output;
  double lse = 0;
};

/// Attention of the row over other positions, and `zeros` more tokens of score 0 and V 0.
Outcome attend_range(const AttentionCase& attention, const RowId& id, KvRange range, bool masked, double zeros) {
  ScoreSource source;
  source.range = range;
  source.masked = masked;
  RowWeights weights = row_weights(attention, id, source);
  double total = weights.total;
  double largest = weights.largest;
  double shrink = 1;
  if (zeros > 0) {
    const double top = std::max(largest, 0.0);
    shrink = std::isfinite(largest) ? std::exp(largest - top) : 0;
    total = total * shrink + zeros * std::exp(-top);
    largest = top;
  }
  const std::int32_t kv_head = id.head / attention.geometry.group();
  Outcome outcome{weighted_values(attention, id, kv_head, range, weights.weights), largest + std::log(total)};
  for (double& element : outcome.output) element = total == 0 ? 0 : element * shrink / total;
  return outcome;
}

class Visibility {
 public:
  Visibility(const AttentionCase& attention, const Probe& probe, BestGuesses& best)
      : attention_(attention),
        g_(attention.geometry),
        request_(attention.requests[static_cast<std::size_t>(probe.id.request)]),
        probe_(probe),
        best_(best),
        seen_(probe.weights.range) {}

  void run() {
    if (seen_.size() > 1) {
      // Of a query that is not the last, a causal mask takes the same token; then that is named.
      const bool as_causal = !g_.causal && probe_.id.query + 1 < request_.query_len;
      try_range(Fault::last_token, {seen_.begin, seen_.end - 1}, "the last visible token is left out", true, 0,
                as_causal ? kSecondChoice : 0);
    }
    tails();
    causal();
    window();
  }

 private:
  void try_range(Fault fault, KvRange range, const std::string& text, bool masked = true, double zeros = 0,
                 double more_cost = 0) {
    range.begin = std::max(range.begin, 0);
    if (range.size() < 0 || range.size() > kMostRangeTokens || (range == seen_ && masked && zeros == 0)) return;
    const Outcome outcome = attend_range(attention_, probe_.id, range, masked, zeros);
    // Rows that should see nothing are a matter of masked scores first.
    const double empty_cost = seen_.size() == 0 ? kSecondChoice : 0;
    Guess guess{fault, "", range.begin, range.end, std::log(8.0) + more_cost + empty_cost, outcome.lse};
    best_.offer(outcome.output, guess, [&] { return text; });
  }

  /// Tokens after the last visible one: those that lie there, or the zeros that copies beyond a tensor give.
  void tails() {
    const std::int32_t there = readable(request_, probe_.id.request);
    // Tokens of the context behind a query are the causal mask's.
    const double after_causal = seen_.end < request_.context_len ? kSecondChoice : 0;
    if (seen_.end < there)
      try_range(Fault::unmasked_tail, {seen_.begin, seen_.end + 1}, "one token after the last visible one is counted",
                true, 0, after_causal);
    for (const std::int32_t tile : tile_sizes(attention_)) {
      const std::int32_t end = (seen_.end + tile - 1) / tile * tile;
      if (end == seen_.end) continue;
      const std::string text =
          fmt::format("positions {} to {}, the rest of a tile of {}, are counted", seen_.end, end - 1, tile);
      if (end <= there) try_range(Fault::unmasked_tail, {seen_.begin, end}, text, true, 0, after_causal);
      try_range(Fault::unmasked_tail, seen_, text + " as zeros", true, end - seen_.end);
    }
  }

  /// Positions that lie in memory that belongs to the request: its context, and the rest of its last page.
  std::int32_t readable(const workloads::Request& request, std::int32_t index) const {
    if (attention_.page_size > 0) {
      return (request.context_len + attention_.page_size - 1) / attention_.page_size * attention_.page_size;
    }
    return attention_.room.empty() ? request.context_len
                                   : std::max(request.context_len, attention_.room[static_cast<std::size_t>(index)]);
  }

  void causal() {
    const std::int32_t query = probe_.id.query;
    const std::int32_t context = request_.context_len;
    const auto windowed = [&](std::int32_t position) {
      return g_.window ? std::max<std::int64_t>(0, std::int64_t{position} + 1 - *g_.window) : 0;
    };
    const std::int32_t top_left = std::min(query + 1, context);
    try_range(Fault::causal_alignment, {static_cast<std::int32_t>(windowed(query)), top_left},
              "the causal mask is aligned to the top left: query i sees tokens up to i");
    if (g_.causal) {
      try_range(Fault::causal_alignment, {seen_.begin, context}, "the causal mask is not applied");
    } else {
      const std::int32_t position = context - request_.query_len + query;
      try_range(Fault::causal_alignment, {seen_.begin, std::clamp(position + 1, seen_.begin, context)},
                "a causal mask is applied that was not asked for");
    }
  }

  void window() {
    if (!g_.window) return;
    const auto with = [&](std::optional<std::int32_t> width) {
      workloads::Geometry other = g_;
      other.window = width;
      return visible_to_query(other, request_, probe_.id.query);
    };
    try_range(Fault::window, with(*g_.window + 1), "the window is one token too wide");
    if (*g_.window > 1) try_range(Fault::window, with(*g_.window - 1), "the window is one token too narrow");
    try_range(Fault::window, with(std::nullopt), "the window is not applied");
  }

  const AttentionCase& attention_;
  const workloads::Geometry& g_;
  const workloads::Request& request_;
  const Probe& probe_;
  BestGuesses& best_;
  KvRange seen_;
};

/// Positions of the context that the row may not see.
std::vector<bool> hidden_positions(const AttentionCase& attention, const Probe& probe, std::int32_t end) {
  std::vector<bool> hidden(static_cast<std::size_t>(end), true);
  const KvRange seen = probe.weights.range;
  for (std::int32_t i = 0; i < seen.size(); ++i) {
    const bool visible = probe.weights.scores[static_cast<std::size_t>(i)] != -std::numeric_limits<double>::infinity();
    if (seen.begin + i < end) hidden[static_cast<std::size_t>(seen.begin + i)] = attention.mask && !visible;
  }
  return hidden;
}

}  // namespace

void guess_visibility(const JudgedCall& call, const Probe& probe, BestGuesses& best) {
  Visibility(call.attention, probe, best).run();
}

void guess_sentinel(const JudgedCall& call, const Probe& probe, BestGuesses& best) {
  const AttentionCase& attention = call.attention;
  const workloads::Request& request = attention.requests[static_cast<std::size_t>(probe.id.request)];
  const std::int32_t context = request.context_len;
  const KvRange seen = probe.weights.range;
  const std::int32_t kv_head = probe.id.head / attention.geometry.group();
  if (context == 0 || context > kMostRangeTokens) return;
  const bool nothing = probe.weights.total == 0;
  const std::vector<bool> hidden = hidden_positions(attention, probe, context);
  // Sum and count of the hidden tokens' V, up to where each tile ends that holds a visible or, if there is none, any.
  for (const double sentinel : {1e3, 5e3, 1e4, 2e4, 3e4, 5e4, 65504.0, 1e5, 1e6, 1e9, 3.38953e38, 3.40282e38}) {
    if (!nothing && probe.weights.largest > 60 - sentinel) continue;
    const double top = nothing ? -sentinel : std::max(probe.weights.largest, -sentinel);
    std::vector<double> weights(static_cast<std::size_t>(context));
    double total = 0;
    for (std::int32_t t = 0; t < context; ++t) {
      const bool in = t >= seen.begin && t < seen.end && !hidden[static_cast<std::size_t>(t)];
      const double score = in ? probe.weights.scores[static_cast<std::size_t>(t - seen.begin)] : -sentinel;
      weights[static_cast<std::size_t>(t)] = std::exp(score - top);
      total += weights[static_cast<std::size_t>(t)];
    }
    const auto offer = [&](KvRange range, double sum_of_weights) {
      std::vector<double> part(weights.begin() + range.begin, weights.begin() + range.end);
      std::vector<double> output = weighted_values(attention, probe.id, kv_head, range, part);
      for (double& element : output) element /= sum_of_weights;
      Guess guess{Fault::mask_sentinel, "", -1, -1, std::log(60.0), top + std::log(sum_of_weights)};
      best.offer(output, guess,
                 [&] { return fmt::format("masked scores are {:.4g}, a finite number, and are counted", -sentinel); });
    };
    offer({0, context}, total);
    if (!nothing) {
      // The tail of the last tile alone, as zeros.
      for (const std::int32_t tile : tile_sizes(attention)) {
        const std::int32_t end = (seen.end + tile - 1) / tile * tile;
        double tail_total = 0;
        for (std::int32_t t = seen.begin; t < seen.end; ++t) tail_total += weights[static_cast<std::size_t>(t)];
        tail_total += (end - seen.end) * std::exp(-sentinel - top);
        if (tail_total > 0) offer(seen, tail_total);
      }
      continue;
    }
    for (const std::int32_t tile : tile_sizes(attention)) {
      if (tile >= context) continue;
      double count = tile;
      offer({0, tile}, count * weights.front());
    }
  }
}

}  // namespace splitwave::cpu_reference::faults
