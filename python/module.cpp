// SPDX-License-Identifier: Apache-2.0
#include <exception>

#include "base/build_info.h"
#include "base/error.h"
#include "base/stop.h"
#include "python/bindings.h"

namespace {

/// Bad input is a ValueError, what is missing on this machine a RuntimeError, with the line that the command prints;
/// work that Ctrl-C ended is a KeyboardInterrupt.
void translate(std::exception_ptr thrown) {
  try {
    if (thrown) std::rethrow_exception(thrown);
  } catch (const splitwave::base::InputError& error) {
    PyErr_SetString(PyExc_ValueError, error.what());
  } catch (const splitwave::base::MissingError& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  } catch (const splitwave::base::Stopped&) {
    if (PyErr_CheckSignals() == 0) PyErr_SetNone(PyExc_KeyboardInterrupt);
  }
}

}  // namespace

PYBIND11_MODULE(_splitwave, module) {
  module.doc() = "The C++ library behind the Python package splitwave.";
  pybind11::register_exception_translator(&translate);
  module.attr("version") = splitwave::base::version();
  module.attr("commit") = splitwave::base::commit();
  splitwave::python::bind_workloads(module);
  splitwave::python::bind_studies(module);
  splitwave::python::bind_split_counts(module);
  splitwave::python::bind_schedule_choices(module);
  splitwave::python::bind_verify(module);
}
