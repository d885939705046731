// SPDX-License-Identifier: Apache-2.0
#include "base/array_bytes.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "base/array_files.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"

namespace splitwave::base {
namespace {

/// Closes itself.
struct Descriptor {
  int value = -1;
  explicit Descriptor(int opened) : value(opened) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (value >= 0) ::close(value);
  }
};

}  // namespace

void refuse_file(const std::string& path, const std::string& problem) {
  throw InputError(printable(path, 400) + ": " + problem);
}

FileBytes read_bytes(const std::string& path) {
  // Without O_NONBLOCK, opening a FIFO waits for somebody to write.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.value < 0) refuse_file(path, fmt::format("cannot be read: {}", std::strerror(errno)));
  struct stat status {};
  if (::fstat(file.value, &status) != 0) refuse_file(path, fmt::format("cannot be read: {}", std::strerror(errno)));
  if (S_ISDIR(status.st_mode)) refuse_file(path, "is a directory; a file is needed");
  if (!S_ISREG(status.st_mode)) refuse_file(path, "is not a regular file");
  if (status.st_size > available_memory_bytes()) {
    refuse_file(path, fmt::format("has {} bytes; allowed: at most {}, the memory that is free", status.st_size,
                                  available_memory_bytes()));
  }
  FileBytes bytes;
  bytes.memory = std::make_shared_for_overwrite<std::byte[]>(static_cast<std::size_t>(status.st_size));
  while (bytes.size < status.st_size) {
    const ssize_t got =
        ::read(file.value, bytes.memory.get() + bytes.size, static_cast<std::size_t>(status.st_size - bytes.size));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) refuse_file(path, fmt::format("cannot be read: {}", std::strerror(errno)));
    if (got == 0) refuse_file(path, "changed while it was read");
    bytes.size += got;
  }
  return bytes;
}

Array array_in(const std::string& path, const std::string& name, const FileBytes& file, std::int64_t begin,
               std::int64_t length, ElementType type, std::vector<std::int64_t> shape) {
  const std::string who = name.empty() ? "" : "tensor " + printable(name) + ": ";
  if (shape.size() > kMaxAxes) {
    refuse_file(path, fmt::format("{}shape has {} axes; allowed: at most {}", who, shape.size(), kMaxAxes));
  }
  const std::optional<std::int64_t> count = element_count(shape, type);
  if (!count)
    refuse_file(path, fmt::format("{}shape {} is too large; allowed: less than 2^63 bytes", who, shape_text(shape)));
  const std::int64_t needed = *count * bytes_per_element(type);
  if (needed != length) {
    refuse_file(path, fmt::format("{}shape {} of {} takes {} bytes, but {} are there; allowed: just as many", who,
                                  shape_text(shape), to_string(type), needed, length));
  }
  Array array;
  array.memory = std::shared_ptr<const std::byte>(file.memory, file.memory.get() + begin);
  array.view = c_order_view(file.memory.get() + begin, type, std::move(shape));
  return array;
}

std::string_view bytes_of(const ArrayView& view) {
  if (!is_c_order(view)) throw std::logic_error("an array to be written is not in C order");
  return {reinterpret_cast<const char*>(view.data),
          static_cast<std::size_t>(view.size() * bytes_per_element(view.type))};
}

Array read_raw(const std::string& path, ElementType type, std::vector<std::int64_t> shape) {
  const FileBytes file = read_bytes(path);
  return array_in(path, "", file, 0, file.size, type, std::move(shape));
}

}  // namespace splitwave::base
