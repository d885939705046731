// SPDX-License-Identifier: Apache-2.0
#include "studies/minimize.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace splitwave::studies {
namespace {

constexpr int kMostRounds = 60;
constexpr int kStepsPerVariable = 120;
constexpr double kLeastGain = 1e-7;  // of a round, relative

using Point = std::vector<double>;

struct Vertex {
  Point at;
  double value = 0;
};

/// a + factor (a - b)
Point beyond(const Point& a, const Point& b, double factor) {
  Point result = a;
  for (std::size_t i = 0; i < a.size(); ++i) result[i] += factor * (a[i] - b[i]);
  return result;
}

/// Steps of one simplex; returns its best vertex.
Vertex one_round(const std::function<double(const Point&)>& f, const Vertex& start, double step) {
  std::vector<Vertex> simplex = {start};
  for (std::size_t i = 0; i < start.at.size(); ++i) {
    Point at = start.at;
    at[i] += step;
    simplex.push_back({at, f(at)});
  }
  const auto by_value = [](const Vertex& a, const Vertex& b) { return a.value < b.value; };
  const int steps = kStepsPerVariable * static_cast<int>(start.at.size());
  for (int i = 0; i < steps; ++i) {
    std::sort(simplex.begin(), simplex.end(), by_value);
    Vertex& worst = simplex.back();
    Point middle(start.at.size(), 0.0);
    for (std::size_t v = 0; v + 1 < simplex.size(); ++v) {
      for (std::size_t k = 0; k < middle.size(); ++k) {
        middle[k] += simplex[v].at[k] / static_cast<double>(middle.size());
      }
    }
    const auto at = [&](double factor) {
      Point point = beyond(middle, worst.at, factor);
      const double value = f(point);
      return Vertex{std::move(point), value};
    };
    Vertex next = at(1);
    if (next.value < simplex.front().value) {
      Vertex further = at(2);
      if (further.value < next.value) next = std::move(further);
    } else if (next.value >= simplex[simplex.size() - 2].value) {
      next = next.value < worst.value ? at(0.5) : at(-0.5);
    }
    if (next.value < worst.value) {
      worst = std::move(next);
      continue;
    }
    for (std::size_t v = 1; v < simplex.size(); ++v) {
      simplex[v].at = beyond(simplex.front().at, simplex[v].at, -0.5);
      simplex[v].value = f(simplex[v].at);
    }
  }
  return *std::min_element(simplex.begin(), simplex.end(), by_value);
}

}  // namespace

std::vector<double> minimize(const std::function<double(const Point&)>& f, Point start, double step) {
  if (start.empty()) throw std::invalid_argument("minimize: no variable");
  Vertex best{start, f(start)};
  // Large simplices and small ones in turn: the large ones leave a wrong valley, the small ones end in its lowest
  // place.
  for (int round = 0; round < kMostRounds; ++round) {
    const double before = best.value;
    for (const double size : {step, -0.3 * step, 0.02 * step}) {
      const Vertex found = one_round(f, best, size);
      if (found.value < best.value) best = found;
    }
    if (before - best.value <= kLeastGain * std::abs(before)) break;
  }
  return best.at;
}

}  // namespace splitwave::studies
