// SPDX-License-Identifier: Apache-2.0
#include "base/lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/text.h"

namespace splitwave::base {

Lock::Lock(const std::filesystem::path& path, Kind kind) : descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
  if (descriptor_ < 0) {
    throw InputError(
        fmt::format("{}: cannot be read: {}", printable(path.string(), 200), std::generic_category().message(errno)));
  }
  if (::flock(descriptor_, (kind == Kind::shared ? LOCK_SH : LOCK_EX) | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    ::close(descriptor_);
    throw InputError(fmt::format("{}: another process is at work there; allowed: to wait for its end, or another place",
                                 printable(path.string(), 200)));
  }
}

Lock::~Lock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Lock::Lock(Lock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

}  // namespace splitwave::base
