// SPDX-License-Identifier: Apache-2.0
#include "cpu_reference/cold_memory.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <fstream>
#include <string>

#include "base/error.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "cpu_reference/measure.h"

#if defined(SPLITWAVE_X86)
#include <cpuid.h>
#endif

namespace splitwave::cpu_reference {
namespace {

constexpr std::int64_t kMegabyte = 1 << 20;

/// Bytes of last-level cache that this computer's processors have in all, as Linux shows them: what sysconf says on AMD
/// is the whole package's, of which a virtual machine may have a twelfth. 0 if Linux shows nothing.
std::int64_t last_level_cache_bytes() {
  double bytes = 0;
  for (long cpu = 0; cpu < sysconf(_SC_NPROCESSORS_CONF); ++cpu) {
    const std::string cache = "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/cache/index3/";
    std::ifstream size_file(cache + "size");
    std::ifstream map_file(cache + "shared_cpu_map");
    double kilobytes = 0;
    std::string map;
    if (!(size_file >> kilobytes) || !(map_file >> map)) continue;
    int sharers = 0;
    for (const char digit : map) {
      const int value = digit >= 'a' ? digit - 'a' + 10 : digit == ',' ? 0 : digit - '0';
      sharers += std::popcount(static_cast<unsigned>(value));
    }
    bytes += kilobytes * 1024 / std::max(1, sharers);
  }
  return static_cast<std::int64_t>(bytes);
}

workloads::Bytes make_cold_memory() {
  std::int64_t cache = last_level_cache_bytes();
  if (cache == 0) cache = std::max<std::int64_t>(sysconf(_SC_LEVEL3_CACHE_SIZE), 0);
  const std::int64_t bytes = std::clamp(3 * cache, 64 * kMegabyte, 1024 * kMegabyte);
  if (const std::int64_t available = base::available_memory_bytes(); bytes > available) {
    throw base::MissingError(fmt::format(
        "timing on this CPU needs {} bytes of memory to flush its caches; allowed: at most {}", bytes, available));
  }
  return workloads::Bytes(static_cast<std::size_t>(bytes), std::byte{1});
}

#if defined(SPLITWAVE_X86)
constexpr std::size_t kLineBytes = 64;

bool has_clflushopt() {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & bit_CLFLUSHOPT) != 0;
}

/// Flushes the lines [first, end) of the bytes, which begin on a line. (The instruction writes back and changes
/// nothing.)
[[gnu::target("clflushopt")]] void flush_lines(const workloads::Bytes& bytes, std::size_t first, std::size_t end) {
  for (std::size_t line = first; line < end; ++line) {
    __builtin_ia32_clflushopt(const_cast<std::byte*>(bytes.data() + line * kLineBytes));
  }
  __builtin_ia32_sfence();
}

/// Takes the tensors out of the caches of all processors. False if this one cannot.
bool flush(const workloads::Tensors& tensors, int threads) {
  static const bool can = has_clflushopt();
  if (!can) return false;
  base::parallel(threads, [&](int thread, int team) {
    for (const workloads::Bytes* bytes : {&tensors.q, &tensors.k, &tensors.v}) {
      const std::size_t lines = (bytes->size() + kLineBytes - 1) / kLineBytes;
      flush_lines(*bytes, lines * static_cast<std::size_t>(thread) / static_cast<std::size_t>(team),
                  lines * static_cast<std::size_t>(thread + 1) / static_cast<std::size_t>(team));
    }
  });
  return true;
}
#else
bool flush(const workloads::Tensors& /*tensors*/, int /*threads*/) {
  return false;
}
#endif

}  // namespace

std::span<const std::byte> cold_memory() {
  static const workloads::Bytes memory = make_cold_memory();
  return memory;
}

void evict(const workloads::Tensors& tensors, int threads) {
  if (!flush(tensors, threads)) read_seconds(cold_memory(), threads);
  wake_threads(threads);
}

}  // namespace splitwave::cpu_reference
