// SPDX-License-Identifier: Apache-2.0
#include <pybind11/stl.h>

#include <cstdint>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "python/arguments.h"
#include "python/batch.h"
#include "python/bindings.h"
#include "studies/choice_cache.h"
#include "workloads/workload.h"

namespace splitwave::python {
namespace py = pybind11;
namespace {

/// studies::ChoiceCache for one model, for several threads.
class ScheduleChoices {
 public:
  ScheduleChoices(workloads::Workload like, const Machine& machine)
      : workload_(std::move(like)), cache_(machine.target) {}
  ScheduleChoices(const ScheduleChoices&) = delete;
  ScheduleChoices& operator=(const ScheduleChoices&) = delete;

  /// Schedule, kernel's config, SMs, CTAs per SM and tile sizes for a batch of these contexts.
  std::tuple<std::string, std::string, std::int32_t, std::int32_t, std::int32_t, std::int32_t> get(
      const std::vector<std::int64_t>& context_lens, std::int64_t query_len) {
    const std::lock_guard lock(mutex_);
    set_requests(workload_, context_lens, query_len);
    const studies::Choice& choice = cache_.get(workload_);
    const schedules::Grid& grid = choice.grid;
    return {choice.schedule, choice.config, grid.sms, grid.ctas_per_sm, grid.tile_q, grid.tile_kv};
  }

  std::size_t searches() {
    const std::lock_guard lock(mutex_);
    return cache_.size();
  }

 private:
  std::mutex mutex_;
  workloads::Workload workload_;
  studies::ChoiceCache cache_;
};

}  // namespace

void bind_schedule_choices(py::module_& module) {
  py::class_<ScheduleChoices>(module, "ScheduleChoices")
      .def(py::init<workloads::Workload, const Machine&>(), py::arg("like"), py::arg("machine"))
      .def("get", &ScheduleChoices::get, py::arg("context_lens"), py::arg("query_len"),
           py::call_guard<py::gil_scoped_release>())
      .def_property_readonly("searches", &ScheduleChoices::searches);
}

}  // namespace splitwave::python
