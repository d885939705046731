// SPDX-License-Identifier: Apache-2.0
// Splits whose partial results are merged with wrong weights, or of which one is another row's.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "cpu_reference/faults/probe.h"

namespace splitwave::cpu_reference::faults {
namespace {

using workloads::KvRange;

constexpr std::int32_t kMostSplits = 64;

/// One split of a row: mass and weighted sum of V in units of the row's own sum of weights.
struct Split {
  KvRange tokens;
  double mass = 0;
  double largest = 0;  ///< largest score
  std::vector<double> sum;
};

std::vector<Split> splits_of(const Probe& probe, const std::vector<std::int32_t>& cuts) {
  const auto d = probe.exact.size();
  std::vector<Split> splits;
  for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
    const std::size_t a = probe.granule(cuts[i]);
    const std::size_t b = probe.granule(cuts[i + 1]);
    Split split;
    split.tokens = {cuts[i], cuts[i + 1]};
    split.mass = probe.prefix.mass[b] - probe.prefix.mass[a];
    split.largest = *std::max_element(probe.prefix.largest.begin() + static_cast<std::ptrdiff_t>(a),
                                      probe.prefix.largest.begin() + static_cast<std::ptrdiff_t>(b));
    for (std::size_t e = 0; e < d; ++e) split.sum.push_back(probe.prefix.sum[b * d + e] - probe.prefix.sum[a * d + e]);
    splits.push_back(std::move(split));
  }
  return splits;
}

/// The ways to cut the tokens, not at all among them.
std::vector<std::vector<std::int32_t>> cuts_of(KvRange range) {
  std::vector<std::vector<std::int32_t>> cuts = split_cuts(range, kMostSplits);
  cuts.insert(cuts.begin(), {range.begin, range.end});
  return cuts;
}

class Merges {
 public:
  Merges(const Probe& probe, const std::vector<Probe>& neighbours, std::int64_t rows, BestGuesses& best)
      : probe_(probe), neighbours_(neighbours), rows_(rows), best_(best) {}

  void run() {
    const auto all = cuts_of(probe_.weights.range);
    cost_ = std::log(static_cast<double>(all.size())) + 1;
    for (const std::vector<std::int32_t>& cuts : all) {
      if (cuts.size() == 2) continue;
      const std::vector<Split> splits = splits_of(probe_, cuts);
      weights(splits);
      stale_nothing(splits);
    }
    for (const Probe& neighbour : neighbours_) stale(all, neighbour);
  }

 private:
  void weights(const std::vector<Split>& splits) {
    using Weight = double (*)(const Split&, const Probe&);
    struct Way {
      Weight weight;
      const char* text;
    };
    static constexpr Way kWays[] = {
        {[](const Split&, const Probe&) { return 1.0; }, "with equal weights, not by their LSE"},
        // The sum of a split is relative to its own maximum.
        {[](const Split& s, const Probe& p) { return s.mass * std::exp(p.weights.largest - s.largest); },
         "by their sums, without their maxima"},
        {[](const Split& s, const Probe& p) { return std::exp(s.largest - p.weights.largest); },
         "by their maxima, without their sums"},
        {[](const Split& s, const Probe&) { return std::pow(s.mass, std::numbers::ln2); },
         "by 2^LSE where the LSE is natural"},
        {[](const Split& s, const Probe&) { return std::pow(s.mass, std::numbers::log2e); },
         "by e^LSE where the LSE is in base 2"},
        {[](const Split& s, const Probe&) { return s.mass * s.mass; }, "with the weights applied twice"}};
    for (const Way& way : kWays) {
      double total = 0;
      std::vector<double> output(probe_.exact.size());
      for (const Split& split : splits) {
        if (split.mass <= 0) continue;
        const double weight = way.weight(split, probe_);
        total += weight;
        for (std::size_t e = 0; e < output.size(); ++e) output[e] += weight / split.mass * split.sum[e];
      }
      for (double& element : output) element /= total;
      Guess guess{Fault::merge_weights, "", -1, -1, cost_ + std::log(6.0), std::nullopt};
      if (&way == &kWays[1]) guess.lse = probe_.exact_lse + std::log(total);
      best_.offer(output, guess, [&] {
        return fmt::format("{} splits cut at tokens {}, ... are merged {}", splits.size(), splits[1].tokens.begin,
                           way.text);
      });
    }
  }

  void replaced(const Split& split, double mass, const std::vector<double>& sum, double cost,
                const std::function<std::string()>& text) {
    const double total = 1 - split.mass + mass;
    if (!(total > 1e-12) || !std::isfinite(total)) return;
    double left = 0;
    for (std::size_t e = 0; e < sum.size(); ++e) {
      const double error = probe_.observed[e] - (probe_.exact[e] - split.sum[e] + sum[e]) / total;
      left += error * error;
    }
    const Guess guess{Fault::stale_partial, "",   split.tokens.begin,
                      split.tokens.end,     cost, probe_.exact_lse + std::log(total)};
    best_.offer(left, guess, text);
  }

  /// A workspace of zeros: output 0 and LSE 0, which weighs e^0.
  void stale_nothing(const std::vector<Split>& splits) {
    const std::vector<double> zero(probe_.exact.size());
    for (const Split& split : splits) {
      replaced(split, std::exp(-probe_.exact_lse), zero, cost_ + std::log(static_cast<double>(splits.size())) + 3, [&] {
        return fmt::format("the split of tokens {} to {} was never written: output 0 and LSE 0 are merged",
                           split.tokens.begin, split.tokens.end - 1);
      });
    }
  }

  void stale(const std::vector<std::vector<std::int32_t>>& all, const Probe& neighbour) {
    const KvRange own = probe_.weights.range;
    const KvRange other = neighbour.weights.range;
    const bool same_cuts = own == other;
    const auto theirs = same_cuts ? all : cuts_of(other);
    const double scale = std::exp(neighbour.exact_lse - probe_.exact_lse);
    if (!std::isfinite(scale)) return;
    for (std::size_t i = 0; i < all.size(); ++i) {
      // Of a neighbour of another length, the cuts into as many splits.
      for (std::size_t k = same_cuts ? i : 0; k < (same_cuts ? i + 1 : theirs.size()); ++k) {
        if (theirs[k].size() != all[i].size()) continue;
        exchange(splits_of(probe_, all[i]), splits_of(neighbour, theirs[k]), scale, neighbour.id);
      }
    }
  }

  void exchange(const std::vector<Split>& splits, const std::vector<Split>& others, double scale, const RowId& from) {
    // The whole row: written to another place rather, which is guess_scores()'s to say.
    const double cost = splits.size() == 1
                            ? std::log(static_cast<double>(rows_)) + 0.5
                            : cost_ + std::log(2.0 * static_cast<double>(splits.size() * neighbours_.size()));
    for (std::size_t j = 0; j < splits.size(); ++j) {
      const Split& split = splits[j];
      const auto text = [&] {
        return fmt::format("the partial result of tokens {} to {} is that of query head {} of query {} of request {}",
                           split.tokens.begin, split.tokens.end - 1, from.head, from.query, from.request);
      };
      std::vector<double> sum = others[j].sum;
      for (double& element : sum) element *= scale;
      replaced(split, others[j].mass * scale, sum, cost, text);
      // The output alone is stale, its LSE fresh.
      if (others[j].mass <= 0) continue;
      for (std::size_t e = 0; e < sum.size(); ++e) sum[e] = others[j].sum[e] / others[j].mass * split.mass;
      replaced(split, split.mass, sum, cost, text);
    }
  }

  const Probe& probe_;
  const std::vector<Probe>& neighbours_;
  std::int64_t rows_;  ///< of the batch
  BestGuesses& best_;
  double cost_ = 0;
};

/// An online softmax over tiles whose sum of V (and, if `sums` too, of weights) is not rescaled when the maximum grows.
class Rescale {
 public:
  Rescale(const AttentionCase& attention, const Probe& probe, BestGuesses& best)
      : attention_(attention), probe_(probe), best_(best) {}

  void run() {
    const KvRange range = probe_.weights.range;
    std::vector<std::vector<std::int32_t>> cuts = split_cuts(range, 32);
    cuts.insert(cuts.begin(), {range.begin, range.end});
    const double cost = std::log(24.0 * static_cast<double>(cuts.size()));
    for (const std::vector<std::int32_t>& each : cuts) {
      for (const std::int32_t tile : tile_sizes(attention_)) {
        if (tile < kGranule || tile % kGranule != 0) continue;
        for (const bool backward : {false, true}) tiles(each, tile, backward, cost);
      }
    }
    if (range.size() > (1 << 14)) return;
    token_values();
    for (const std::vector<std::int32_t>& each : cuts) {
      if (each.size() > 10) continue;
      for (const bool backward : {false, true}) tokens(each, backward, cost);
    }
  }

 private:
  /// Sums of one split: of weights and of V, with and without rescaling, relative to its final maximum.
  struct Sums {
    double mass = 0;        ///< as it should be
    double wrong_mass = 0;  ///< each weight relative to the maximum when it came
    std::vector<double> wrong;
  };

  struct Step {
    double largest = 0;
    double mass = 0;
    const double* sum = nullptr;
    const double* before = nullptr;  ///< prefix sum to be taken off; may be null
  };

  /// Adds up the steps in order. Masses and sums are relative to the row's exact sum of weights.
  Sums add_up(const std::vector<Step>& steps) const {
    Sums sums;
    sums.wrong.resize(probe_.exact.size());
    double running = -std::numeric_limits<double>::infinity();
    double top = -std::numeric_limits<double>::infinity();
    for (const Step& step : steps) top = std::max(top, step.largest);
    for (const Step& step : steps) {
      running = std::max(running, step.largest);
      const double swollen = std::exp(std::min(top - running, 700.0));
      sums.mass += step.mass;
      sums.wrong_mass += step.mass * swollen;
      for (std::size_t e = 0; e < sums.wrong.size(); ++e) {
        sums.wrong[e] += swollen * (step.before == nullptr ? step.sum[e] : step.sum[e] - step.before[e]);
      }
    }
    return sums;
  }

  void tiles(const std::vector<std::int32_t>& cuts, std::int32_t tile, bool backward, double cost) {
    const std::size_t d = probe_.exact.size();
    std::vector<Sums> splits;
    for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
      std::vector<Step> steps;
      for (std::int32_t begin = cuts[i]; begin < cuts[i + 1];) {
        const std::int32_t end = std::min((begin / tile + 1) * tile, cuts[i + 1]);
        const std::size_t a = probe_.granule(begin);
        const std::size_t b = probe_.granule(end);
        const auto first = probe_.prefix.largest.begin() + static_cast<std::ptrdiff_t>(a);
        steps.push_back({*std::max_element(first, first + static_cast<std::ptrdiff_t>(b - a)),
                         probe_.prefix.mass[b] - probe_.prefix.mass[a], probe_.prefix.sum.data() + b * d,
                         probe_.prefix.sum.data() + a * d});
        begin = end;
      }
      if (backward) std::reverse(steps.begin(), steps.end());
      splits.push_back(add_up(steps));
    }
    offer(splits, fmt::format("tiles of {}", tile), backward, cost);
  }

  void token_values() {
    const KvRange range = probe_.weights.range;
    const std::size_t d = probe_.exact.size();
    values_.resize(static_cast<std::size_t>(range.size()) * d);
    for (std::int32_t i = 0; i < range.size(); ++i) {
      const std::vector<double> value = weighted_values(
          attention_, probe_.id, probe_.id.head / attention_.geometry.group(), {range.begin + i, range.begin + i + 1},
          {probe_.weights.weights[static_cast<std::size_t>(i)] / probe_.weights.total});
      std::copy(value.begin(), value.end(),
                values_.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(i) * d));
    }
  }

  void tokens(const std::vector<std::int32_t>& cuts, bool backward, double cost) {
    const std::size_t d = probe_.exact.size();
    const std::int32_t origin = probe_.weights.range.begin;
    std::vector<Sums> splits;
    for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
      std::vector<Step> steps;
      for (std::int32_t token = cuts[i]; token < cuts[i + 1]; ++token) {
        const auto at = static_cast<std::size_t>(token - origin);
        steps.push_back({probe_.weights.scores[at], probe_.weights.weights[at] / probe_.weights.total,
                         values_.data() + at * d, nullptr});
      }
      if (backward) std::reverse(steps.begin(), steps.end());
      splits.push_back(add_up(steps));
    }
    offer(splits, "single tokens", backward, cost);
  }

  void offer(const std::vector<Sums>& splits, const std::string& steps, bool backward, double cost) {
    // The sum of V alone, or both.
    for (const bool sums_too : {false, true}) {
      double total = 0;
      std::vector<double> output(probe_.exact.size());
      for (const Sums& split : splits) {
        if (split.mass <= 0) continue;
        const double mass = sums_too ? split.wrong_mass : split.mass;
        total += mass;
        for (std::size_t e = 0; e < output.size(); ++e) output[e] += split.wrong[e];
      }
      if (!(total > 0) || !std::isfinite(total)) continue;
      for (double& element : output) element /= total;
      Guess guess{Fault::missing_rescale, "", -1, -1, cost, probe_.exact_lse};
      if (sums_too) guess.lse = probe_.exact_lse + std::log(total);
      best_.offer(output, guess, [&] {
        return fmt::format("{} not rescaled when the maximum grows ({} in {} order, {} split{})",
                           sums_too ? "output and sum of weights are" : "the output is", steps,
                           backward ? "falling" : "rising", splits.size(), splits.size() == 1 ? "" : "s");
      });
    }
  }

  const AttentionCase& attention_;
  const Probe& probe_;
  BestGuesses& best_;
  std::vector<double> values_;  ///< weighted V per token
};

}  // namespace

void guess_merges(const JudgedCall& call, const Probe& probe, const std::vector<Probe>& neighbours, BestGuesses& best) {
  if (probe.weights.total == 0) return;
  Merges(probe, neighbours, call.attention.rows(), best).run();
}

void guess_rescale(const JudgedCall& call, const Probe& probe, BestGuesses& best) {
  if (probe.weights.total == 0 || probe.weights.range.size() > (1 << 18)) return;
  Rescale(call.attention, probe, best).run();
}

}  // namespace splitwave::cpu_reference::faults
