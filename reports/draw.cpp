// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <fstream>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/output_files.h"
#include "reports/figures.h"

extern char** environ;  // NOLINT(readability-redundant-declaration): POSIX leaves declaring it to the program

namespace splitwave::reports {
namespace {

namespace fs = std::filesystem;

/// Runs gnuplot on the script, from the folder it is in. Returns 0, an errno of starting it, or -1 if it failed.
int run_gnuplot(const fs::path& folder, const std::string& script) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  posix_spawn_file_actions_addopen(&actions, 0, script.c_str(), O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  std::string name = "gnuplot";
  char* arguments[] = {name.data(), nullptr};
  pid_t child = 0;
  const int error = posix_spawnp(&child, name.c_str(), &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    return error;
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) {
      return errno;
    }
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1;
}

/// The last bytes of `path`, or nothing.
std::string end_of(const fs::path& path) {
  constexpr std::uintmax_t kMost = 64;
  std::error_code error;
  const std::uintmax_t size = fs::file_size(path, error);
  std::ifstream file(path, std::ios::binary);
  if (error || !file) return "";
  std::string text(std::min(size, kMost), '\0');
  file.seekg(static_cast<std::streamoff>(size - text.size()));
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  return file ? text : "";
}

/// Removes the figure's pictures that lack their end, and names one: gnuplot does not tell of a full disk. Empty if
/// both are whole.
std::string remove_torn(const fs::path& folder, const std::string& figure) {
  std::string torn;
  for (const auto& [extension, end] : {std::pair(".png", "IEND"), std::pair(".svg", "</svg>")}) {
    const fs::path path = folder / (figure + extension);
    if (end_of(path).find(end) != std::string::npos) continue;
    std::error_code ignored;
    fs::remove(path, ignored);
    torn = path.filename().string();
  }
  return torn;
}

std::string draw_all(const std::vector<Figure>& figures, const fs::path& aside, const fs::path& folder) {
  for (const Figure& figure : figures) {
    const int error = run_gnuplot(aside, figure.name + ".gnuplot");
    const std::string torn = remove_torn(aside, figure.name);
    if (error == ENOENT) {
      return fmt::format(
          "no pictures: gnuplot is not installed (Debian package gnuplot-nox); then run gnuplot "
          "*.gnuplot in {}",
          folder.string());
    }
    if (error != 0) {
      return fmt::format("no pictures: gnuplot {}; run gnuplot {}.gnuplot in {} to see why",
                         error < 0 ? "failed" : "did not start: " + std::generic_category().message(error), figure.name,
                         folder.string());
    }
    if (!torn.empty()) {
      return fmt::format("no pictures: gnuplot wrote no whole {} (is the disk full?); run gnuplot {}.gnuplot in {}",
                         torn, figure.name, folder.string());
    }
  }
  return "";
}

}  // namespace

std::string draw(const std::vector<Figure>& figures, const fs::path& folder) {
  const fs::path aside = folder.string() + ".partial";
  base::make_folder(aside);
  for (const Figure& figure : figures) {
    base::write_file(aside / (figure.name + ".dat"), figure.data);
    base::write_file(aside / (figure.name + ".gnuplot"), figure.script);
  }
  std::string missing = draw_all(figures, aside, folder);
  std::error_code error;
  fs::rename(aside, folder, error);
  if (error) {
    throw base::InputError(fmt::format("{}: cannot write: {}; allowed: a writable place with free space",
                                       folder.string(), error.message()));
  }
  return missing;
}

}  // namespace splitwave::reports
