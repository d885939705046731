// SPDX-License-Identifier: Apache-2.0
#include "cpu_reference/diagnose.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <set>
#include <stdexcept>

#include "base/parallel.h"
#include "cpu_reference/faults/probe.h"

namespace splitwave::cpu_reference {

std::string to_string(Fault fault) {
  static constexpr std::array<const char*, kFaults> kNames = {
      "missing_tokens",   "doubled_tokens", "merge_weights",   "stale_partial", "last_token",
      "unmasked_tail",    "softmax_scale",  "lse_base_two",    "head_mapping",  "swapped_pages",
      "causal_alignment", "window",         "low_accumulator", "mask_sentinel", "missing_rescale"};
  return kNames.at(static_cast<std::size_t>(fault));
}

namespace {

using faults::BestGuesses;
using faults::Probe;

/// Rows that are looked into, and the tokens that they may have together.
constexpr std::size_t kMostRows = 8;
constexpr std::int64_t kMostTokens = std::int64_t{3} << 20;
/// A row is looked into if its squared error is this many times what rounding is expected to leave.
constexpr double kSuspicious = 6;

double suspicion(const RowFigures& row) {
  if (row.mismatched > 0) return std::numeric_limits<double>::infinity();
  return row.squared_error / (row.expected_squared + 1e-300);
}

RowId id_of(const RowFigures& row) {
  return {row.at.request, row.at.query, row.at.head};
}

/// The worst rows, of different requests and heads first.
std::vector<const RowFigures*> suspicious_rows(const JudgedCall& call, const std::vector<RowFigures>& rows) {
  std::vector<const RowFigures*> all;
  for (const RowFigures& row : rows) {
    if (row.mismatched == 0 && suspicion(row) > kSuspicious) all.push_back(&row);
  }
  const auto worse = [](const RowFigures* a, const RowFigures* b) { return suspicion(*a) > suspicion(*b); };
  const std::size_t kept = std::min<std::size_t>(all.size(), 4096);
  std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(kept), all.end(), worse);
  all.resize(kept);
  std::vector<const RowFigures*> chosen;
  std::set<std::pair<std::int32_t, std::int32_t>> places;
  std::int64_t tokens = 0;
  for (const bool repeats : {false, true}) {
    for (const RowFigures* row : all) {
      if (chosen.size() >= kMostRows || (tokens > kMostTokens && !chosen.empty())) return chosen;
      const bool fresh = places.insert({row->at.request, row->at.head}).second;
      if (fresh == repeats || std::count(chosen.begin(), chosen.end(), row) > 0) continue;
      chosen.push_back(row);
      tokens += call.attention.requests[static_cast<std::size_t>(row->at.request)].context_len;
    }
  }
  return chosen;
}

/// Rows whose partial results may lie in a workspace before or after a row's own.
std::vector<Probe> neighbours_of(const JudgedCall& call, const BoundedResult& bounded, const RowId& id) {
  const AttentionCase& attention = call.attention;
  const auto requests = static_cast<std::int32_t>(attention.requests.size());
  const std::int32_t group = attention.geometry.group();
  std::vector<RowId> near = {{id.request, id.query, id.head - 1},
                             {id.request, id.query, id.head + 1},
                             {id.request, id.query, id.head - group},
                             {id.request, id.query, id.head + group},
                             {id.request, id.query - 1, id.head},
                             {id.request, id.query + 1, id.head},
                             {id.request - 1, id.query, id.head},
                             {id.request + 1, id.query, id.head},
                             // The last row before the request's first, and the first after.
                             {id.request - 1, 0, attention.geometry.query_heads - 1},
                             {id.request, id.query - 1, attention.geometry.query_heads - 1}};
  std::vector<Probe> probes;
  std::set<std::int64_t> taken = {attention.row(id.request, id.query, id.head)};
  for (const RowId& each : near) {
    if (each.request < 0 || each.request >= requests || each.head < 0 || each.head >= attention.geometry.query_heads)
      continue;
    const workloads::Request& request = attention.requests[static_cast<std::size_t>(each.request)];
    if (each.query < 0 || each.query >= request.query_len || request.context_len > (1 << 17)) continue;
    if (!taken.insert(attention.row(each.request, each.query, each.head)).second) continue;
    Probe probe = faults::make_probe(call, bounded, each);
    if (probe.weights.total > 0) probes.push_back(std::move(probe));
  }
  return probes;
}

BestGuesses guess_all(const JudgedCall& call, const BoundedResult& bounded, const Probe& probe) {
  BestGuesses best(probe);
  faults::guess_sentinel(call, probe, best);
  if (!std::isfinite(probe.error_squared)) return best;
  faults::guess_ranges(call, probe, best);
  faults::guess_visibility(call, probe, best);
  faults::guess_scores(call, bounded, probe, best);
  faults::guess_pages(call, probe, best);
  faults::guess_merges(call, probe, neighbours_of(call, bounded, probe.id), best);
  faults::guess_rescale(call, probe, best);
  return best;
}

/// What is known of one fault after all rows.
struct Score {
  Finding finding;
  double error = 0;  ///< squared error of the rows that the fault explains, and what is left of it
  double left = 0;
  double best_gain = 0;
};

/// An LSE that is another base's: log2(e) or ln 2 times what it should be, in every row.
std::optional<Finding> lse_base(const JudgedCall& call, const BoundedResult& bounded,
                                const std::vector<RowFigures>& rows) {
  if (!call.lse) return std::nullopt;
  for (const double factor : {std::numbers::log2e, std::numbers::ln2}) {
    double error = 0;
    double left = 0;
    std::int64_t explained = 0;
    std::int64_t looked_at = 0;
    for (const RowFigures& row : rows) {
      const std::int64_t index = call.attention.row(row.at.request, row.at.query, row.at.head);
      const double exact = bounded.exact.lse[index];
      const double value = call.lse_at(row.at.request, row.at.query, row.at.head);
      if (!std::isfinite(exact) || !std::isfinite(value) || row.lse_bound_ratio <= 1) continue;
      const double after = value - exact * factor;
      ++looked_at;
      error += (value - exact) * (value - exact);
      left += after * after;
      explained += std::abs(after) <= 1e-3 * std::abs(value - exact) ? 1 : 0;
    }
    if (looked_at == 0 || explained * 10 < looked_at * 9) continue;
    Finding finding;
    finding.fault = Fault::lse_base_two;
    finding.explained = 1 - left / error;
    finding.evidence_nats = 6.9 * static_cast<double>(explained);
    finding.rows = explained;
    const bool twice = factor > 1;
    finding.text = twice == !call.lse_base_two ? "the LSE is in base 2 where it should be natural"
                                               : "the LSE is natural where it should be in base 2";
    if (call.lse_base_two && twice) finding.text = "the LSE is multiplied by log2(e) twice";
    return finding;
  }
  return std::nullopt;
}

/// Whether the slot after the row's context holds a NaN.
bool nan_behind(const AttentionCase& attention, const Coordinates& at) {
  const auto request = static_cast<std::size_t>(at.request);
  const std::int32_t context = attention.requests[request].context_len;
  const bool there = attention.page_size > 0 ? context % attention.page_size != 0 : attention.room[request] > context;
  if (!there) return false;
  const std::int32_t kv_head = at.head / attention.geometry.group();
  return std::isnan(element_at(attention.k, kv_offset(attention, attention.k_rows, at.request, context, kv_head)));
}

bool is_nan(const JudgedCall& call, const RowFigures& row) {
  return row.mismatched > 0 && std::isnan(call.output_at(row.at.request, row.at.query, row.at.head, row.at.element));
}

/// Rows that are NaN and would be (explained), that are not and would be (spared), and that are and would not be.
struct NanRows {
  std::int64_t explained = 0;
  std::int64_t spared = 0;
  std::int64_t others = 0;
  bool fits() const { return explained > 0 && others * 9 <= explained && spared * 10 <= explained; }
};

/// As if a kernel with tiles of so many tokens did not mask its last tile; 1: whatever the tile, if there is a NaN
/// behind the context.
NanRows unmasked_with(std::int32_t tile, const JudgedCall& call, const std::vector<RowFigures>& rows) {
  NanRows counts;
  for (const RowFigures& row : rows) {
    const std::int32_t context = call.attention.requests[static_cast<std::size_t>(row.at.request)].context_len;
    const bool expected = (tile == 1 || context % tile != 0) && nan_behind(call.attention, row.at);
    const bool nan = is_nan(call, row);
    if (row.mismatched == 0 && !expected) continue;
    counts.explained += nan && expected ? 1 : 0;
    counts.spared += expected && row.mismatched == 0 ? 1 : 0;
    counts.others += row.mismatched > 0 && !(nan && expected) ? 1 : 0;
  }
  return counts;
}

/// NaN where the exact output has none, in rows whose tiles reach beyond their contexts into memory that holds NaN.
std::optional<Finding> nan_tail(const JudgedCall& call, const std::vector<RowFigures>& rows) {
  for (const std::int32_t tile : {1, 16, 32, 64, 128, 256}) {
    const NanRows counts = unmasked_with(tile, call, rows);
    if (!counts.fits()) continue;
    Finding finding;
    finding.fault = Fault::unmasked_tail;
    finding.text =
        "the output is NaN in rows whose last tile reaches into unused slots that hold NaN: the tail is not masked";
    finding.explained = static_cast<double>(counts.explained) / static_cast<double>(counts.explained + counts.others);
    finding.evidence_nats = 5 * static_cast<double>(counts.explained);
    finding.rows = counts.explained;
    return finding;
  }
  return std::nullopt;
}

/// NaN in requests of a paged cache where no unmasked tail would have put it: in such whose own pages are full, or
/// beside others whose tails hold NaN and that have none. Then a page with unused slots, which hold NaN, is read as
/// another. `as_tail`: an unmasked tail explains the same NaN, as where every request that has unused slots is NaN;
/// then the output does not tell the two apart, and this is the second choice.
std::optional<Finding> nan_page(const JudgedCall& call, const std::vector<RowFigures>& rows, bool as_tail) {
  const AttentionCase& attention = call.attention;
  std::vector<std::int64_t> nans(attention.requests.size());
  std::vector<std::int64_t> all(attention.requests.size());
  std::int64_t mismatched = 0;
  std::int64_t nan_rows = 0;
  bool unused_nan = false;
  for (const RowFigures& row : rows) {
    const auto request = static_cast<std::size_t>(row.at.request);
    ++all[request];
    mismatched += row.mismatched > 0 ? 1 : 0;
    unused_nan = unused_nan || nan_behind(attention, row.at);
    if (!is_nan(call, row)) continue;
    ++nans[request];
    ++nan_rows;
  }
  if (attention.page_size == 0 || attention.pages < 2 || !unused_nan || nan_rows == 0 || nan_rows * 10 < mismatched * 9)
    return std::nullopt;
  std::string requests;
  for (std::size_t request = 0; request < all.size(); ++request) {
    if (nans[request] == 0) continue;
    if (nans[request] * 2 < all[request]) return std::nullopt;  // whoever reads a page has the NaN
    if (requests.empty()) requests = fmt::format("{}", request);
  }
  Finding finding;
  finding.fault = Fault::swapped_pages;
  finding.text = fmt::format(
      "the output is NaN in request {}{}, {}: a page with unused slots, which hold NaN, is read where another belongs",
      requests, std::count_if(nans.begin(), nans.end(), [](std::int64_t n) { return n > 0; }) > 1 ? " and others" : "",
      as_tail ? "and NaN does not say why" : "where no unmasked tail would put it");
  finding.explained = static_cast<double>(nan_rows) / static_cast<double>(mismatched);
  finding.evidence_nats = 5 * static_cast<double>(nan_rows) - (as_tail ? faults::kSecondChoice : 0);
  finding.rows = nan_rows;
  return finding;
}

/// Rows that see nothing and yet have an output: masked scores were finite.
std::optional<Finding> empty_rows(const JudgedCall& call, const BoundedResult& bounded,
                                  const std::vector<RowFigures>& rows) {
  std::int64_t filled = 0;
  for (const RowFigures& row : rows) {
    const std::int64_t index = call.attention.row(row.at.request, row.at.query, row.at.head);
    if (bounded.exact.lse[index] != -std::numeric_limits<double>::infinity()) continue;
    const bool context = call.attention.requests[static_cast<std::size_t>(row.at.request)].context_len > 0;
    const bool has_output = row.squared_error > 0 && row.mismatched == 0;
    filled += context && has_output ? 1 : 0;
  }
  if (filled == 0) return std::nullopt;
  Finding finding;
  finding.fault = Fault::mask_sentinel;
  finding.text =
      "rows that see no token have an output: masked scores are a finite number, and their tokens are averaged";
  finding.explained = 1;
  finding.evidence_nats = 20 * static_cast<double>(filled);
  finding.rows = filled;
  return finding;
}

/// Errors of the size that a half-precision sum leaves, in rows that nothing else explains. A kernel has one
/// accumulator for all rows: a few wrong ones among many are of something else.
std::optional<Finding> accumulator(const JudgedCall& call, const std::vector<RowFigures>& rows,
                                   const std::vector<Probe>& probes, double explained_share) {
  const auto suspicious =
      std::count_if(rows.begin(), rows.end(), [](const RowFigures& row) { return suspicion(row) > kSuspicious; });
  if (suspicious * 4 < static_cast<std::ptrdiff_t>(rows.size())) return std::nullopt;
  std::int64_t alike = 0;
  for (const Probe& probe : probes) {
    const faults::AccumulatorErrors errors = faults::half_accumulator_errors(call, probe);
    if (errors.most <= 0) continue;
    alike += probe.error_squared < 9 * errors.most && probe.error_squared > errors.least / 9 ? 1 : 0;
  }
  if (probes.empty() || alike * 3 < static_cast<std::int64_t>(probes.size()) * 2 || explained_share > 0.7) {
    return std::nullopt;
  }
  Finding finding;
  finding.fault = Fault::low_accumulator;
  finding.text = "the errors have no pattern, but the size that sums of weights times V in half precision leave";
  finding.explained = static_cast<double>(alike) / static_cast<double>(probes.size());
  finding.rows = alike;
  return finding;
}

void add_guesses(const BestGuesses& best, const Probe& probe, std::array<Score, kFaults>& scores) {
  for (std::size_t f = 0; f < kFaults; ++f) {
    const BestGuesses::Entry& entry = best.of(static_cast<Fault>(f));
    Score& score = scores[f];
    score.error += probe.error_squared;
    score.left += entry.guess ? entry.left_squared : probe.error_squared;
    if (!entry.guess) continue;
    score.finding.evidence_nats += entry.gain_nats;
    score.finding.against_rounding_nats += best.against_rounding(static_cast<Fault>(f));
    ++score.finding.rows;
    if (entry.gain_nats <= score.best_gain) continue;
    score.best_gain = entry.gain_nats;
    score.finding.fault = entry.guess->fault;
    score.finding.text = entry.guess->text;
    score.finding.token_begin = entry.guess->token_begin;
    score.finding.token_end = entry.guess->token_end;
  }
}

std::vector<Finding> found(std::array<Score, kFaults>& scores) {
  std::vector<Finding> findings;
  for (Score& score : scores) {
    if (score.finding.rows == 0) continue;
    score.finding.explained = score.error > 0 ? std::max(0.0, 1 - score.left / score.error) : 1;
    if (score.finding.explained > 0.2 && score.finding.evidence_nats > 5) findings.push_back(score.finding);
  }
  return findings;
}

}  // namespace

std::vector<Finding> diagnose(const JudgedCall& call, const BoundedResult& bounded,
                              const std::vector<RowFigures>& rows) {
  const std::vector<const RowFigures*> suspects = suspicious_rows(call, rows);
  std::vector<Probe> probes(suspects.size());
  std::vector<std::optional<BestGuesses>> guesses(suspects.size());
  base::parallel(base::default_threads(), [&](int thread, int team) {
    for (std::size_t i = static_cast<std::size_t>(thread); i < suspects.size(); i += static_cast<std::size_t>(team)) {
      probes[i] = faults::make_probe(call, bounded, id_of(*suspects[i]));
      guesses[i] = guess_all(call, bounded, probes[i]);
    }
  });
  std::array<Score, kFaults> scores;
  for (std::size_t i = 0; i < probes.size(); ++i) add_guesses(*guesses[i], probes[i], scores);
  std::vector<Finding> findings = found(scores);
  const std::optional<Finding> tail = nan_tail(call, rows);
  const std::optional<Finding> page = nan_page(call, rows, tail.has_value());
  for (const auto& finding : {tail, page, empty_rows(call, bounded, rows), lse_base(call, bounded, rows)}) {
    if (!finding) continue;
    findings.push_back(*finding);
    findings.back().against_rounding_nats = finding->evidence_nats;  // no rounding makes these
  }
  std::stable_sort(findings.begin(), findings.end(),
                   [](const Finding& a, const Finding& b) { return a.evidence_nats > b.evidence_nats; });
  const double explained = findings.empty() ? 0 : findings.front().explained;
  if (auto finding = accumulator(call, rows, probes, explained)) findings.insert(findings.begin(), *finding);
  return findings;
}

}  // namespace splitwave::cpu_reference
