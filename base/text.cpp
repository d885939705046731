// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <numeric>
#include <system_error>
#include <utility>

#include "base/error.h"

namespace splitwave::base {

namespace {

bool is_continuation(std::string_view text, std::size_t at) {
  return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80;
}

// Bytes of the well-formed UTF-8 sequence that begins at `at`, or 0.
std::size_t sequence_length(std::string_view text, std::size_t at) {
  const auto first = static_cast<unsigned char>(text[at]);
  if (first < 0x80) return 1;
  const unsigned second = at + 1 < text.size() ? static_cast<unsigned char>(text[at + 1]) : 0U;
  std::size_t length = 0;
  if (first >= 0xc2 && first <= 0xdf) length = 2;
  if (first >= 0xe0 && first <= 0xef) length = 3;
  if (first >= 0xf0 && first <= 0xf4) length = 4;
  if (first == 0xe0 && second < 0xa0) return 0;  // overlong
  if (first == 0xed && second > 0x9f) return 0;  // surrogates
  if (first == 0xf0 && second < 0x90) return 0;  // overlong
  if (first == 0xf4 && second > 0x8f) return 0;  // beyond U+10FFFF
  for (std::size_t i = 1; i < length; ++i) {
    if (!is_continuation(text, at + i)) return 0;
  }
  return length;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

[[noreturn]] void refuse(const std::string& path, std::string_view reason) {
  throw InputError(fmt::format("{}: {}", printable(path, 200), reason));
}

}  // namespace

std::string printable(std::string_view text, std::size_t limit) {
  std::string result;
  for (const char c : text) {
    if (result.size() >= limit) return result + "...";
    if (c >= ' ' && c <= '~') {
      result += c;
    } else {
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  return result;
}

std::optional<double> number_in(std::string_view text) {
  double number = 0;
#if defined(__cpp_lib_to_chars)
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
#else  // Emscripten's library, which knows no locale but C
  const std::string copy(text);
  // What strtod takes besides: spaces and a plus before the number, and hexadecimal ones.
  if (copy.find_first_of(" \t\n\v\f\r+") == 0 || copy.find_first_of("xX") != std::string::npos) return std::nullopt;
  char* end = nullptr;
  errno = 0;
  number = std::strtod(copy.c_str(), &end);
  if (copy.empty() || end != copy.c_str() + copy.size() || errno == ERANGE) return std::nullopt;
#endif
  return number;
}

std::size_t invalid_utf8_at(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = sequence_length(text, at);
    if (length == 0) return at;
    at += length;
  }
  return std::string_view::npos;
}

bool is_plain_line(std::string_view text) {
  if (invalid_utf8_at(text) != std::string_view::npos) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(i + k < text.size() ? text[i + k] : 0); };
    if (byte(0) < 0x20 || byte(0) == 0x7f) return false;
    if (byte(0) == 0xc2 && byte(1) < 0xa0) return false;   // U+0080 to U+009F
    if (byte(0) == 0xd8 && byte(1) == 0x9c) return false;  // U+061C
    if (byte(0) != 0xe2) continue;
    if (byte(1) == 0x80 && (byte(2) == 0x8e || byte(2) == 0x8f || (byte(2) >= 0xa8 && byte(2) <= 0xae))) return false;
    if (byte(1) == 0x81 && byte(2) >= 0xa6 && byte(2) <= 0xa9) return false;
  }
  return true;
}

std::string plain_line(std::string_view text) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = std::max<std::size_t>(1, sequence_length(text, at));
    const std::string_view character = text.substr(at, length);
    if (is_plain_line(character)) {
      result += character;
    } else {
      for (const char byte : character) result += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
    }
    at += length;
  }
  return result;
}

std::vector<std::string> nearest_names(std::string_view name, const std::vector<std::string>& names) {
  constexpr std::size_t kLongestName = 100;  // the distance costs the product of the lengths
  if (name.empty() || name.size() > kLongestName) return {};
  std::vector<std::pair<std::size_t, std::string>> ranked;
  for (const std::string& candidate : names) {
    const std::size_t distance = edit_distance(name, candidate);
    if (distance <= std::max<std::size_t>(2, name.size() / 3)) ranked.emplace_back(distance, candidate);
  }
  std::sort(ranked.begin(), ranked.end());
  std::vector<std::string> nearest;
  for (std::size_t i = 0; i < std::min<std::size_t>(3, ranked.size()); ++i) nearest.push_back(ranked[i].second);
  return nearest;
}

std::string shell_word(std::string_view word) {
  if (!word.empty() &&
      word.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./=:,+@%") ==
          std::string_view::npos) {
    return std::string(word);
  }
  std::string result = "'";
  for (const char letter : word) {
    if (letter == '\'') {
      result += "'\\''";
    } else {
      result += letter;
    }
  }
  return result + "'";
}

std::string join(const std::vector<std::string>& names) {
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string did_you_mean(std::string_view name, const std::vector<std::string>& names) {
  std::vector<std::string> nearest = nearest_names(name, names);
  if (nearest.empty()) return "";
  for (std::string& one : nearest) one = printable(one, 200);  // names may come from a file, as columns of CSV do
  return fmt::format("; did you mean {}?", fmt::join(nearest, " or "));
}

bool means_file(const std::string& name_or_file) {
  std::error_code ignored;
  const bool looks_like_path = name_or_file.find('/') != std::string::npos || name_or_file.ends_with(".json");
  return looks_like_path ||
         (std::filesystem::exists(name_or_file, ignored) && !std::filesystem::is_directory(name_or_file, ignored));
}

std::string read_text_file(const std::string& path) {
  struct stat status {};
  if (path.find('\0') != std::string::npos) refuse(path, "a file name may not contain a NUL byte");
  if (stat(path.c_str(), &status) != 0) refuse(path, fmt::format("cannot be read: {}", std::strerror(errno)));
  if (S_ISDIR(status.st_mode)) refuse(path, "is a directory; a file is needed");
  // A FIFO or a device could block or never end.
  if (!S_ISREG(status.st_mode)) refuse(path, "is not a regular file");
  if (status.st_size > kMaxFileBytes) {
    refuse(path, fmt::format("has {} bytes; at most {} are read", status.st_size, kMaxFileBytes));
  }
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
  if (!file) refuse(path, fmt::format("cannot be read: {}", std::strerror(errno)));
  // One byte more than allowed shows a file that grew since stat.
  std::string text(static_cast<std::size_t>(status.st_size) + 1, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  if (std::ferror(file.get()) != 0) refuse(path, "cannot be read to its end");
  if (static_cast<std::int64_t>(text.size()) > status.st_size) refuse(path, "changed while it was read");
  if (text.empty()) refuse(path, "is empty");
  if (const std::size_t at = invalid_utf8_at(text); at != std::string::npos) {
    refuse(path, fmt::format("is not UTF-8: byte 0x{:02x} at offset {}", static_cast<unsigned char>(text[at]), at));
  }
  if (const std::size_t at = text.find('\0'); at != std::string::npos) {
    refuse(path, fmt::format("holds a NUL byte at offset {}", at));
  }
  return text;
}

}  // namespace splitwave::base
