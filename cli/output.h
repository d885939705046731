// SPDX-License-Identifier: Apache-2.0
// The two streams: results go to standard output, everything else is one line on standard error.
#pragma once

#include <string_view>

namespace splitwave::cli {

/// Standard output was closed by its reader (head, a pager): the program ends quietly, as if SIGPIPE had ended it.
struct ClosedPipe {};

/// Writes `text` to standard output at once. Throws InputError if that fails (a full disk), ClosedPipe if nobody reads.
void print(std::string_view text);

/// Writes "splitwave: TEXT" and a newline to standard error; TEXT as base::plain_line() has it.
void note(std::string_view text);

/// note() for an error: red on a terminal unless NO_COLOR is set (no-color.org).
void complain(std::string_view text);

}  // namespace splitwave::cli
