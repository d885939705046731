// SPDX-License-Identifier: Apache-2.0
#include "workloads/workload.h"

#include <pybind11/stl.h>

#include <string>
#include <vector>

#include "python/arguments.h"
#include "python/bindings.h"
#include "python/interruptible.h"
#include "schedules/schedules.h"
#include "simulator/machine.h"
#include "workloads/load.h"

namespace splitwave::python {
namespace py = pybind11;
namespace {

std::vector<std::string> schedule_names() {
  std::vector<std::string> names;
  for (const schedules::Schedule& schedule : schedules::all()) names.emplace_back(schedule.name);
  return names;
}

workloads::Workload with_seed(workloads::Workload workload, const py::object& seed) {
  workload.seed = unsigned_integer(seed, "seed");
  return workload;
}

}  // namespace

void bind_workloads(py::module_& module) {
  py::class_<workloads::Workload>(module, "Workload")
      .def_readonly("name", &workloads::Workload::name)
      .def("to_json", &workloads::to_json, Unlocked())
      .def("with_seed", &with_seed, py::arg("seed"));
  module.def("load", &workloads::load, py::arg("argument"), Unlocked());
  module.def("parse", &workloads::parse_json, py::arg("text"), py::arg("where"), Unlocked());
  module.def("parse_spec", &workloads::parse_spec, py::arg("spec"), Unlocked());
  module.def("gpu_names", &simulator::machine_names, "Names of the shipped machines, sorted.");
  module.def("model_names", &workloads::model_names, "Names of the model catalogue, sorted.");
  module.def("schedule_names", &schedule_names, "Names of the schedules, without their arguments.");
  module.def("suite_names", &workloads::suite_names, "Names of the shipped suites, sorted.");
}

}  // namespace splitwave::python
