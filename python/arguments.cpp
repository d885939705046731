// SPDX-License-Identifier: Apache-2.0
#include "python/arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <thread>

#include "base/error.h"
#include "base/text.h"

namespace splitwave::python {
namespace py = pybind11;
namespace {

[[noreturn]] void refuse(const py::object& value, const char* name, const std::string& allowed) {
  throw base::InputError(fmt::format("{}: {} is not allowed; allowed: {}", name,
                                     base::printable(py::cast<std::string>(py::str(value))), allowed));
}

/// The value of a Python or NumPy integer that fits; no bool.
std::optional<std::int64_t> whole(const py::object& value) {
  if (PyBool_Check(value.ptr()) || PyIndex_Check(value.ptr()) == 0) return std::nullopt;
  const auto number = py::reinterpret_steal<py::object>(PyNumber_Index(value.ptr()));
  if (!number) throw py::error_already_set();
  int overflow = 0;
  const long long result = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
  return overflow == 0 ? std::optional<std::int64_t>(result) : std::nullopt;
}

}  // namespace

std::int64_t integer(const py::object& value, const char* name, std::int64_t least, std::int64_t most,
                     std::int64_t none) {
  if (value.is_none()) return none;
  const std::optional<std::int64_t> number = whole(value);
  if (!number || *number < least || *number > most) {
    refuse(value, name, fmt::format("an integer from {} to {}", least, most));
  }
  return *number;
}

std::uint64_t unsigned_integer(const py::object& value, const char* name) {
  try {
    if (!PyBool_Check(value.ptr())) return py::cast<std::uint64_t>(value);
  } catch (const py::cast_error&) {  // told below
  }
  refuse(value, name, "an integer from 0 to 2^64 - 1");
}

double number_between(const py::object& value, const char* name, double least, double most) {
  if (value.is_none()) return 0;
  double number = NAN;
  if (PyNumber_Check(value.ptr()) != 0 && !PyBool_Check(value.ptr())) {
    number = PyFloat_AsDouble(value.ptr());
    PyErr_Clear();  // of no float: refused below
  }
  if (!(number >= least && number <= most)) refuse(value, name, fmt::format("a number from {} to {}", least, most));
  return number;
}

std::int32_t thread_count(const py::object& value) {
  const std::int64_t all = std::max(1U, std::thread::hardware_concurrency());
  return static_cast<std::int32_t>(integer(value, "threads", 1, studies::kMostThreads, all));
}

void raise_if_interrupted() {
  const py::gil_scoped_acquire lock;
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
}

}  // namespace splitwave::python
