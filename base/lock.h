// SPDX-License-Identifier: Apache-2.0
// One process at a time in a folder of results.
#pragma once

#include <filesystem>

namespace splitwave::base {

/// Holds a file or folder, which must exist, against other processes and other locks of this one until it is destroyed;
/// the system lets go of it when the process ends, however that comes. Where a file system knows no such locks, it
/// holds nothing.
class Lock {
 public:
  enum class Kind { shared, exclusive };

  /// Throws InputError naming the path if somebody holds it: anybody for an exclusive lock, an exclusive holder for a
  /// shared one.
  Lock(const std::filesystem::path& path, Kind kind);
  ~Lock();
  Lock(Lock&& other) noexcept;
  Lock& operator=(Lock&&) = delete;
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  int descriptor_ = -1;
};

}  // namespace splitwave::base
