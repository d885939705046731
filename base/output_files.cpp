// SPDX-License-Identifier: Apache-2.0
#include "base/output_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>
#include <utility>

#include "base/error.h"

namespace splitwave::base {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const fs::path& path, int error) {
  if (error == EEXIST) {
    throw InputError(fmt::format("{}: exists and is not replaced; allowed: another name or folder", path.string()));
  }
  throw InputError(fmt::format("{}: cannot write: {}; allowed: a writable place with free space", path.string(),
                               std::generic_category().message(error)));
}

/// Writes everything, or returns errno.
int write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0) {
      if (errno == EINTR) {
        continue;
      }
      return errno;
    }
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

}  // namespace

void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    refuse(folder, error.value());
  }
  if (!fs::is_directory(folder, error)) {
    refuse(folder, ENOTDIR);
  }
}

void expect_writable(const fs::path& folder) {
  std::error_code ignored;  // what cannot be looked at cannot be written either
  fs::path there = fs::absolute(folder, ignored);
  while (!fs::exists(there, ignored) && there.has_relative_path()) there = there.parent_path();
  if (!fs::is_directory(there, ignored)) refuse(there, ENOTDIR);
  if (::access(there.c_str(), W_OK | X_OK) != 0) refuse(there, errno);
}

void write_file(const fs::path& path, std::string_view text) {
  write_file(path, std::span(&text, 1));
}

void write_file(const fs::path& path, std::span<const std::string_view> parts) {
  std::error_code ignored;  // what is wrong with the place is told by making the file
  if (fs::is_directory(path, ignored)) {
    refuse(path, EISDIR);
  }
  std::string temporary = path.string() + ".XXXXXX";
  const int descriptor = ::mkostemp(temporary.data(), O_CLOEXEC);
  if (descriptor < 0) {
    refuse(path, errno);
  }
  int error = 0;
  for (const std::string_view part : parts) {
    if (error == 0) error = write_all(descriptor, part);
  }
  // mkostemp makes files that only their owner reads; a result is for everybody the umask allows.
  const mode_t mask = ::umask(0);
  ::umask(mask);
  if (error == 0 && (::fchmod(descriptor, 0666 & ~mask) != 0 || ::fsync(descriptor) != 0)) {
    error = errno;
  }
  if (::close(descriptor) != 0 && error == 0) {
    error = errno;
  }
  if (error == 0 && ::rename(temporary.c_str(), path.c_str()) != 0) {
    error = errno;
  }
  if (error != 0) {
    ::unlink(temporary.c_str());
    refuse(path, error);
  }
}

void expect_absent(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::symlink_status(path, error);
  if (status.type() == fs::file_type::none) {
    refuse(path, error.value());
  }
  if (fs::exists(status)) {
    refuse(path, EEXIST);
  }
}

void expect_new_file(const fs::path& path) {
  expect_absent(path);
  const fs::path folder = path.has_parent_path() ? path.parent_path() : ".";
  std::error_code ignored;  // what keeps the folder from being looked at keeps it from being written into
  const fs::file_status status = fs::status(folder, ignored);
  if (fs::exists(status) && !fs::is_directory(status)) refuse(path, ENOTDIR);
  if (::access(folder.c_str(), W_OK | X_OK) != 0) refuse(path, errno);
}

void write_new_file(const fs::path& path, std::string_view text) {
  expect_absent(path);
  write_file(path, text);
}

void write_new_file(const fs::path& path, std::span<const std::string_view> parts) {
  expect_absent(path);
  write_file(path, parts);
}

GrowingFile::GrowingFile(fs::path path) : path_(std::move(path)), partial_(path_.string() + ".partial") {
  expect_absent(path_);
  // Refused by the call itself, as another process may come between a look and it.
  descriptor_ = ::open(partial_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor_ < 0) {
    refuse(partial_, errno);
  }
}

GrowingFile::~GrowingFile() {
  if (descriptor_ >= 0) {
    ::close(descriptor_);
  }
}

void GrowingFile::append(std::string_view line) {
  text_.assign(line);
  text_ += '\n';
  int error = write_all(descriptor_, text_);
  const auto now = std::chrono::steady_clock::now();
  if (error == 0 && now - synced_ > std::chrono::seconds(1)) {
    error = ::fdatasync(descriptor_) == 0 ? 0 : errno;
    synced_ = now;
  }
  if (error != 0) {
    if (::ftruncate(descriptor_, size_) != 0) {
      error = errno;
    }
    refuse(partial_, error);
  }
  size_ += static_cast<std::int64_t>(line.size()) + 1;
}

void GrowingFile::finish() {
  if (::fdatasync(descriptor_) != 0 || ::close(std::exchange(descriptor_, -1)) != 0 ||
      ::rename(partial_.c_str(), path_.c_str()) != 0) {
    refuse(path_, errno);
  }
}

}  // namespace splitwave::base
