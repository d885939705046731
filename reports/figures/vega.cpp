// SPDX-License-Identifier: Apache-2.0
#include "reports/figures/vega.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace splitwave::reports::vega {
namespace {

/// Colours that people with any colour vision can tell apart (Okabe and Ito 2008), without yellow, which is faint on
/// white, and with a grey that is told by its shape.
constexpr std::array<std::string_view, 8> kColours = {"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                                      "#E69F00", "#56B4E9", "#7F7F7F", "#8C564B"};
constexpr std::array<std::string_view, 8> kShapes = {"circle", "square",        "triangle-up",    "diamond",
                                                     "cross",  "triangle-down", "triangle-right", "triangle-left"};

/// Marks are made paler by fillOpacity and strokeOpacity, never by opacity, which a thousand times makes a picture's
/// renderer put a layer over all of it (a heat map of 6,000 cells: 170 s for 2).
constexpr const char* kTheme = R"({
  "background": "#ffffff",
  "font": "DejaVu Sans, Verdana, sans-serif",
  "padding": 8,
  "view": {"stroke": "#b8b8b8", "continuousWidth": 300, "continuousHeight": 220},
  "axis": {"labelFontSize": 10, "titleFontSize": 11, "titleFontWeight": "normal", "titlePadding": 6, "gridColor": "#e6e6e6",
           "domainColor": "#8a8a8a", "tickColor": "#8a8a8a", "labelColor": "#333333", "titleColor": "#333333",
           "labelFlush": false, "labelLimit": 220},
  "legend": {"labelFontSize": 10, "titleFontSize": 10, "titleFontWeight": "normal", "orient": "top", "labelLimit": 220,
             "labelColor": "#333333", "titleColor": "#333333", "symbolSize": 60},
  "header": {"labelFontSize": 11, "titleFontSize": 11, "labelColor": "#222222", "titleColor": "#222222"},
  "title": {"anchor": "start", "frame": "group", "fontSize": 11, "fontWeight": "bold", "color": "#222222", "offset": 6,
            "subtitleFontSize": 10, "subtitleColor": "#555555", "subtitlePadding": 4},
  "text": {"fontSize": 10, "color": "#222222"},
  "point": {"opacity": 1},
  "concat": {"spacing": 26}
})";

bool is_log(const Axis& axis) {
  return axis.kind != Axis::Kind::linear;
}

std::vector<double> powers_of_two(double low, double high, double most) {
  const int first = static_cast<int>(std::ceil(std::log2(low) - 1e-9));
  const int last = static_cast<int>(std::floor(std::log2(high) + 1e-9));
  int step = 1;
  while ((last - first) / step + 1 > most) step *= 2;
  std::vector<double> ticks;
  for (int power = first; power <= last; power += step) ticks.push_back(std::exp2(power));
  return ticks;
}

std::vector<double> decimal_ticks(double low, double high, double most) {
  const std::array<std::vector<double>, 5> steps_tried = {
      {{1, 1.2, 1.4, 1.7, 2, 2.5, 3, 4, 5, 6, 8}, {1, 1.5, 2, 3, 5, 7}, {1, 2, 5}, {1, 3}, {1}}};
  std::vector<double> ticks;
  const int first = static_cast<int>(std::floor(std::log10(low) + 1e-9));
  const int last = static_cast<int>(std::ceil(std::log10(high) - 1e-9));
  for (const auto& steps : steps_tried) {
    ticks.clear();
    for (int power = first; power <= last; ++power) {
      for (const double step : steps) {
        const double value = step * std::pow(10, power);
        if (value >= low * (1 - 1e-9) && value <= high * (1 + 1e-9)) ticks.push_back(value);
      }
    }
    if (static_cast<double>(ticks.size()) <= most) return ticks;
  }
  std::vector<double> fewer;
  const std::size_t every = static_cast<std::size_t>(std::ceil(static_cast<double>(ticks.size()) / most));
  for (std::size_t i = 0; i < ticks.size(); i += every) fewer.push_back(ticks[i]);
  return fewer;
}

/// Multiples of 1, 2 or 5 times a power of ten, for logarithmic axes that span less than a factor of two.
std::vector<double> even_ticks(double low, double high, double most) {
  double step = std::pow(10, std::floor(std::log10(high - low)) - 1);
  for (int i = 0; (high - low) / step > most; ++i) step *= i % 3 == 1 ? 2.5 : 2;
  std::vector<double> ticks;
  for (double value = std::ceil(low / step) * step; value <= high; value += step) ticks.push_back(value);
  return ticks;
}

Json series_scale(std::span<const std::string> series, std::span<const std::string_view> values) {
  Json scale = {{"domain", Json::array()}, {"range", Json::array()}};
  for (std::size_t i = 0; i < series.size(); ++i) {
    scale["domain"].push_back(series[i]);
    scale["range"].push_back(values[i % values.size()]);
  }
  return scale;
}

}  // namespace

Json colour_scale(std::span<const std::string> series) {
  return series_scale(series, kColours);
}

Json shape_scale(std::span<const std::string> series) {
  return series_scale(series, kShapes);
}

std::string_view colour_of(std::size_t series) {
  return kColours[series % kColours.size()];
}

std::vector<double> domain_of(const Axis& axis, std::span<const double> values) {
  if (axis.range) return *axis.range;
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  if (values.empty()) return is_log(axis) ? std::vector<double>{1, 10} : std::vector<double>{0, 1};
  if (is_log(axis)) {
    const double margin = std::max(1.08, std::pow(*most / *least, 0.04));
    return {*least / margin, *most * margin};
  }
  const double low = axis.zero ? std::min(0.0, *least) : *least;
  const double margin = *most > low ? (*most - low) * 0.06 : std::abs(*most) * 0.1 + 1e-12;
  return {axis.zero ? low : low - margin, *most + margin};
}

Json channel(const std::string& field, const Axis& axis, std::span<const double> domain, double pixels) {
  Json scale = {{"domain", {domain[0], domain[1]}}, {"nice", false}, {"zero", false}};
  Json ticks = Json::object();
  if (is_log(axis)) {
    const bool two = axis.kind == Axis::Kind::powers_of_two;
    scale["type"] = "log";
    if (two) scale["base"] = 2;
    const double most = std::max(2.0, pixels / 38);
    std::vector<double> values =
        two ? powers_of_two(domain[0], domain[1], most) : decimal_ticks(domain[0], domain[1], most);
    const bool narrow = !two && domain[1] < domain[0] * 2;
    if (values.size() < (narrow ? 4U : 2U)) values = even_ticks(domain[0], domain[1], most);
    ticks["values"] = values;
    if (two) {
      ticks["labelExpr"] =
          "datum.value >= 1048576 ? datum.value / 1048576 + 'M' : datum.value >= 1024 ? datum.value / 1024 + 'k' : "
          "datum.value";
    } else {
      ticks["labelExpr"] =
          axis.percent
              ? "format(datum.value, '.3~%')"
              : "datum.value >= 1e6 ? format(datum.value, '~s') : datum.value >= 100 ? format(datum.value, ',~r') : "
                "format(datum.value, '.3~g')";
    }
  } else {
    ticks["tickCount"] = std::max(2, static_cast<int>(pixels / (axis.percent && field == "x" ? 65 : 40)));
    if (axis.percent) ticks["format"] = ".0%";
  }
  return {{"field", field}, {"type", "quantitative"}, {"title", axis.title}, {"scale", scale}, {"axis", ticks}};
}

double place_on(const Axis& axis, std::span<const double> domain, double value, double pixels) {
  const auto at = [&](double number) { return is_log(axis) ? std::log(number) : number; };
  return (at(value) - at(domain[0])) / (at(domain[1]) - at(domain[0])) * pixels;
}

std::vector<double> dodged(std::vector<double> places, double pixels, double apart) {
  std::vector<std::size_t> order(places.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return places[a] < places[b]; });
  // Up from the low end, then down from the high one: what is pushed beyond the end comes back. Half a label stays
  // within either end, lest it shift its panel against the one beside it.
  if (!order.empty()) places[order[0]] = std::max(places[order[0]], apart / 2);
  for (std::size_t i = 1; i < order.size(); ++i) {
    places[order[i]] = std::max(places[order[i]], places[order[i - 1]] + apart);
  }
  for (std::size_t i = order.size(); i-- > 0;) {
    const double most = i + 1 == order.size() ? pixels - apart / 2 : places[order[i + 1]] - apart;
    places[order[i]] = std::min(places[order[i]], most);
  }
  return places;
}

Figure finished(const std::string& name, const std::string& title, const std::string& note, Json body,
                const Table& data) {
  Json spec = {{"$schema", "https://vega.github.io/schema/vega-lite/v6.json"},
               {"title", {{"text", title}, {"subtitle", note}, {"fontSize", 13}, {"anchor", "start"}, {"offset", 12}}}};
  for (auto& [key, value] : body.items()) spec[key] = std::move(value);
  spec["config"] = Json::parse(kTheme);
  // A name that is not UTF-8 must not lose the figure: its bad bytes become U+FFFD.
  return {name, title, note, spec.dump(-1, ' ', false, Json::error_handler_t::replace), to_csv(data), ""};
}

std::string cell(double value) {
  return std::isfinite(value) ? fmt::format("{}", value) : "";
}

Json json_number(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

TimeUnit time_unit(std::span<const double> seconds) {
  if (seconds.empty()) return {};
  std::vector<double> sorted(seconds.begin(), seconds.end());
  std::nth_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2), sorted.end());
  return sorted[sorted.size() / 2] < 1e-3 ? TimeUnit{} : TimeUnit{1e3, "ms"};
}

std::vector<std::size_t> thinned(std::size_t count, std::size_t most) {
  std::vector<std::size_t> indices;
  const std::size_t kept = std::min(count, most);
  for (std::size_t i = 0; i < kept; ++i) indices.push_back(i * count / kept);
  return indices;
}

std::string shortened(const std::string& text, std::size_t most) {
  std::size_t characters = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool begins = (static_cast<unsigned char>(text[i]) & 0xc0) != 0x80;
    if (begins && ++characters > most) return text.substr(0, i) + "…";
  }
  return text;
}

}  // namespace splitwave::reports::vega
