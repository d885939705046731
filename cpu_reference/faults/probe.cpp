// SPDX-License-Identifier: Apache-2.0
#include "cpu_reference/faults/probe.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "cpu_reference/rounding.h"

namespace splitwave::cpu_reference::faults {

using workloads::KvRange;

double squared(const std::vector<double>& x) {
  double sum = 0;
  for (const double element : x) sum += element * element;
  return sum;
}

std::vector<std::int32_t> tile_sizes(const AttentionCase& attention) {
  std::vector<std::int32_t> sizes = {16, 32, 64, 128, 256};
  if (attention.page_size > 0 && std::count(sizes.begin(), sizes.end(), attention.page_size) == 0) {
    sizes.push_back(attention.page_size);
  }
  return sizes;
}

std::size_t Probe::granule(std::int32_t position) const {
  const auto at = std::upper_bound(prefix.position.begin(), prefix.position.end(), position);
  return static_cast<std::size_t>(at - prefix.position.begin()) - 1;
}

Part Probe::part(const AttentionCase& attention, KvRange range) const {
  const auto d = static_cast<std::size_t>(elements());
  Part part{0, std::vector<double>(d)};
  range.begin = std::clamp(range.begin, weights.range.begin, weights.range.end);
  range.end = std::clamp(range.end, range.begin, weights.range.end);
  if (range.size() == 0) return part;
  const auto add_edge = [&](std::int32_t position, double sign) {
    const std::size_t g = granule(position);
    part.mass += sign * prefix.mass[g];
    for (std::size_t e = 0; e < d; ++e) part.sum[e] += sign * prefix.sum[g * d + e];
    const KvRange rest{prefix.position[g], position};
    if (rest.size() == 0) return;
    const auto first = weights.weights.begin() + (rest.begin - weights.range.begin);
    std::vector<double> shares(first, first + rest.size());
    for (double& share : shares) part.mass += sign * (share /= weights.total);
    const std::vector<double> values =
        weighted_values(attention, id, id.head / attention.geometry.group(), rest, shares);
    for (std::size_t e = 0; e < d; ++e) part.sum[e] += sign * values[e];
  };
  add_edge(range.end, 1);
  add_edge(range.begin, -1);
  return part;
}

std::vector<double> weighted_values(const AttentionCase& attention, const RowId& id, std::int32_t kv_head,
                                    KvRange range, const std::vector<double>& weights) {
  const std::int32_t d = attention.geometry.value_dim;
  std::vector<double> sum(static_cast<std::size_t>(d));
  std::vector<double> value(sum.size());
  for (std::int32_t i = 0; i < range.size(); ++i) {
    const double weight = weights[static_cast<std::size_t>(i)];
    if (weight == 0) continue;
    load_elements(attention.v, kv_offset(attention, attention.v_rows, id.request, range.begin + i, kv_head), d,
                  value.data());
    for (std::size_t e = 0; e < sum.size(); ++e) sum[e] += weight * value[e];
  }
  return sum;
}

namespace {

Prefix make_prefix(const AttentionCase& attention, const RowId& id, const RowWeights& weights) {
  const auto d = static_cast<std::size_t>(attention.geometry.value_dim);
  Prefix prefix;
  prefix.position = {weights.range.begin};
  prefix.mass = {0};
  prefix.sum.assign(d, 0.0);
  for (std::int32_t begin = weights.range.begin; begin < weights.range.end;) {
    const std::int32_t end = std::min(weights.range.end, (begin / kGranule + 1) * kGranule);
    const auto first = weights.weights.begin() + (begin - weights.range.begin);
    std::vector<double> shares(first, first + (end - begin));
    double mass = 0;
    for (double& share : shares) {
      share = weights.total > 0 ? share / weights.total : 0;
      mass += share;
    }
    const std::vector<double> sum =
        weighted_values(attention, id, id.head / attention.geometry.group(), {begin, end}, shares);
    const auto scores = weights.scores.begin() + (begin - weights.range.begin);
    prefix.largest.push_back(*std::max_element(scores, scores + (end - begin)));
    prefix.mass.push_back(prefix.mass.back() + mass);
    for (std::size_t e = 0; e < d; ++e) prefix.sum.push_back(prefix.sum[prefix.sum.size() - d] + sum[e]);
    prefix.position.push_back(end);
    begin = end;
  }
  return prefix;
}

constexpr std::size_t kDraws = 48;

/// Tokens at even distances.
std::vector<std::int32_t> drawn_evenly(KvRange range) {
  const auto count = static_cast<std::int32_t>(std::min<std::int64_t>(range.size(), kDraws));
  std::vector<std::int32_t> tokens;
  for (std::int32_t i = 0; i < count; ++i) {
    tokens.push_back(static_cast<std::int32_t>(range.begin + std::int64_t{range.size()} * i / count));
  }
  return tokens;
}

/// Tokens in proportion to the squares of their weights, the heaviest several times.
std::vector<std::int32_t> drawn_by_weight(const RowWeights& weights) {
  double all = 0;
  for (const double weight : weights.weights) all += weight * weight;
  std::vector<std::int32_t> tokens;
  double sum = 0;
  for (std::int32_t i = 0; i < weights.range.size(); ++i) {
    const double weight = weights.weights[static_cast<std::size_t>(i)];
    sum += weight * weight;
    while (tokens.size() < kDraws && (static_cast<double>(tokens.size()) + 0.5) * all < kDraws * sum) {
      tokens.push_back(weights.range.begin + i);
    }
  }
  return tokens;
}

/// Participation ratio of the directions of V at the tokens: the mean of |v_i|^2 |v_j|^2 over that of (v_i v_j)^2 of
/// all pairs, which is value_dim for random V and 1 where all point the same way or are those of one token.
double directions_of(const AttentionCase& attention, const RowId& id, const std::vector<std::int32_t>& tokens) {
  const std::int32_t d = attention.geometry.value_dim;
  const std::int32_t kv_head = id.head / attention.geometry.group();
  std::vector<std::vector<double>> rows;
  for (const std::int32_t token : tokens) {
    rows.emplace_back(static_cast<std::size_t>(d));
    load_elements(attention.v, kv_offset(attention, attention.v_rows, id.request, token, kv_head), d,
                  rows.back().data());
  }
  double sizes = 0;
  double products = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      double product = 0;
      for (std::size_t e = 0; e < rows[i].size(); ++e) product += rows[i][e] * rows[j][e];
      products += product * product;
      sizes += squared(rows[i]) * squared(rows[j]);
    }
  }
  return products > 0 && std::isfinite(sizes / products) ? std::clamp(sizes / products, 1.0, static_cast<double>(d))
                                                         : d;
}

}  // namespace

Probe make_probe(const JudgedCall& call, const BoundedResult& bounded, const RowId& id) {
  const AttentionCase& attention = call.attention;
  const std::int32_t d = attention.geometry.value_dim;
  Probe probe;
  probe.id = id;
  probe.index = attention.row(id.request, id.query, id.head);
  probe.weights = row_weights(attention, id);
  probe.prefix = make_prefix(attention, id, probe.weights);
  probe.observed.resize(static_cast<std::size_t>(d));
  load_elements(call.output, call.output_rows.at(id.request, id.query, id.head), d, probe.observed.data());
  const auto first = bounded.exact.output.begin() + probe.index * d;
  probe.exact.assign(first, first + d);
  for (std::size_t e = 0; e < probe.exact.size(); ++e) probe.error.push_back(probe.observed[e] - probe.exact[e]);
  probe.error_squared = squared(probe.error);
  probe.noise_squared = bounded.expected_squared_error[probe.index];
  for (const double exact : probe.exact) {
    const double step = unit_roundoff(call.output.type) * exact;
    probe.noise_squared += step * step / 3;
  }
  // No guess is believed to be better than five digits.
  probe.noise_squared += 1e-10 * std::min(probe.error_squared, 1e290) + 1e-300;
  probe.directions = directions_of(attention, id, drawn_evenly(probe.weights.range));
  probe.roundings = directions_of(attention, id, drawn_by_weight(probe.weights));
  probe.exact_lse = bounded.exact.lse[probe.index];
  if (call.lse) probe.observed_lse = call.lse_at(id.request, id.query, id.head);
  probe.lse_noise = bounded.lse_bound[probe.index] + 1e-6;
  return probe;
}

double BestGuesses::gain(double left_squared, const Guess& guess, double numbers) const {
  double nats = 0.5 * numbers *
                std::log((probe_->error_squared + probe_->noise_squared) / (left_squared + probe_->noise_squared));
  if (guess.lse && probe_->observed_lse && std::isfinite(*probe_->observed_lse)) {
    const double noise = probe_->lse_noise * probe_->lse_noise;
    const double before = *probe_->observed_lse - probe_->exact_lse;
    const double after = *probe_->observed_lse - *guess.lse;
    // Some kernels compute the LSE apart from the output: it adds to the evidence, but decides little.
    nats += std::clamp(0.5 * std::log((before * before + noise) / (after * after + noise)), -8.0, 8.0);
  }
  return nats - guess.cost_nats;
}

double BestGuesses::against_rounding(Fault fault) const {
  const Entry& entry = of(fault);
  return entry.guess ? std::max(0.0, gain(entry.left_squared, *entry.guess, probe_->roundings)) : 0;
}

void BestGuesses::offer(double left_squared, Guess guess, const std::function<std::string()>& text) {
  if (!std::isfinite(left_squared)) return;
  Entry& entry = entries_[static_cast<std::size_t>(guess.fault)];
  const double nats = gain(left_squared, guess, probe_->directions);
  if (nats <= 0 || (entry.guess && nats <= entry.gain_nats)) return;
  guess.text = text();
  entry = {std::move(guess), left_squared, nats};
}

void BestGuesses::offer(const std::vector<double>& output, Guess guess, const std::function<std::string()>& text) {
  double left = 0;
  for (std::size_t e = 0; e < output.size(); ++e) {
    const double error = probe_->observed[e] - output[e];
    left += error * error;
  }
  offer(left, std::move(guess), text);
}

std::vector<std::vector<std::int32_t>> split_cuts(KvRange range, std::int32_t most_splits) {
  std::set<std::vector<std::int32_t>> cuts;
  const auto add = [&](const std::vector<std::int32_t>& tiles, std::int32_t tile) {
    std::vector<std::int32_t> at;
    const std::int32_t first = range.begin / tile;
    for (const std::int32_t t : tiles) {
      const std::int32_t position = std::clamp((first + t) * tile, range.begin, range.end);
      if (at.empty() || position > at.back()) at.push_back(position);
    }
    if (at.size() > 2) cuts.insert(at);
  };
  for (const std::int32_t tile : {16, 32, 64, 128, 256}) {
    if (range.size() <= tile) break;
    const std::int32_t tiles = (range.end + tile - 1) / tile - range.begin / tile;
    for (std::int32_t splits = 2; splits <= std::min(tiles, most_splits); ++splits) {
      const std::int32_t each = (tiles + splits - 1) / splits;
      std::vector<std::int32_t> equal;
      std::vector<std::int32_t> even;
      for (std::int32_t t = 0; t < tiles; t += each) equal.push_back(t);
      for (std::int32_t j = 0; j < splits; ++j) {
        even.push_back(static_cast<std::int32_t>(std::int64_t{tiles} * j / splits));
      }
      equal.push_back(tiles);
      even.push_back(tiles);
      add(equal, tile);
      add(even, tile);
    }
  }
  return {cuts.begin(), cuts.end()};
}

}  // namespace splitwave::cpu_reference::faults
