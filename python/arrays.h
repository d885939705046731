// SPDX-License-Identifier: Apache-2.0
// Python's arrays as the library's, without a copy.
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/array.h"

namespace splitwave::python {

/// The array of a DLPack capsule (https://dmlc.github.io/dlpack), which is used up. Throws InputError that begins with
/// `name` if it is not in the computer's memory or its elements are none of base::ElementType.
base::Array array_from_dlpack(const pybind11::capsule& capsule, const std::string& name);

/// The array of an object whose memory is described by an address: its elements' type by name, the address of its first
/// element, its shape and its strides in bytes. `owner` keeps the memory alive. Throws InputError that begins with
/// `name` if the type is none of base::ElementType or a stride is no multiple of its size.
base::Array array_from_memory(const pybind11::object& owner, const std::string& name, std::uintptr_t address,
                              const std::string& type, std::vector<std::int64_t> shape,
                              const std::vector<std::int64_t>& byte_strides);

}  // namespace splitwave::python
