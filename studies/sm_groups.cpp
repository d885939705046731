// SPDX-License-Identifier: Apache-2.0
#include "studies/sm_groups.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <set>
#include <stdexcept>
#include <utility>

#include "base/quantile.h"

namespace splitwave::studies {
namespace {

/// Mean effects of both directions, [i * sms + j] for j < i; the rest is 0.
std::vector<double> effects(std::span<const std::vector<double>> launches, std::size_t sms) {
  std::vector<double> with(sms * sms, 0.0);
  std::vector<double> runs_with(sms * sms, 0.0);
  for (const std::vector<double>& rates : launches) {
    for (std::size_t i = 0; i < sms; ++i) {
      if (rates[i] <= 0) continue;
      for (std::size_t j = 0; j < sms; ++j) {
        if (rates[j] <= 0) continue;
        with[i * sms + j] += rates[i];
        runs_with[i * sms + j] += 1;
      }
    }
  }
  const auto one_way = [&](std::size_t i, std::size_t j) {
    const double all = with[i * sms + i];
    const double runs = runs_with[i * sms + i];
    const double both = with[i * sms + j];
    const double runs_both = runs_with[i * sms + j];
    if (runs_both == 0 || runs_both == runs)
      throw std::invalid_argument("port_groups: an SM that always or never reads");
    return (both / runs_both - (all - both) / (runs - runs_both)) / (all / runs);
  };
  std::vector<double> result(sms * sms, 0.0);
  for (std::size_t i = 0; i < sms; ++i) {
    for (std::size_t j = 0; j < i; ++j) result[i * sms + j] = (one_way(i, j) + one_way(j, i)) / 2;
  }
  return result;
}

/// A gap between what pairs take from each other that follow one another in order.
struct Gap {
  double width = 0;
  double middle = std::numeric_limits<double>::infinity();
};

/// The gaps that ports of 2 to 12 SMs make below something positive and that are at least half as wide as the widest of
/// them, wide ones first.
std::vector<Gap> wide_gaps(std::span<const double> taken, std::size_t sms) {
  std::vector<double> values;
  for (std::size_t i = 0; i < sms; ++i) values.insert(values.end(), &taken[i * sms], &taken[i * sms + i]);
  std::sort(values.begin(), values.end(), std::greater<>());
  const std::size_t most = std::min(values.size() - 1, sms * 11 / 2);
  std::vector<Gap> gaps;
  for (std::size_t k = std::max<std::size_t>(sms / 2, 1); k <= most && values[k - 1] > 0; ++k) {
    gaps.push_back({values[k - 1] - values[k], (values[k] + values[k - 1]) / 2});
  }
  std::stable_sort(gaps.begin(), gaps.end(), [](const Gap& a, const Gap& b) { return a.width > b.width; });
  const auto narrow = [&](const Gap& gap) { return 2 * gap.width < gaps.front().width; };
  gaps.erase(std::find_if(gaps.begin(), gaps.end(), narrow), gaps.end());
  return gaps;
}

/// Correlations of the SMs' rates, in means of their launch, over the launches in which both read, [i * sms + j] for j
/// < i; the rest is 0.
std::vector<double> correlations(std::span<const std::vector<double>> launches, std::size_t sms) {
  std::vector<std::vector<double>> shares;
  for (const std::vector<double>& rates : launches) {
    const double all = std::accumulate(rates.begin(), rates.end(), 0.0);
    const auto idle = static_cast<double>(std::count(rates.begin(), rates.end(), 0.0));
    shares.emplace_back(rates);
    for (double& share : shares.back()) share *= (static_cast<double>(sms) - idle) / all;
  }
  std::vector<double> result(sms * sms, 0.0);
  for (std::size_t i = 0; i < sms; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      double n = 0;
      double x = 0;
      double y = 0;
      double xx = 0;
      double yy = 0;
      double xy = 0;
      for (const std::vector<double>& share : shares) {
        if (share[i] <= 0 || share[j] <= 0) continue;
        n += 1;
        x += share[i];
        y += share[j];
        xx += share[i] * share[i];
        yy += share[j] * share[j];
        xy += share[i] * share[j];
      }
      const double spread = std::sqrt((n * xx - x * x) * (n * yy - y * y));
      if (spread > 0) result[i * sms + j] = (n * xy - x * y) / spread;
    }
  }
  return result;
}

/// SMs that are bonded, directly or through others, by [i * sms + j] for j < i above a limit.
struct Bonded {
  std::vector<std::int32_t> group_of_sm;
  double weakest_inside = std::numeric_limits<double>::infinity();
  double strongest_outside = -std::numeric_limits<double>::infinity();
};

Bonded bonded_by(std::span<const double> bonds, std::size_t sms, double limit) {
  std::vector<std::vector<std::int32_t>> pairs;
  for (std::size_t i = 0; i < sms; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (bonds[i * sms + j] > limit) pairs.push_back({static_cast<std::int32_t>(i), static_cast<std::int32_t>(j)});
    }
  }
  Bonded result;
  result.group_of_sm = connected_groups(static_cast<std::int32_t>(sms), pairs);
  for (std::size_t i = 0; i < sms; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const double bond = bonds[i * sms + j];
      if (result.group_of_sm[i] == result.group_of_sm[j]) {
        result.weakest_inside = std::min(result.weakest_inside, bond);
      } else {
        result.strongest_outside = std::max(result.strongest_outside, bond);
      }
    }
  }
  return result;
}

/// Whether a group has one SM alone. An SM shares its port with its neighbour at least.
bool has_lone(std::span<const std::int32_t> group_of_sm) {
  const std::vector<std::vector<std::int32_t>> members = members_of(group_of_sm);
  return std::any_of(members.begin(), members.end(), [](const auto& group) { return group.size() == 1; });
}

/// The groups of SMs that take more than `limit` from each other, told apart if all pairs of a group do and no SM is
/// alone.
PortGroups groups_beyond(std::span<const double> taken, std::size_t sms, double limit) {
  Bonded bonded = bonded_by(taken, sms, limit);
  PortGroups result{{}, -bonded.weakest_inside, std::min(0.0, -bonded.strongest_outside)};
  if (bonded.weakest_inside > limit && !has_lone(bonded.group_of_sm)) result.port_of_sm = std::move(bonded.group_of_sm);
  return result;
}

}  // namespace

std::vector<std::int32_t> connected_groups(std::int32_t sms, std::span<const std::vector<std::int32_t>> companies) {
  std::vector<std::int32_t> first(static_cast<std::size_t>(sms));
  std::iota(first.begin(), first.end(), 0);
  const auto root = [&](std::int32_t sm) {
    while (first[static_cast<std::size_t>(sm)] != sm) sm = first[static_cast<std::size_t>(sm)];
    return sm;
  };
  for (const std::vector<std::int32_t>& company : companies) {
    for (const std::int32_t sm : company) {
      if (sm < 0 || sm >= sms) throw std::invalid_argument("connected_groups: an SM that does not exist");
      const std::int32_t a = root(sm);
      const std::int32_t b = root(company.front());
      first[static_cast<std::size_t>(std::max(a, b))] = std::min(a, b);
    }
  }
  std::vector<std::int32_t> group(first.size(), -1);
  std::int32_t groups = 0;
  for (std::int32_t sm = 0; sm < sms; ++sm) {
    const auto at = static_cast<std::size_t>(sm);
    const std::int32_t lowest = root(sm);
    group[at] = lowest == sm ? groups++ : group[static_cast<std::size_t>(lowest)];
  }
  return group;
}

std::vector<std::vector<std::int32_t>> members_of(std::span<const std::int32_t> group_of_sm) {
  std::vector<std::vector<std::int32_t>> members;
  for (std::size_t sm = 0; sm < group_of_sm.size(); ++sm) {
    const auto group = static_cast<std::size_t>(group_of_sm[sm]);
    if (members.size() <= group) members.resize(group + 1);
    members[group].push_back(static_cast<std::int32_t>(sm));
  }
  return members;
}

PortGroups port_groups(std::span<const std::vector<double>> launches) {
  if (launches.empty() || launches.front().size() < 2) throw std::invalid_argument("port_groups: nothing to compare");
  const std::size_t sms = launches.front().size();
  std::vector<double> taken = effects(launches, sms);
  for (double& effect : taken) effect = -effect;
  std::vector<PortGroups> tried;
  for (const Gap& gap : wide_gaps(taken, sms)) {
    tried.push_back(groups_beyond(taken, sms, gap.middle));
    if (!tried.back().port_of_sm.empty()) return tried.back();
  }
  return tried.empty() ? PortGroups{} : tried.front();
}

SideGroups side_groups(std::span<const std::vector<double>> launches) {
  if (launches.empty() || launches.front().size() < 2) throw std::invalid_argument("side_groups: nothing to compare");
  const std::size_t sms = launches.front().size();
  Bonded bonded = bonded_by(correlations(launches, sms), sms, 0);
  SideGroups result{{}, std::min(1.0, bonded.weakest_inside), std::max(-1.0, bonded.strongest_outside), 0};
  const bool two = *std::max_element(bonded.group_of_sm.begin(), bonded.group_of_sm.end()) == 1;
  if (!two || bonded.weakest_inside <= 0) return result;
  result.side_of_sm = std::move(bonded.group_of_sm);
  std::vector<double> greater;
  for (const std::vector<double>& rates : launches) {
    std::array<double, 2> of_side{};
    for (std::size_t i = 0; i < sms; ++i) of_side[static_cast<std::size_t>(result.side_of_sm[i])] += rates[i];
    greater.push_back(std::max(of_side[0], of_side[1]));
  }
  result.bytes_per_second = base::quantile(greater, 0.5);
  return result;
}

FillOrder fill_order(std::span<const std::vector<std::int32_t>> placements) {
  const std::size_t sms = placements.size();
  std::vector<std::size_t> since(sms, 0);  // launches up to this many CTAs lack the SM
  std::vector<std::set<std::int32_t>> sets;
  for (std::size_t n = 1; n <= sms; ++n) {
    sets.emplace_back(placements[n - 1].begin(), placements[n - 1].end());
    if (sets.back().size() != n || placements[n - 1].size() != n || *sets.back().begin() < 0 ||
        *sets.back().rbegin() >= static_cast<std::int32_t>(sms)) {
      throw std::invalid_argument("fill_order: a launch whose CTAs do not have an SM each");
    }
    for (std::size_t sm = 0; sm < sms; ++sm) {
      if (!sets.back().contains(static_cast<std::int32_t>(sm))) since[sm] = n;
    }
  }
  FillOrder result;
  result.order.resize(sms);
  std::iota(result.order.begin(), result.order.end(), 0);
  std::stable_sort(result.order.begin(), result.order.end(), [&](std::int32_t a, std::int32_t b) {
    return since[static_cast<std::size_t>(a)] < since[static_cast<std::size_t>(b)];
  });
  std::set<std::int32_t> prefix;
  for (std::size_t n = 1; n <= sms; ++n) {
    prefix.insert(result.order[n - 1]);
    result.agreeing += prefix == sets[n - 1] ? 1 : 0;
  }
  return result;
}

}  // namespace splitwave::studies
