// SPDX-License-Identifier: Apache-2.0
// The parts of the extension _splitwave. Its functions take and give what needs no interpretation: names, numbers, and
// records as JSON text. The Python files beside it make dataclasses and dicts of them.
#pragma once

#include <pybind11/pybind11.h>

namespace splitwave::python {

/// Workload, load(), parse(), parse_spec(), and the names that there are.
void bind_workloads(pybind11::module_& module);

/// Machine, machines(), and the studies: chosen_schedules(), predicted(), planned(), advise(), Sweep.
void bind_studies(pybind11::module_& module);

/// SplitCounts, for a serving loop.
void bind_split_counts(pybind11::module_& module);

/// ScheduleChoices, for a serving loop.
void bind_schedule_choices(pybind11::module_& module);

/// Array and what makes one of Python's, verify().
void bind_verify(pybind11::module_& module);

}  // namespace splitwave::python
