// SPDX-License-Identifier: Apache-2.0
// Tokens [a, b) that were left out, counted twice, or given another weight. With weights p that sum to 1, m the sum of
// those of the range, and D the sum of p (v - output) over it, giving the range the weight 1 + f moves the output by
// f / (1 + f m) D. D of any range is the difference of two prefix sums, so that very many ranges can be tried.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "cpu_reference/faults/probe.h"

namespace splitwave::cpu_reference::faults {
namespace {

using workloads::KvRange;

/// Grid points of which every pair is tried as a range.
constexpr std::int32_t kPairPoints = 384;

struct Trial {
  KvRange range;
  double factor = 0;  ///< weight of the range, less 1
  double left = 0;    ///< squared error that is left
};

/// The best range of each kind.
struct Trials {
  Trial missing, doubled, weighted;
  double tried = 0;
};

class Scan {
 public:
  Scan(const AttentionCase& attention, const Probe& probe) : attention_(attention), probe_(probe) {
    const std::size_t d = probe.exact.size();
    const std::size_t points = probe.prefix.position.size();
    // Prefix sums of p (v - output), and their products with the error.
    moved_.resize(points * d);
    along_.resize(points);
    for (std::size_t g = 0; g < points; ++g) {
      for (std::size_t e = 0; e < d; ++e) {
        moved_[g * d + e] = probe.prefix.sum[g * d + e] - probe.prefix.mass[g] * probe.exact[e];
        along_[g] += moved_[g * d + e] * probe.error[e];
      }
    }
    best_.missing.left = best_.doubled.left = best_.weighted.left = probe.error_squared;
  }

  Trials run() {
    tiles();
    pairs();
    for (const std::vector<std::int32_t>& cuts : split_cuts(probe_.weights.range, 64)) {
      for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
        try_granules(probe_.granule(cuts[i]), probe_.granule(cuts[i + 1]));
      }
    }
    for (Trial Trials::*kind : {&Trials::missing, &Trials::doubled, &Trials::weighted}) refine(kind);
    return best_;
  }

 private:
  void tiles() {
    const std::vector<std::int32_t>& at = probe_.prefix.position;
    for (const std::int32_t tile : tile_sizes(attention_)) {
      for (std::size_t g = 0; g + 1 < at.size(); ++g) {
        if (g > 0 && at[g] % tile != 0) continue;
        const std::int32_t end = std::min((at[g] / tile + 1) * tile, at.back());
        try_granules(g, probe_.granule(end));
      }
    }
  }

  void pairs() {
    const std::size_t last = probe_.prefix.position.size() - 1;
    const std::size_t step = last / kPairPoints + 1;
    for (std::size_t a = 0; a < last; a += step) {
      for (std::size_t b = a + step; b < last; b += step) try_granules(a, b);
      try_granules(a, last);
    }
  }

  void try_granules(std::size_t a, std::size_t b) {
    if (b <= a) return;
    const std::size_t d = probe_.exact.size();
    const double* const from = moved_.data() + a * d;
    const double* const to = moved_.data() + b * d;
    double size = 0;
    for (std::size_t e = 0; e < d; ++e) size += (to[e] - from[e]) * (to[e] - from[e]);
    consider(best_, {probe_.prefix.position[a], probe_.prefix.position[b]}, along_[b] - along_[a], size,
             probe_.prefix.mass[b] - probe_.prefix.mass[a]);
  }

  void consider(Trials& best, KvRange range, double along, double size, double mass) const {
    ++best.tried;
    const auto left = [&](double step) { return probe_.error_squared - 2 * step * along + step * step * size; };
    const auto keep = [&](Trial& trial, double factor) {
      const double bottom = 1 + factor * mass;
      if (bottom < 1e-9) return;
      const double rest = left(factor / bottom);
      if (rest < trial.left) trial = {range, factor, rest};
    };
    keep(best.missing, -1);
    keep(best.doubled, 1);
    if (size <= 0) return;
    const double step = along / size;
    if (1 - step * mass > 1e-9) keep(best.weighted, step / (1 - step * mass));
  }

  /// Moves both ends token by token, as cuts need not lie on granules.
  void refine(Trial Trials::*kind) {
    if ((best_.*kind).left >= probe_.error_squared) return;
    const KvRange all = probe_.weights.range;
    for (int round = 0; round < 3; ++round) {
      const KvRange at = (best_.*kind).range;
      for (const std::int32_t begin : around(at.begin, all)) try_tokens({begin, at.end}, kind);
      const KvRange moved = (best_.*kind).range;
      for (const std::int32_t end : around(moved.end, all)) try_tokens({moved.begin, end}, kind);
      if ((best_.*kind).range == at) break;
    }
  }

  static std::vector<std::int32_t> around(std::int32_t position, KvRange all) {
    std::set<std::int32_t> near;
    for (std::int32_t step = -kGranule; step <= kGranule; ++step) near.insert(position + step);
    for (std::int32_t step = 2; step <= 64; step *= 2) {
      near.insert({position - step * kGranule, position + step * kGranule});
    }
    std::vector<std::int32_t> inside;
    for (const std::int32_t each : near) {
      if (each >= all.begin && each <= all.end) inside.push_back(each);
    }
    return inside;
  }

  void try_tokens(KvRange range, Trial Trials::*kind) {
    if (range.size() <= 0) return;
    const Part part = probe_.part(attention_, range);
    double along = 0;
    double size = 0;
    for (std::size_t e = 0; e < part.sum.size(); ++e) {
      const double moved = part.sum[e] - part.mass * probe_.exact[e];
      along += moved * probe_.error[e];
      size += moved * moved;
    }
    Trials here;
    here.missing.left = here.doubled.left = here.weighted.left = probe_.error_squared;
    consider(here, range, along, size, part.mass);
    if ((here.*kind).left < (best_.*kind).left) best_.*kind = here.*kind;
  }

  const AttentionCase& attention_;
  const Probe& probe_;
  std::vector<double> moved_;
  std::vector<double> along_;
  Trials best_;
};

std::string place(const AttentionCase& attention, KvRange range) {
  if (attention.page_size > 0 && range.begin % attention.page_size == 0 && range.size() == attention.page_size) {
    return fmt::format("page {} (tokens {} to {})", range.begin / attention.page_size, range.begin, range.end - 1);
  }
  if (range.size() == 1) return fmt::format("token {}", range.begin);
  return fmt::format("tokens {} to {}", range.begin, range.end - 1);
}

}  // namespace

void guess_ranges(const JudgedCall& call, const Probe& probe, BestGuesses& best) {
  if (probe.weights.range.size() == 0) return;
  const Trials trials = Scan(call.attention, probe).run();
  const double cost = std::log(trials.tried);
  const KvRange all = probe.weights.range;
  const auto offer = [&](Fault fault, const Trial& trial, double cost_nats, const std::string& what) {
    if (trial.left >= probe.error_squared) return;
    Guess guess{fault, "", trial.range.begin, trial.range.end, cost_nats, std::nullopt};
    const double mass = probe.part(call.attention, trial.range).mass;
    if (1 + trial.factor * mass > 0) guess.lse = probe.exact_lse + std::log1p(trial.factor * mass);
    best.offer(trial.left, guess, [&] { return fmt::format("{} {}", place(call.attention, trial.range), what); });
  };
  // The last token alone is a fault of its own, and so is the first of a window: they are named first.
  const bool at_end =
      trials.missing.range.size() == 1 && (trials.missing.range.end == all.end ||
                                           (call.attention.geometry.window && trials.missing.range.begin == all.begin));
  offer(Fault::missing_tokens, trials.missing, at_end ? cost + kSecondChoice : cost, "left out");
  const Guess nothing{Fault::missing_tokens, "", all.begin, all.end, 3, std::nullopt};
  best.offer(squared(probe.observed), nothing,
             [&] { return place(call.attention, all) + ", all there are, left out"; });
  offer(Fault::doubled_tokens, trials.doubled, cost, "counted twice");
  const double factor = trials.weighted.factor;
  // A factor near 1 is rounding; one of 0 or 2 is no wrong weight but a part missing or doubled.
  if (std::abs(factor) > 0.05 && std::abs(factor + 1) > 0.02 && factor > -1) {
    offer(Fault::merge_weights, trials.weighted, cost + 12,
          fmt::format("merged with {:.3g} times their weight", 1 + factor));
  }
}

}  // namespace splitwave::cpu_reference::faults
