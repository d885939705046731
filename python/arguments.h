// SPDX-License-Identifier: Apache-2.0
// Python values that users give, checked in the words of the command line's options.
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <string>

#include "studies/target.h"

namespace splitwave::python {

/// What Python was given for machines: the target, and the words that it came from.
struct Machine {
  studies::Target target;
  std::string given;
  studies::Overrides overrides;
};

/// The integer `value`, or `none` for None. Throws InputError "NAME: VALUE is not allowed; allowed: an integer from
/// LEAST to MOST" for anything else, bool included.
std::int64_t integer(const pybind11::object& value, const char* name, std::int64_t least, std::int64_t most,
                     std::int64_t none = 0);

/// The integer `value` from 0 to 2^64 - 1. Throws InputError as integer() does.
std::uint64_t unsigned_integer(const pybind11::object& value, const char* name);

/// The number `value` from `least` to `most`, or 0 for None. Throws InputError as integer() does.
double number_between(const pybind11::object& value, const char* name, double least, double most);

/// Threads that `value` stands for; None: all hardware threads.
std::int32_t thread_count(const pybind11::object& value);

/// Raises KeyboardInterrupt, or what another Python signal handler raises, if a signal came. For calls that let other
/// threads run Python: it takes the interpreter's lock itself.
void raise_if_interrupted();

}  // namespace splitwave::python
