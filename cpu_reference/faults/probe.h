// SPDX-License-Identifier: Apache-2.0
// What the search for a fault looks at: a few rows with their tokens' weights and sums of V, and how well a guess at
// what the kernel did explains them.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cpu_reference/diagnosis.h"
#include "cpu_reference/kernel_call.h"
#include "cpu_reference/oracle_bounds.h"
#include "cpu_reference/row_attention.h"

namespace splitwave::cpu_reference::faults {

/// Tokens whose weighted V is summed into one granule; granules begin at multiples of it.
inline constexpr std::int32_t kGranule = 16;

/// What a guess costs that another fault explains as well, and more likely. Units: nats.
inline constexpr double kSecondChoice = 3;

/// Sums over the tokens before each granule, of the normalised weights and of weighted V, and the largest score in it.
struct Prefix {
  std::vector<std::int32_t> position;  ///< where granule g begins; one more for the end
  std::vector<double> mass;            ///< weights before position[g]
  std::vector<double> sum;             ///< weighted V before position[g], value_dim numbers each
  std::vector<double> largest;         ///< largest score in granule g
};

/// Sums of weights and of weighted V over some tokens, in units of the row's exact sum of weights.
struct Part {
  double mass = 0;
  std::vector<double> sum;
};

/// A row that is wrong, or a neighbour of one.
struct Probe {
  RowId id;
  std::int64_t index = 0;  ///< of the row
  RowWeights weights;      ///< of the visible tokens
  Prefix prefix;
  std::vector<double> exact;
  std::vector<double> observed;
  std::vector<double> error;
  double error_squared = 0;
  double noise_squared = 0;  ///< what rounding leaves of it
  /// Directions among the elements of V: as many independent numbers is the row's error. Where V's elements are all
  /// alike it is one number, however many elements there are, and chance explains it easily.
  double directions = 1;
  /// And so many if it comes from rounded weights alone: these move a row along the V of its heaviest tokens.
  double roundings = 1;
  double exact_lse = 0;
  std::optional<double> observed_lse;
  double lse_noise = 0;

  std::int32_t elements() const { return static_cast<std::int32_t>(exact.size()); }
  /// Granule that begins at or before the position.
  std::size_t granule(std::int32_t position) const;
  Part part(const AttentionCase& attention, workloads::KvRange range) const;
};

Probe make_probe(const JudgedCall& call, const BoundedResult& bounded, const RowId& id);

/// Sum of the tokens' weighted V, where weights[i] belongs to range.begin + i.
std::vector<double> weighted_values(const AttentionCase& attention, const RowId& id, std::int32_t kv_head,
                                    workloads::KvRange range, const std::vector<double>& weights);

/// What a row would be with a fault.
struct Guess {
  Fault fault = Fault::missing_tokens;
  std::string text;
  std::int32_t token_begin = -1;
  std::int32_t token_end = -1;
  double cost_nats = 0;       ///< log of the number of guesses of this kind, and of what they have free
  std::optional<double> lse;  ///< none: the fault does not say
};

/// The best guess of each fault at one row.
class BestGuesses {
 public:
  struct Entry {
    std::optional<Guess> guess;
    double left_squared = 0;  ///< squared error that is left if the guess is right
    double gain_nats = 0;
  };
  explicit BestGuesses(const Probe& probe) : probe_(&probe) {}

  /// Considers an output. The text is made only where the guess is the best.
  void offer(const std::vector<double>& output, Guess guess, const std::function<std::string()>& text);
  /// The same where only the squared error that is left is known.
  void offer(double left_squared, Guess guess, const std::function<std::string()>& text);

  const Entry& of(Fault fault) const { return entries_[static_cast<std::size_t>(fault)]; }
  /// What the best guess of the fault gains where the error may be of rounded weights: Entry::gain_nats, but a row
  /// counts as Probe::roundings numbers.
  double against_rounding(Fault fault) const;

 private:
  /// Log-likelihood ratio of `left` against the error as it is, both as noise of their own size, of so many numbers.
  double gain(double left_squared, const Guess& guess, double numbers) const;

  const Probe* probe_;
  std::array<Entry, kFaults> entries_;
};

// One function per family of faults; each offers its guesses.
void guess_ranges(const JudgedCall& call, const Probe& probe, BestGuesses& best);
void guess_visibility(const JudgedCall& call, const Probe& probe, BestGuesses& best);
void guess_sentinel(const JudgedCall& call, const Probe& probe, BestGuesses& best);
void guess_scores(const JudgedCall& call, const BoundedResult& bounded, const Probe& probe, BestGuesses& best);
void guess_pages(const JudgedCall& call, const Probe& probe, BestGuesses& best);
void guess_merges(const JudgedCall& call, const Probe& probe, const std::vector<Probe>& neighbours, BestGuesses& best);
void guess_rescale(const JudgedCall& call, const Probe& probe, BestGuesses& best);

/// Squared errors of a row whose weighted sum of V is kept in half precision, the least and the most over types and
/// ways to add up; -1 where that is not known.
struct AccumulatorErrors {
  double least = -1;
  double most = -1;
};
AccumulatorErrors half_accumulator_errors(const JudgedCall& call, const Probe& probe);

/// The ways to cut the visible tokens into splits at multiples of a tile: begins, and the end.
std::vector<std::vector<std::int32_t>> split_cuts(workloads::KvRange range, std::int32_t most_splits);

/// The tile sizes that kernels have, and the page size.
std::vector<std::int32_t> tile_sizes(const AttentionCase& attention);

double squared(const std::vector<double>& x);

}  // namespace splitwave::cpu_reference::faults
