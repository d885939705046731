// SPDX-License-Identifier: Apache-2.0
#include <pybind11/stl.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/build_info.h"
#include "base/error.h"
#include "python/arguments.h"
#include "python/bindings.h"
#include "python/interruptible.h"
#include "reports/record.h"
#include "studies/advise.h"
#include "studies/advise_export.h"
#include "studies/advise_request.h"
#include "studies/choose.h"
#include "studies/records.h"
#include "studies/sweep_evaluate.h"
#include "studies/sweep_space.h"
#include "workloads/limits.h"

namespace splitwave::python {
namespace py = pybind11;
namespace {

std::vector<studies::Target> targets_of(const std::vector<Machine>& machines) {
  std::vector<studies::Target> targets;
  for (const Machine& machine : machines) targets.push_back(machine.target);
  return targets;
}

std::vector<Machine> machines(const std::vector<std::string>& names, const py::object& sms, const py::object& bandwidth,
                              const py::object& l2, const py::object& clock, const py::object& ctas_per_sm,
                              const std::string& kernel, const py::object& threads, bool measure_cpu) {
  using Limits = studies::OverrideLimits;
  if (measure_cpu && std::find(names.begin(), names.end(), studies::kThisCpu) == names.end()) {
    throw base::InputError("measure_cpu: this computer's CPU is not among the machines; allowed: with gpu=\"cpu\"");
  }
  studies::Overrides overrides;
  overrides.sms = static_cast<std::int32_t>(integer(sms, "sms", 1, Limits::sms));
  overrides.bandwidth_gb_per_s = number_between(bandwidth, "bandwidth", Limits::least, Limits::bandwidth_gb_per_s);
  overrides.l2_bytes = integer(l2, "l2", 1, static_cast<std::int64_t>(Limits::l2_bytes));
  overrides.clock_mhz = number_between(clock, "clock", Limits::least, Limits::clock_mhz);
  overrides.ctas_per_sm = static_cast<std::int32_t>(integer(ctas_per_sm, "ctas_per_sm", 1, Limits::ctas_per_sm));
  overrides.kernel = kernel;
  const std::int32_t team = thread_count(threads);
  const Interruptible unlocked;
  std::vector<studies::Target> found = studies::targets(names, overrides, team, measure_cpu);
  std::vector<Machine> result;
  for (std::size_t i = 0; i < found.size(); ++i) result.push_back({std::move(found[i]), names[i], overrides});
  return result;
}

std::string advise(const std::string& model, const Machine& machine, const std::string& batch,
                   const std::string& context, const py::object& query_len, const std::vector<std::string>& available,
                   const std::vector<std::string>& rules, const py::object& max_splits, const py::object& threads) {
  studies::AdviseRequest request{model, batch, context};
  request.query_len = static_cast<std::int32_t>(integer(query_len, "query_len", 1, workloads::kMaxQueryLen));
  request.available = available;
  request.rules = rules;
  request.max_splits = static_cast<std::int32_t>(integer(max_splits, "max_splits", 1, studies::kMostMaxSplits));
  const std::int32_t team = thread_count(threads);
  const Interruptible unlocked;
  const studies::Advice advice =
      studies::advise(studies::question_of(request), machine.target, team, [](std::size_t) { raise_if_interrupted(); });
  const std::string command = studies::command_of(request, machine.given, machine.overrides, "json");
  return studies::advice_json(advice, studies::origin_of(advice, machine.target, command));
}

/// A sweep's points and what evaluates them, which knows where they are.
class Sweep {
 public:
  Sweep(const std::vector<workloads::Workload>& workloads, const std::vector<Machine>& machines,
        const std::vector<std::string>& axes, const std::vector<std::string>& schedules, std::int32_t threads)
      : space_(studies::make_space(targets_of(machines), workloads, axes, schedules)),
        evaluator_(space_, threads, base::commit(), base::version()) {}
  Sweep(const Sweep&) = delete;
  Sweep& operator=(const Sweep&) = delete;

  std::int64_t points() const { return studies::points(space_); }

  std::string lines(std::int64_t begin, std::int64_t end) {
    if (begin < 0 || begin > end || end > points()) throw py::index_error("lines: no such points");
    return evaluator_.lines(begin, end);
  }

 private:
  studies::SweepSpace space_;
  studies::SweepEvaluator evaluator_;
};

}  // namespace

void bind_studies(py::module_& module) {
  py::class_<Machine>(module, "Machine")
      .def_property_readonly("name", [](const Machine& machine) { return machine.target.name; })
      .def_property_readonly("note", [](const Machine& machine) { return machine.target.note; });
  module.def("machines", &machines, py::arg("names"), py::arg("sms"), py::arg("bandwidth"), py::arg("l2"),
             py::arg("clock"), py::arg("ctas_per_sm"), py::arg("kernel"), py::arg("threads"), py::arg("measure_cpu"));
  module.def(
      "chosen_schedules",
      [](const std::vector<std::string>& given, const std::vector<workloads::Workload>& workloads,
         const std::vector<Machine>& machines) {
        return studies::chosen_schedules(given, workloads, targets_of(machines));
      },
      py::arg("given"), py::arg("workloads"), py::arg("machines"), Unlocked());
  module.def(
      "predicted",
      [](const workloads::Workload& workload, const std::string& schedule, const Machine& machine, bool strict) {
        return reports::to_json(studies::predicted_record(workload, schedule, machine.target, strict));
      },
      py::arg("workload"), py::arg("schedule"), py::arg("machine"), py::arg("strict"), Unlocked());
  module.def(
      "planned",
      [](const workloads::Workload& workload, const std::string& schedule, const Machine& machine, bool full,
         bool strict) { return studies::plan_line(workload, schedule, machine.target, full, strict); },
      py::arg("workload"), py::arg("schedule"), py::arg("machine"), py::arg("full"), py::arg("strict"), Unlocked());
  module.def("advise", &advise, py::arg("model"), py::arg("machine"), py::arg("batch"), py::arg("context"),
             py::arg("query_len"), py::arg("available"), py::arg("rules"), py::arg("max_splits"), py::arg("threads"));
  py::class_<Sweep>(module, "Sweep")
      .def(py::init([](const std::vector<workloads::Workload>& workloads, const std::vector<Machine>& machines,
                       const std::vector<std::string>& axes, const std::vector<std::string>& schedules,
                       const py::object& threads) {
             const std::int32_t team = thread_count(threads);
             const Interruptible unlocked;
             return std::make_unique<Sweep>(workloads, machines, axes, schedules, team);
           }),
           py::arg("workloads"), py::arg("machines"), py::arg("axes"), py::arg("schedules"), py::arg("threads"))
      .def_property_readonly("points", &Sweep::points)
      .def("lines", &Sweep::lines, py::arg("begin"), py::arg("end"), Unlocked());
}

}  // namespace splitwave::python
