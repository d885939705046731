// SPDX-License-Identifier: Apache-2.0
#include "base/memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

namespace splitwave::base {

namespace {

constexpr std::int64_t kUnknown = std::numeric_limits<std::int64_t>::max();

// The number a file of one number holds; "max" and an absent file mean no limit.
std::int64_t number_in(const char* path) {
  std::ifstream file(path);
  std::int64_t number = 0;
  return file >> number ? number : kUnknown;
}

// What the control group of a container leaves. The file of inactive pages is given back under pressure.
std::int64_t control_group_bytes() {
  const std::int64_t limit = number_in("/sys/fs/cgroup/memory.max");
  const std::int64_t used = number_in("/sys/fs/cgroup/memory.current");
  if (limit == kUnknown || used == kUnknown) return kUnknown;
  std::ifstream statistics("/sys/fs/cgroup/memory.stat");
  std::string key;
  std::int64_t value = 0;
  std::int64_t reclaimable = 0;
  while (statistics >> key >> value) {
    if (key == "inactive_file") reclaimable = value;
  }
  return std::max<std::int64_t>(0, limit - used + reclaimable);
}

std::int64_t kernel_bytes() {
  std::ifstream info("/proc/meminfo");
  std::string key;
  std::string rest;
  std::int64_t kibibytes = 0;
  while (info >> key >> kibibytes && std::getline(info, rest)) {
    if (key == "MemAvailable:") return kibibytes * 1024;
  }
  return kUnknown;
}

/// What a limit of this process leaves. `used`: which number of /proc/self/statm (in pages) counts towards it.
std::int64_t limit_bytes(__rlimit_resource resource, int used) {
  rlimit limit{};
  if (::getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kUnknown;
  std::ifstream numbers("/proc/self/statm");
  std::int64_t pages = 0;
  for (int i = 0; i <= used; ++i) numbers >> pages;
  return std::max<std::int64_t>(0, static_cast<std::int64_t>(limit.rlim_cur) - pages * ::sysconf(_SC_PAGESIZE));
}

}  // namespace

std::int64_t available_memory_bytes() {
  constexpr int kAllPages = 0;
  constexpr int kDataPages = 5;
  return std::min(
      {kernel_bytes(), control_group_bytes(), limit_bytes(RLIMIT_AS, kAllPages), limit_bytes(RLIMIT_DATA, kDataPages)});
}

}  // namespace splitwave::base
