// SPDX-License-Identifier: Apache-2.0
#include "python/arrays.h"

#include <dlpack/dlpack.h>
#include <fmt/format.h>

#include <optional>
#include <utility>

#include "base/error.h"
#include "base/text.h"

namespace splitwave::python {
namespace py = pybind11;
namespace {

/// Element types by DLPack's code and bits. Its code 6 is bool since version 0.8.
std::optional<base::ElementType> element_type(const DLDataType& type) {
  constexpr std::uint8_t boolean = 6;
  if (type.lanes != 1) return std::nullopt;
  const auto is = [&](std::uint8_t code, std::uint8_t bits) { return type.code == code && type.bits == bits; };
  if (is(kDLFloat, 64)) return base::ElementType::f64;
  if (is(kDLFloat, 32)) return base::ElementType::f32;
  if (is(kDLFloat, 16)) return base::ElementType::f16;
  if (is(kDLBfloat, 16)) return base::ElementType::bf16;
  if (is(kDLInt, 64)) return base::ElementType::i64;
  if (is(kDLInt, 32)) return base::ElementType::i32;
  if (is(boolean, 8)) return base::ElementType::boolean;
  return std::nullopt;
}

void release(DLManagedTensor* managed) {
  const py::gil_scoped_acquire lock;
  if (managed->deleter != nullptr) managed->deleter(managed);
}

}  // namespace

base::Array array_from_dlpack(const py::capsule& capsule, const std::string& name) {
  auto* const managed = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor"));
  if (managed == nullptr) throw py::error_already_set();
  const DLTensor& tensor = managed->dl_tensor;
  // Page-locked memory of a CUDA program is the computer's too.
  if (tensor.device.device_type != kDLCPU && tensor.device.device_type != kDLCUDAHost) {
    throw base::InputError(
        fmt::format("{}: its memory is a device's (DLPack type {}); allowed: the computer's own (torch: .cpu())", name,
                    static_cast<int>(tensor.device.device_type)));
  }
  const std::optional<base::ElementType> type = element_type(tensor.dtype);
  if (!type) {
    throw base::InputError(fmt::format("{}: its elements have DLPack type {} of {} bits; allowed: {}", name,
                                       tensor.dtype.code, tensor.dtype.bits, base::element_type_names()));
  }
  base::Array array;
  array.view.type = *type;
  array.view.shape.assign(tensor.shape, tensor.shape + tensor.ndim);
  if (tensor.strides != nullptr) {
    array.view.strides.assign(tensor.strides, tensor.strides + tensor.ndim);
  } else {
    array.view.strides = base::c_order_strides(array.view.shape);
  }
  array.view.data = static_cast<const std::byte*>(tensor.data) + tensor.byte_offset;
  // The capsule no longer owns it.
  if (PyCapsule_SetName(capsule.ptr(), "used_dltensor") != 0) throw py::error_already_set();
  array.memory = {array.view.data, [managed](const std::byte*) { release(managed); }};
  return array;
}

base::Array array_from_memory(const py::object& owner, const std::string& name, std::uintptr_t address,
                              const std::string& type, std::vector<std::int64_t> shape,
                              const std::vector<std::int64_t>& byte_strides) {
  const std::optional<base::ElementType> element = base::element_type(type);
  if (!element) {
    throw base::InputError(
        fmt::format("{}: its elements are {}; allowed: {}", name, base::printable(type), base::element_type_names()));
  }
  base::Array array;
  array.view.type = *element;
  array.view.shape = std::move(shape);
  for (const std::int64_t stride : byte_strides) {
    if (stride % base::bytes_per_element(*element) != 0) {
      throw base::InputError(fmt::format("{}: a stride of {} bytes; allowed: whole elements", name, stride));
    }
    array.view.strides.push_back(stride / base::bytes_per_element(*element));
  }
  array.view.data = reinterpret_cast<const std::byte*>(address);  // NOLINT: Python gives addresses as integers
  PyObject* const kept = owner.inc_ref().ptr();
  array.memory = {array.view.data, [kept](const std::byte*) {
                    const py::gil_scoped_acquire lock;
                    Py_DECREF(kept);
                  }};
  return array;
}

}  // namespace splitwave::python
