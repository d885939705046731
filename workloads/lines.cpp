// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

#include "workloads/tensors.h"

namespace splitwave::workloads {
namespace {

constexpr std::size_t kLineBytes = 64;
/// A huge page of x86-64, and of Arm with pages of 4 KiB.
constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;

/// By so much every other large block begins behind its first page. K and V are allocated one after the other and read
/// row by row together: at the same place of their pages they would get in each other's way in the caches.
constexpr std::size_t kApartBytes = 1024;

bool is_large(std::size_t bytes) {
  return bytes >= kHugePageBytes;
}

}  // namespace

void* allocate_lines(std::size_t bytes) {
  if (!is_large(bytes)) return ::operator new (bytes, std::align_val_t{kLineBytes});
  static std::atomic<unsigned> blocks = 0;
  const std::size_t apart = blocks++ % 2 * kApartBytes;
  void* const memory = ::operator new (bytes + apart, std::align_val_t{kHugePageBytes});
#ifdef MADV_HUGEPAGE
  ::madvise(memory, bytes + apart, MADV_HUGEPAGE);  // where it fails, it is slower and right all the same
#endif
  return static_cast<std::byte*>(memory) + apart;
}

void free_lines(void* memory, std::size_t bytes) {
  if (!is_large(bytes)) return ::operator delete (memory, std::align_val_t{kLineBytes});
  const std::size_t apart = reinterpret_cast<std::uintptr_t>(memory) % kHugePageBytes;
  ::operator delete (static_cast<std::byte*>(memory) - apart, std::align_val_t{kHugePageBytes});
}

}  // namespace splitwave::workloads
