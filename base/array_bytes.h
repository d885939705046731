// SPDX-License-Identifier: Apache-2.0
// What the readers of array files share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/array.h"

namespace splitwave::base {

/// A file in memory. Reading copies it, as a mapping would end the program where the file shrinks meanwhile.
struct FileBytes {
  std::shared_ptr<std::byte[]> memory;
  std::int64_t size = 0;
  std::string_view text(std::int64_t begin, std::int64_t length) const {
    return {reinterpret_cast<const char*>(memory.get()) + begin, static_cast<std::size_t>(length)};
  }
};

/// Throws InputError if the file is no regular file, cannot be read, or is larger than the memory that is free.
FileBytes read_bytes(const std::string& path);

/// An array inside a file's bytes: throws InputError "PATH: ..." unless `length` bytes from `begin` are just what the
/// shape takes. `name` says which array; it may be empty.
Array array_in(const std::string& path, const std::string& name, const FileBytes& file, std::int64_t begin,
               std::int64_t length, ElementType type, std::vector<std::int64_t> shape);

/// Throws InputError "PATH: PROBLEM".
[[noreturn]] void refuse_file(const std::string& path, const std::string& problem);

/// The bytes of a view in C order.
std::string_view bytes_of(const ArrayView& view);

}  // namespace splitwave::base
