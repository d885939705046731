// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "python/arguments.h"
#include "python/batch.h"
#include "python/bindings.h"
#include "studies/advise_request.h"
#include "studies/split_cache.h"
#include "workloads/workload.h"

namespace splitwave::python {
namespace py = pybind11;
namespace {

/// The library call that `name` is the schedule of.
const studies::SplitCall& call_named(const std::string& name) {
  std::vector<std::string> names;
  for (const studies::SplitCall& call : studies::kSplitCalls) {
    if (call.schedule == name) return call;
    names.emplace_back(call.schedule);
  }
  throw base::InputError(
      fmt::format("library: {} is not allowed; allowed: {}", base::printable(name), base::join(names)));
}

/// studies::SplitCache for one model, for several threads.
class SplitCounts {
 public:
  SplitCounts(workloads::Workload like, const Machine& machine, const std::string& library,
              const py::object& max_splits)
      : workload_(std::move(like)),
        cache_(machine.target, call_named(library),
               static_cast<std::int32_t>(integer(max_splits, "max_splits", 1, studies::kMostMaxSplits))) {}
  SplitCounts(const SplitCounts&) = delete;
  SplitCounts& operator=(const SplitCounts&) = delete;

  /// Schedule, count and predicted seconds for a batch of these contexts.
  std::tuple<std::string, std::int32_t, double> get(const std::vector<std::int64_t>& context_lens,
                                                    std::int64_t query_len) {
    const std::lock_guard lock(mutex_);
    set_requests(workload_, context_lens, query_len);
    const studies::Alternative& best = cache_.get(workload_);
    return {best.schedule, best.num_splits, best.seconds};
  }

  std::size_t searches() {
    const std::lock_guard lock(mutex_);
    return cache_.size();
  }

 private:
  std::mutex mutex_;
  workloads::Workload workload_;
  studies::SplitCache cache_;
};

}  // namespace

void bind_split_counts(py::module_& module) {
  py::class_<SplitCounts>(module, "SplitCounts")
      .def(py::init<workloads::Workload, const Machine&, const std::string&, const py::object&>(), py::arg("like"),
           py::arg("machine"), py::arg("library"), py::arg("max_splits"))
      .def("get", &SplitCounts::get, py::arg("context_lens"), py::arg("query_len"),
           py::call_guard<py::gil_scoped_release>())
      .def_property_readonly("searches", &SplitCounts::searches);
}

}  // namespace splitwave::python
