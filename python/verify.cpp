// SPDX-License-Identifier: Apache-2.0
#include "cpu_reference/verify.h"

#include <fmt/format.h>
#include <pybind11/stl.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/array.h"
#include "base/error.h"
#include "base/text.h"
#include "python/arguments.h"
#include "python/arrays.h"
#include "python/bindings.h"
#include "workloads/limits.h"

namespace splitwave::python {
namespace py = pybind11;
namespace {

using cpu_reference::WeightPrecision;

/// An array, or None.
using MaybeArray = std::optional<base::Array>;

std::optional<base::ArrayView> view_of(const MaybeArray& array) {
  return array ? std::optional(array->view) : std::nullopt;
}

WeightPrecision precision_named(const std::string& name) {
  constexpr std::array<std::pair<const char*, WeightPrecision>, 5> kNames = {{{"bf16", WeightPrecision::bf16},
                                                                              {"f16", WeightPrecision::f16},
                                                                              {"tf32", WeightPrecision::tf32},
                                                                              {"f32", WeightPrecision::f32},
                                                                              {"f64", WeightPrecision::f64}}};
  std::vector<std::string> names;
  for (const auto& [known, precision] : kNames) {
    if (name == known) return precision;
    names.emplace_back(known);
  }
  throw base::InputError(
      fmt::format("weights: {} is not allowed; allowed: {}", base::printable(name), base::join(names)));
}

py::dict to_dict(const cpu_reference::Coordinates& at) {
  py::dict dict;
  dict["request"] = at.request;
  dict["query"] = at.query;
  dict["head"] = at.head;
  dict["element"] = at.element;
  return dict;
}

py::dict to_dict(const cpu_reference::ErrorFigures& figures) {
  py::dict dict;
  dict["elements"] = figures.elements;
  dict["max_abs"] = figures.max_abs;
  dict["max_relative"] = figures.max_relative;
  dict["rmse_over_rms"] = figures.rmse_over_rms;
  dict["cosine"] = figures.cosine;
  dict["worst_bound_ratio"] = figures.worst_bound_ratio;
  dict["over_bound"] = figures.over_bound;
  dict["mismatched_non_finite"] = figures.mismatched_non_finite;
  return dict;
}

py::list to_list(const char* name, const std::vector<cpu_reference::GroupFigures>& groups) {
  py::list list;
  for (const cpu_reference::GroupFigures& group : groups) {
    py::dict dict;
    dict[name] = group.index;
    dict.attr("update")(to_dict(group.output));
    dict["lse_max_abs"] = group.lse_max_abs;
    list.append(dict);
  }
  return list;
}

py::list to_list(const std::vector<cpu_reference::RuleResult>& rules) {
  py::list list;
  for (const cpu_reference::RuleResult& rule : rules) {
    py::dict dict;
    dict["rule"] = to_string(rule.rule);
    dict["passed"] = rule.passed;
    dict["value"] = rule.value;
    dict["limit"] = rule.limit;
    dict["text"] = rule.text;
    list.append(dict);
  }
  return list;
}

py::list to_list(const std::vector<cpu_reference::Finding>& findings) {
  py::list list;
  for (const cpu_reference::Finding& finding : findings) {
    py::dict dict;
    dict["fault"] = to_string(finding.fault);
    dict["text"] = finding.text;
    dict["explained"] = finding.explained;
    dict["evidence_nats"] = finding.evidence_nats;
    dict["rows"] = finding.rows;
    if (finding.token_begin >= 0) {
      dict["token_begin"] = finding.token_begin;
      dict["token_end"] = finding.token_end;
    }
    list.append(dict);
  }
  return list;
}

py::object to_object(const std::optional<cpu_reference::WorstElement>& worst) {
  if (!worst) return py::none();
  py::dict dict = to_dict(worst->at);
  dict["value"] = worst->value;
  dict["exact"] = worst->exact;
  dict["bound"] = worst->bound;
  dict["heaviest_token"] = worst->heaviest_token;
  dict["heaviest_weight"] = worst->heaviest_weight;
  return py::object(dict);
}

/// The fields of Verification by their names.
py::dict to_dict(const cpu_reference::Verification& verification) {
  py::dict dict;
  dict["passed"] = verification.passed;
  dict["decided_by"] = to_string(verification.decided_by);
  dict["rules"] = to_list(verification.rules);
  dict["output"] = to_dict(verification.output);
  dict["lse"] = py::none();
  if (verification.has_lse) {
    py::dict lse;
    lse["max_abs"] = verification.lse_max_abs;
    lse["worst_bound_ratio"] = verification.lse_worst_bound_ratio;
    dict["lse"] = lse;
  }
  dict["heads"] = to_list("head", verification.heads);
  dict["requests"] = to_list("request", verification.requests);
  py::dict ulps;
  ulps["counts"] = verification.ulps.counts;
  ulps["largest"] = verification.ulps.largest;
  dict["ulps"] = ulps;
  dict["worst"] = to_object(verification.worst);
  dict["findings"] = to_list(verification.findings);
  dict["rows"] = verification.rows;
  return dict;
}

py::dict verify(const base::Array& q, const base::Array& k, const MaybeArray& v, const base::Array& output,
                const MaybeArray& lse, const MaybeArray& block_table, const MaybeArray& context_lens,
                const MaybeArray& cu_seqlens_q, const MaybeArray& cu_seqlens_k, const MaybeArray& mask, bool head_major,
                bool causal, const py::object& window, std::optional<double> softmax_scale, bool lse_base_two,
                std::optional<bool> lse_head_first, bool empty_lse_positive, const std::optional<std::string>& weights,
                bool diagnose) {
  using cpu_reference::AxisOrder;
  cpu_reference::KernelCall call;
  call.q = q.view;
  call.k = k.view;
  call.v = view_of(v);
  call.block_table = view_of(block_table);
  call.context_lens = view_of(context_lens);
  call.cu_seqlens_q = view_of(cu_seqlens_q);
  call.cu_seqlens_k = view_of(cu_seqlens_k);
  call.mask = view_of(mask);
  call.order = head_major ? AxisOrder::head_major : AxisOrder::token_major;
  call.causal = causal;
  if (!window.is_none()) {
    call.window = static_cast<std::int32_t>(integer(window, "window", 1, workloads::kMaxContextLen));
  }
  call.softmax_scale = softmax_scale;
  call.output = output.view;
  call.lse = view_of(lse);
  call.lse_base_two = lse_base_two;
  call.lse_head_first = lse_head_first;
  call.empty_lse_positive = empty_lse_positive;
  cpu_reference::VerifyOptions options;
  if (weights) options.weights = precision_named(*weights);
  options.diagnose = diagnose;
  std::optional<cpu_reference::Verification> verification;
  {
    const py::gil_scoped_release unlocked;
    verification = cpu_reference::verify(call, options);
  }
  return to_dict(*verification);
}

}  // namespace

void bind_verify(py::module_& module) {
  py::class_<base::Array>(module, "Array")
      .def_property_readonly("type", [](const base::Array& array) { return base::to_string(array.view.type); })
      .def_property_readonly("shape", [](const base::Array& array) { return array.view.shape; });
  module.def("array_from_dlpack", &array_from_dlpack, py::arg("capsule"), py::arg("name"));
  module.def("array_from_memory", &array_from_memory, py::arg("owner"), py::arg("name"), py::arg("address"),
             py::arg("type"), py::arg("shape"), py::arg("strides"));
  module.def("verify", &verify, py::arg("q"), py::arg("k"), py::arg("v"), py::arg("output"), py::arg("lse"),
             py::arg("block_table"), py::arg("context_lens"), py::arg("cu_seqlens_q"), py::arg("cu_seqlens_k"),
             py::arg("mask"), py::arg("head_major"), py::arg("causal"), py::arg("window"), py::arg("softmax_scale"),
             py::arg("lse_base_two"), py::arg("lse_head_first"), py::arg("empty_lse_positive"), py::arg("weights"),
             py::arg("diagnose"));
}

}  // namespace splitwave::python
