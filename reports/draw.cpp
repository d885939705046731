// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>

#include <cerrno>
#include <system_error>

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

std::string draw_all(const std::vector<Figure>& figures, const fs::path& aside, const fs::path& folder) {
  for (const Figure& figure : figures) {
    const int error = run_gnuplot(aside, figure.name + ".gnuplot");
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
