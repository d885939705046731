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
#include "python/interruptible.h"
#include "studies/verify_report.h"
#include "workloads/limits.h"

namespace splitwave::python {
namespace py = pybind11;
namespace {

using cpu_reference::AxisOrder;
using cpu_reference::WeightPrecision;

/// An array, or None.
using MaybeArray = std::optional<base::Array>;

std::optional<base::ArrayView> view_of(const MaybeArray& array) {
  return array ? std::optional(array->view) : std::nullopt;
}

/// The one of `allowed`, by name, that `value` is. Throws InputError "NAME: VALUE is not allowed; allowed: ..." if none
/// is.
template <typename Meaning, std::size_t count>
Meaning choice(const char* name, const std::string& value,
               const std::array<std::pair<const char*, Meaning>, count>& allowed) {
  std::vector<std::string> names;
  for (const auto& [known, meaning] : allowed) {
    if (value == known) return meaning;
    names.emplace_back(known);
  }
  throw base::InputError(
      fmt::format("{}: {} is not allowed; allowed: {}", name, base::printable(value), base::join(names)));
}

constexpr std::array<std::pair<const char*, WeightPrecision>, 5> kWeights = {{{"f16", WeightPrecision::f16},
                                                                              {"bf16", WeightPrecision::bf16},
                                                                              {"tf32", WeightPrecision::tf32},
                                                                              {"f32", WeightPrecision::f32},
                                                                              {"f64", WeightPrecision::f64}}};
constexpr std::array<std::pair<const char*, AxisOrder>, 2> kLayouts = {
    {{"token", AxisOrder::token_major}, {"head", AxisOrder::head_major}}};
constexpr std::array<std::pair<const char*, bool>, 2> kBaseTwo = {{{"e", false}, {"2", true}}};
constexpr std::array<std::pair<const char*, bool>, 2> kPositive = {{{"-inf", false}, {"+inf", true}}};

/// The verdict as the command prints it, with --json and without.
py::tuple verify(const std::string& name, const base::Array& q, const base::Array& k, const MaybeArray& v,
                 const base::Array& output, const MaybeArray& lse, const MaybeArray& block_table,
                 const MaybeArray& context_lens, const MaybeArray& cu_seqlens_q, const MaybeArray& cu_seqlens_k,
                 const MaybeArray& mask, const std::string& layout, const std::string& kv_layout, bool causal,
                 const py::object& window, std::optional<double> scale, const std::string& lse_base,
                 std::optional<bool> lse_head_first, const std::string& empty_lse,
                 const std::optional<std::string>& weights, bool diagnose) {
  cpu_reference::KernelCall call;
  call.q = q.view;
  call.k = k.view;
  call.v = view_of(v);
  call.block_table = view_of(block_table);
  call.context_lens = view_of(context_lens);
  call.cu_seqlens_q = view_of(cu_seqlens_q);
  call.cu_seqlens_k = view_of(cu_seqlens_k);
  call.mask = view_of(mask);
  call.order = choice("layout", layout, kLayouts);
  call.kv_order = choice("kv_layout", kv_layout, kLayouts);
  call.causal = causal;
  if (!window.is_none()) {
    call.window = static_cast<std::int32_t>(integer(window, "window", 1, workloads::kMaxContextLen));
  }
  call.softmax_scale = scale;
  call.output = output.view;
  call.lse = view_of(lse);
  call.lse_base_two = choice("lse_base", lse_base, kBaseTwo);
  call.lse_head_first = lse_head_first;
  call.empty_lse_positive = choice("empty_lse", empty_lse, kPositive);
  cpu_reference::VerifyOptions options;
  if (weights) options.weights = choice("weights", *weights, kWeights);
  options.diagnose = diagnose;
  std::string json;
  std::string text;
  {
    const Interruptible unlocked;
    const cpu_reference::Verification verification = cpu_reference::verify(call, options);
    json = studies::verdict_json(name, verification);
    text = studies::verdict_text(name, verification);
  }
  return py::make_tuple(json, text);
}

}  // namespace

void bind_verify(py::module_& module) {
  py::class_<base::Array>(module, "Array")
      .def_property_readonly("type", [](const base::Array& array) { return base::to_string(array.view.type); })
      .def_property_readonly("shape", [](const base::Array& array) { return array.view.shape; });
  module.def("array_from_dlpack", &array_from_dlpack, py::arg("capsule"), py::arg("name"));
  module.def("array_from_memory", &array_from_memory, py::arg("owner"), py::arg("name"), py::arg("address"),
             py::arg("type"), py::arg("shape"), py::arg("strides"));
  module.def("verify", &verify, py::arg("name"), py::arg("q"), py::arg("k"), py::arg("v"), py::arg("output"),
             py::arg("lse"), py::arg("block_table"), py::arg("context_lens"), py::arg("cu_seqlens_q"),
             py::arg("cu_seqlens_k"), py::arg("mask"), py::arg("layout"), py::arg("kv_layout"), py::arg("causal"),
             py::arg("window"), py::arg("scale"), py::arg("lse_base"), py::arg("lse_head_first"), py::arg("empty_lse"),
             py::arg("weights"), py::arg("diagnose"));
}

}  // namespace splitwave::python
