// SPDX-License-Identifier: Apache-2.0
// Arrays in files: npy, safetensors, and raw bytes. Debian has no maintained C++ parser of either format (cnpy is not
// packaged, safetensors is Rust's), so these are small strict readers: what a file says of itself is checked against
// its length before anything is taken from it, and a file with a byte too many or too few is refused.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/array.h"

namespace splitwave::base {

/// Longest header that is read. Units: bytes.
inline constexpr std::int64_t kMaxArrayHeaderBytes = std::int64_t{16} << 20;

/// Most axes of an array.
inline constexpr std::size_t kMaxAxes = 8;

/// Reads an npy file (format 1.0 to 3.0) in C order. npy has no bfloat16: elements of two untyped bytes ('|V2', which
/// is how numpy writes ml_dtypes' bfloat16) are bf16, and 16-bit integers are read as `sixteen_bits` (f16 or bf16) if
/// that is stated. Throws InputError naming the file, what was found and what is allowed.
Array read_npy(const std::string& path, std::optional<ElementType> sixteen_bits = std::nullopt);

/// An array and what it is called.
struct NamedArray {
  std::string name;
  Array array;
};

/// Reads every tensor of a safetensors file, in the order of its header. Throws InputError naming the file, the tensor,
/// what was found and what is allowed; also for a type that ElementType lacks.
std::vector<NamedArray> read_safetensors(const std::string& path);

/// Reads a file that holds elements and nothing else, in C order. Throws InputError if its length is another.
Array read_raw(const std::string& path, ElementType type, std::vector<std::int64_t> shape);

/// Writes a new npy file (format 1.0; bf16 as '|V2'). The view must be in C order. Throws InputError as
/// write_new_file() does.
void write_npy(const std::string& path, const ArrayView& view);

/// Writes a new safetensors file. The views must be in C order and have different names.
void write_safetensors(const std::string& path, std::span<const std::pair<std::string, ArrayView>> tensors);

}  // namespace splitwave::base
