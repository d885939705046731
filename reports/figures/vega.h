// SPDX-License-Identifier: Apache-2.0
// Pieces of Vega-Lite specifications that the figures share. Inside the folder only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reports/figures.h"
#include "reports/table.h"

namespace splitwave::reports::vega {

using Json = nlohmann::ordered_json;

/// Colour, shape and dash by which one of several series is told from the others: by any colour vision, and in grey.
Json colour_scale(std::span<const std::string> series);
Json shape_scale(std::span<const std::string> series);
std::string_view colour_of(std::size_t series);

/// A value axis. Logarithmic ones have ticks at 1, 2 and 5 times powers of ten or, of base 2, at powers of two.
struct Axis {
  std::string title;  ///< with the unit
  enum class Kind { linear, logarithmic, powers_of_two } kind = Kind::linear;
  bool zero = false;                              ///< linear: begins at 0
  bool percent = false;                           ///< values are ratios, shown as percent
  std::optional<std::vector<double>> range = {};  ///< least and most; none: of the values, with a margin
};

/// Least and most of the axis for the values.
std::vector<double> domain_of(const Axis& axis, std::span<const double> values);

/// A position channel of `field` on the axis; `pixels`: its length, which decides how many ticks it has.
Json channel(const std::string& field, const Axis& axis, std::span<const double> domain, double pixels);

/// Where texts at these places go along an axis of `pixels`, so that none overlap: `apart` pixels from each other. In
/// the order given.
std::vector<double> dodged(std::vector<double> places, double pixels, double apart);

/// Pixels from the axis' low end.
double place_on(const Axis& axis, std::span<const double> domain, double value, double pixels);

/// The figure of a specification without its frame: adds title, theme and the command, and the table as CSV.
Figure finished(const std::string& name, const std::string& title, const std::string& note, Json body,
                const Table& data);

/// A number as the tables say it: as many digits as read back, empty if it is absent.
std::string cell(double value);

/// A number in JSON, null if it is absent.
Json json_number(double value);

/// Times in the unit that suits them.
struct TimeUnit {
  double factor = 1e6;
  std::string name = "µs";
};
TimeUnit time_unit(std::span<const double> seconds);

/// At most `most` of `count` indices, evenly spread.
std::vector<std::size_t> thinned(std::size_t count, std::size_t most);

/// Text that is cut with an ellipsis after `most` characters.
std::string shortened(const std::string& text, std::size_t most);

}  // namespace splitwave::reports::vega
