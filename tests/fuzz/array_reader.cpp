// SPDX-License-Identifier: Apache-2.0
// A libFuzzer target for one of the readers of arrays, SPLITWAVE_FUZZ_READER: whatever bytes a file holds, it is read
// or InputError names it in one line, and what was read is the same after it is written and read again. Run by
// scripts/fuzz.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/array_files.h"
#include "base/error.h"
#include "base/text.h"

namespace splitwave::base {
namespace {

void expect(bool holds) {
  if (!holds) std::abort();
}

/// A file in memory: disks are slow.
class MemoryFile {
 public:
  MemoryFile(const std::uint8_t* data, std::size_t size) : descriptor_(::memfd_create("fuzz", MFD_CLOEXEC)) {
    expect(descriptor_ >= 0 && ::write(descriptor_, data, size) == static_cast<ssize_t>(size));
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() { ::close(descriptor_); }
  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

/// Where what was read is written: a file of this process that is not there.
std::string written_path() {
  const auto path = std::filesystem::temp_directory_path() / ("splitwave_fuzz_" + std::to_string(::getpid()));
  std::filesystem::remove(path);
  return path.string();
}

void expect_same(const ArrayView& a, const ArrayView& b) {
  expect(a.type == b.type && a.shape == b.shape && is_c_order(a) && is_c_order(b));
  const auto bytes = static_cast<std::size_t>(a.size() * bytes_per_element(a.type));
  // Every element is touched, so that one outside of its memory shows.
  expect(bytes == 0 || std::memcmp(a.data, b.data, bytes) == 0);
}

[[maybe_unused]] void npy(const std::string& path) {
  for (const std::optional<ElementType> sixteen_bits : {std::optional<ElementType>(), {ElementType::bf16}}) {
    const Array read = read_npy(path, sixteen_bits);
    const std::string again = written_path();
    write_npy(again, read.view);
    expect_same(read.view, read_npy(again).view);
    std::filesystem::remove(again);
  }
}

[[maybe_unused]] void safetensors(const std::string& path) {
  const std::vector<NamedArray> read = read_safetensors(path);
  std::vector<std::pair<std::string, ArrayView>> views;
  for (const NamedArray& one : read) views.emplace_back(one.name, one.array.view);
  const std::string again = written_path();
  write_safetensors(again, views);
  const std::vector<NamedArray> back = read_safetensors(again);
  expect(back.size() == read.size());
  for (std::size_t i = 0; i < read.size(); ++i) {
    expect(back[i].name == read[i].name);
    expect_same(read[i].array.view, back[i].array.view);
  }
  std::filesystem::remove(again);
}

}  // namespace
}  // namespace splitwave::base

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const splitwave::base::MemoryFile file(data, size);
  try {
    splitwave::base::SPLITWAVE_FUZZ_READER(file.path());
  } catch (const splitwave::base::InputError& error) {
    splitwave::base::expect(splitwave::base::is_plain_line(error.what()));
  }
  return 0;
}
