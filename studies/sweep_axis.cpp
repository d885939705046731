// SPDX-License-Identifier: Apache-2.0
#include "studies/sweep_axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "base/error.h"
#include "base/text.h"

namespace splitwave::studies {
namespace {

using base::InputError;

constexpr std::string_view kGrammar = "a,b,c or first:last[:step] or first..lastxfactor";

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

std::string number_text(double number) {
  // Axis values are integers up to 2^53 or short decimals: the shortest form that reads back is what people typed.
  return number == std::floor(number) && std::abs(number) < 9e15 ? fmt::format("{}", static_cast<std::int64_t>(number))
                                                                 : fmt::format("{}", number);
}

class AxisParser {
 public:
  explicit AxisParser(const AxisDomain& domain) : domain_(domain) {
    axis_.key = domain.name;
    axis_.type = domain.type;
  }

  Axis parse(std::string_view values) {
    while (true) {
      const std::size_t comma = values.find(',');
      element(trimmed(values.substr(0, comma)));
      if (comma == std::string_view::npos) break;
      values.remove_prefix(comma + 1);
    }
    return std::move(axis_);
  }

 private:
  [[noreturn]] void refuse(std::string_view found, std::string_view allowed) const {
    throw InputError(fmt::format("{}{}: {} is not allowed; allowed: {}", domain_.option, domain_.name,
                                 found.empty() ? "nothing" : '"' + base::printable(found) + '"', allowed));
  }

  void element(std::string_view text) {
    if (text.empty()) refuse(text, domain_.type == AxisType::text ? "a word" : kGrammar);
    const std::size_t dots = text.find("..");
    if (domain_.type == AxisType::text) {
      add({0, std::string(text)}, text);
    } else if (dots != std::string_view::npos) {
      log_range(text, dots);
    } else if (text.find(':') != std::string_view::npos) {
      range(text);
    } else {
      add_number(number(text), text);
    }
  }

  void range(std::string_view text) {
    const std::size_t first_colon = text.find(':');
    const std::size_t second_colon = text.find(':', first_colon + 1);
    const bool has_step = second_colon != std::string_view::npos;
    const double first = number(text.substr(0, first_colon));
    const double last = number(text.substr(first_colon + 1, has_step ? second_colon - first_colon - 1 : second_colon));
    const double step = has_step ? number(text.substr(second_colon + 1), false) : 1;
    if (!(step > 0) || last < first) refuse(text, "first:last[:step] with first <= last and step > 0");
    // Half a step of slack would add a value past the end; a millionth only absorbs rounding of steps like 0.1.
    const double count = std::floor((last - first) / step + 1e-6) + 1;
    check_room(count, text);
    for (double i = 0; i < count; ++i) add_number(first + i * step, text);
  }

  void log_range(std::string_view text, std::size_t dots) {
    const std::size_t cross = text.find('x', dots);
    if (cross == std::string_view::npos) refuse(text, "first..lastxfactor, for example 1k..1Mx2");
    const double first = number(text.substr(0, dots));
    const double last = number(trimmed(text.substr(dots + 2, cross - dots - 2)));
    const double factor = plain_number(trimmed(text.substr(cross + 1)), text);
    if (!(first > 0) || last < first || !(factor > 1)) {
      refuse(text, "first..lastxfactor with 0 < first <= last and factor > 1");
    }
    const double count = std::floor(std::log(last / first) / std::log(factor) + 1e-6) + 1;
    check_room(count, text);
    double previous = -1;
    for (double i = 0; i < count; ++i) {
      const double exact = first * std::pow(factor, i);
      const double value = domain_.type == AxisType::integer ? std::round(exact) : exact;
      if (value != previous) add_number(value, text);
      previous = value;
    }
  }

  void check_room(double more, std::string_view text) const {
    if (!(more + static_cast<double>(axis_.values.size()) <= static_cast<double>(kMaxAxisValues))) {
      refuse(text, fmt::format("at most {} values on an axis", kMaxAxisValues));
    }
  }

  double plain_number(std::string_view text, std::string_view shown) const {
    const std::optional<double> value = base::number_in(text);
    if (!value || !std::isfinite(*value)) refuse(shown, kGrammar);
    return *value;
  }

  /// A number with an optional suffix, whole on an integer axis and, unless it is a step, within the domain.
  double number(std::string_view text, bool within_domain = true) const {
    text = trimmed(text);
    double unit = 1;
    const std::string_view suffixes = "kMG";
    const std::size_t power = text.empty() ? std::string_view::npos : suffixes.find(text.back());
    if (power != std::string_view::npos)
      unit = std::pow(domain_.binary ? 1024.0 : 1000.0, static_cast<double>(power) + 1);
    const std::string_view digits = power == std::string_view::npos ? text : text.substr(0, text.size() - 1);
    const double value = plain_number(digits, text) * unit;
    if (domain_.type == AxisType::integer && value != std::floor(value)) refuse(text, "a whole number");
    if (within_domain && !(value >= domain_.least && value <= domain_.most)) {
      refuse(text, fmt::format("{} from {} to {}", domain_.type == AxisType::integer ? "integers" : "numbers",
                               number_text(domain_.least), number_text(domain_.most)));
    }
    return value;
  }

  void add_number(double value, std::string_view text) { add({value, number_text(value)}, text); }

  void add(AxisValue value, std::string_view text) {
    check_room(1, text);
    if (!seen_.insert(value.text).second) refuse(text, fmt::format("each value once ({} is given twice)", value.text));
    axis_.values.push_back(std::move(value));
  }

  const AxisDomain& domain_;
  Axis axis_;
  std::unordered_set<std::string> seen_;
};

}  // namespace

AxisText split_axis(const std::string& argument) {
  const std::size_t equals = argument.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == argument.size()) {
    throw InputError(fmt::format("--axis: \"{}\" is not allowed; allowed: KEY=VALUES, for example context=1k..128kx2",
                                 base::printable(argument)));
  }
  return {std::string(trimmed(std::string_view(argument).substr(0, equals))), argument.substr(equals + 1)};
}

Axis parse_axis(const AxisDomain& domain, std::string_view values) {
  return AxisParser(domain).parse(values);
}

}  // namespace splitwave::studies
