// SPDX-License-Identifier: Apache-2.0
// Text that users wrote, made safe to read and to print.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace splitwave::base {

/// Largest file that is read, so that memory and time stay bounded. Units: bytes.
inline constexpr std::int64_t kMaxFileBytes = std::int64_t{64} << 20;

/// `text` as it may appear in an error message: printable ASCII as it is, other bytes as \xNN, and cut with "..."
/// after about `limit` characters.
std::string printable(std::string_view text, std::size_t limit = 60);

/// Offset of the first byte that is not part of valid UTF-8 (RFC 3629), or npos.
std::size_t invalid_utf8_at(std::string_view text);

/// Whether the text can stand in a line of a terminal, a table or a picture as it is: valid UTF-8 without control
/// characters (C0, DEL, C1) and without those that turn the direction of writing.
bool is_plain_line(std::string_view text);

/// `text` as it may appear in a line of a terminal: bytes of what is_plain_line() does not allow as \xNN.
std::string plain_line(std::string_view text);

/// A word as a POSIX shell reads it back: as it is where no letter means anything to a shell, else in single quotes.
std::string shell_word(std::string_view word);

/// The number that the whole text is, as std::from_chars reads one: a point whatever the locale, no spaces and no plus
/// before it; also "inf" and "nan". None if it is no number or beyond the range of double.
std::optional<double> number_in(std::string_view text);

/// The (at most three) names closest to `name` by edit distance, for "did you mean"; none if nothing is close.
std::vector<std::string> nearest_names(std::string_view name, const std::vector<std::string>& names);

/// "; did you mean a or b?", or nothing when no name is close. For the end of an error message.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& names);

/// The names, separated by ", ".
std::string join(const std::vector<std::string>& names);

/// Whether an argument that may be a name or a file is to be read as a file: it looks like a path, or there is one (a
/// folder of that name is none).
bool means_file(const std::string& name_or_file);

/// Reads a whole file. Throws InputError naming the file and the reason (missing, a directory, unreadable, not
/// UTF-8, larger than the limit).
std::string read_text_file(const std::string& path);

}  // namespace splitwave::base
