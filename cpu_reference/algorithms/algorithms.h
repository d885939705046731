// SPDX-License-Identifier: Apache-2.0
// Every algorithm, in one table.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cpu_reference/algorithms/head.h"

namespace splitwave::cpu_reference::algorithms {

/// A size or count that an algorithm leaves open.
struct Parameter {
  std::string_view name;  ///< as the paper has it: "block_rows"
  std::int64_t standard;  ///< value if none is given
  std::int64_t most;      ///< largest value allowed; the least is 1
  std::string_view meaning;
};

struct Algorithm {
  std::string_view name;  ///< "flash-attention-2"
  std::string_view summary;
  std::string_view source;  ///< paper and algorithm
  std::span<const Parameter> parameters;
  /// Both take one value per parameter, in order.
  HeadResult (*attend)(const Head& head, std::span<const std::int64_t> values);
  Traffic (*io)(const HeadShape& shape, std::span<const std::int64_t> values);
};

/// The table, in the order of docs/algorithms.md: each algorithm after those that it improves on.
std::span<const Algorithm> all();

/// An algorithm with a value for each of its parameters.
struct Call {
  const Algorithm* algorithm = nullptr;
  std::vector<std::int64_t> values;

  HeadResult attend(const Head& head) const { return algorithm->attend(head, values); }
  Traffic io(const HeadShape& shape) const { return algorithm->io(shape, values); }
  /// "flash-attention-2:128x128", with every value.
  std::string name() const;
};

/// The algorithm that a name stands for: NAME, or NAME:AxB with one integer for each parameter, in order. Throws
/// InputError with the nearest names if it is unknown, or with what is allowed after the colon.
Call parse(std::string_view name);

}  // namespace splitwave::cpu_reference::algorithms
