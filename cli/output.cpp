// SPDX-License-Identifier: Apache-2.0
#include "cli/output.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <system_error>

#include "base/error.h"
#include "base/text.h"

namespace splitwave::cli {
namespace {

bool coloured() {
  const char* no_color = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  return (no_color == nullptr || *no_color == '\0') && ::isatty(STDERR_FILENO) == 1 && terminal != nullptr &&
         std::string_view(terminal) != "dumb";
}

/// What cannot be told is not told: the exit status stays.
void tell(const std::string& line) {
  static_cast<void>(std::fwrite(line.data(), 1, line.size(), stderr));
}

}  // namespace

void print(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) {
    return;
  }
  if (errno == EPIPE) {
    throw ClosedPipe{};
  }
  throw base::InputError(fmt::format("standard output: cannot write: {}; allowed: a stream with free space",
                                     std::generic_category().message(errno)));
}

void note(std::string_view text) {
  tell(fmt::format("splitwave: {}\n", base::plain_line(text)));
}

void complain(std::string_view text) {
  tell(fmt::format("{}splitwave:{} {}\n", coloured() ? "\x1b[31m" : "", coloured() ? "\x1b[0m" : "",
                   base::plain_line(text)));
}

}  // namespace splitwave::cli
