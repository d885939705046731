// SPDX-License-Identifier: Apache-2.0
#include "tests/support/refusing_new.h"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <new>

namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

std::atomic<std::int64_t> asked = 0;       // allocations since refuse_memory()
std::atomic<std::int64_t> first = kNever;  // the first that is refused
std::atomic<std::int64_t> last = 0;        // and the last

void* allocate(std::size_t bytes, std::size_t alignment) {
  const std::int64_t number = ++asked;
  if (number >= first && number <= last) return nullptr;
  const std::size_t whole = (bytes + alignment) / alignment * alignment;
  return alignment > alignof(std::max_align_t) ? std::aligned_alloc(alignment, whole) : std::malloc(whole);
}

void* allocate_or_throw(std::size_t bytes, std::size_t alignment) {
  void* const memory = allocate(bytes, alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t bytes) {
  return allocate_or_throw(bytes, 1);
}
void* operator new[](std::size_t bytes) {
  return allocate_or_throw(bytes, 1);
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocate_or_throw(bytes, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t bytes, const std::nothrow_t& /*nothrow*/) noexcept {
  return allocate(bytes, 1);
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete[](void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t /*bytes*/) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::size_t /*bytes*/) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t /*alignment*/) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t /*bytes*/, std::align_val_t /*alignment*/) noexcept {
  std::free(memory);
}
void operator delete(void* memory, const std::nothrow_t& /*nothrow*/) noexcept {
  std::free(memory);
}

namespace splitwave::testing {

void refuse_memory(std::int64_t from, std::int64_t to) {
  asked = 0;
  last = to;
  first = from;
}

std::int64_t give_memory() {
  first = kNever;
  return asked;
}

}  // namespace splitwave::testing
