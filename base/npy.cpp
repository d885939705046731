// SPDX-License-Identifier: Apache-2.0
// The npy format (numpy/lib/format.py): magic, version, length of the header, a Python dictionary, the elements.
#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstring>

#include "base/array_bytes.h"
#include "base/array_files.h"
#include "base/output_files.h"
#include "base/text.h"

namespace splitwave::base {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

struct Descr {
  std::string_view text;
  ElementType type;
};
constexpr std::array<Descr, 9> kDescr = {{{"<f8", ElementType::f64},
                                          {"<f4", ElementType::f32},
                                          {"<f2", ElementType::f16},
                                          {"|V2", ElementType::bf16},
                                          {"<V2", ElementType::bf16},
                                          {"<i8", ElementType::i64},
                                          {"<i4", ElementType::i32},
                                          {"|b1", ElementType::boolean},
                                          {"<b1", ElementType::boolean}}};

/// The dictionary's text, read from left to right.
class Header {
 public:
  Header(const std::string& path, std::string_view text) : path_(path), rest_(text) {}

  bool take(char letter) {
    skip_spaces();
    if (rest_.empty() || rest_.front() != letter) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void expect(char letter) {
    if (!take(letter)) refuse(fmt::format("a {} is missing", letter));
  }
  std::string quoted() {
    skip_spaces();
    const char quote = rest_.empty() ? '\0' : rest_.front();
    if (quote != '\'' && quote != '"') refuse("a text in quotes is missing");
    const std::size_t end = rest_.find(quote, 1);
    if (end == std::string_view::npos || end > 60) refuse("a text has no end");
    const std::string text(rest_.substr(1, end - 1));
    rest_.remove_prefix(end + 1);
    return text;
  }
  bool boolean() {
    skip_spaces();
    for (const auto& [word, value] : {std::pair<std::string_view, bool>{"False", false}, {"True", true}}) {
      if (rest_.starts_with(word)) {
        rest_.remove_prefix(word.size());
        return value;
      }
    }
    refuse("fortran_order is neither True nor False");
  }
  std::vector<std::int64_t> shape() {
    std::vector<std::int64_t> extents;
    expect('(');
    while (!take(')')) {
      std::int64_t extent = 0;
      skip_spaces();
      const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), extent);
      if (error != std::errc() || extent < 0) refuse("an extent of shape is no integer from 0 to 2^63 - 1");
      rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
      extents.push_back(extent);
      if (extents.size() > kMaxAxes) refuse(fmt::format("shape has more than {} axes", kMaxAxes));
      if (!take(',')) {
        expect(')');
        // (3) is a number in Python, but numpy 1.x wrote (3,) always.
        if (extents.size() == 1) refuse("shape is no tuple");
        break;
      }
    }
    return extents;
  }
  void end() {
    skip_spaces();
    if (!rest_.empty()) refuse("something follows the dictionary");
  }
  [[noreturn]] void refuse(const std::string& problem) const {
    refuse_file(path_, fmt::format("its npy header is not valid: {}; allowed: {{'descr': '<f4', 'fortran_order': "
                                   "False, 'shape': (2, 3), }}",
                                   problem));
  }

 private:
  void skip_spaces() {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\n')) rest_.remove_prefix(1);
  }
  const std::string& path_;
  std::string_view rest_;
};

struct HeaderFields {
  std::optional<std::string> descr;
  std::optional<bool> fortran_order;
  std::optional<std::vector<std::int64_t>> shape;
};

HeaderFields read_fields(const std::string& path, std::string_view text) {
  Header header(path, text);
  HeaderFields fields;
  header.expect('{');
  while (!header.take('}')) {
    const std::string key = header.quoted();
    header.expect(':');
    if (key == "descr" && !fields.descr) {
      fields.descr = header.quoted();
    } else if (key == "fortran_order" && !fields.fortran_order) {
      fields.fortran_order = header.boolean();
    } else if (key == "shape" && !fields.shape) {
      fields.shape = header.shape();
    } else {
      header.refuse(fmt::format("key {} is unknown or there twice", printable(key)));
    }
    if (!header.take(',')) {
      header.expect('}');
      break;
    }
  }
  header.end();
  if (!fields.descr || !fields.fortran_order || !fields.shape) header.refuse("a key is missing");
  return fields;
}

ElementType type_of(const std::string& path, const std::string& descr, std::optional<ElementType> sixteen_bits) {
  for (const Descr& row : kDescr) {
    if (row.text == descr) return row.type;
  }
  const bool integers = descr == "<u2" || descr == "<i2";
  if (integers && sixteen_bits) return *sixteen_bits;
  refuse_file(path, fmt::format("descr is {}; allowed: <f8, <f4, <f2, <i8, <i4, |b1, |V2 (bf16){}", printable(descr),
                                integers ? ", or 16-bit integers whose dtype is stated" : ""));
}

std::string_view descr_of(ElementType type) {
  for (const Descr& row : kDescr) {
    if (row.type == type) return row.text;
  }
  return "";
}

}  // namespace

Array read_npy(const std::string& path, std::optional<ElementType> sixteen_bits) {
  const FileBytes file = read_bytes(path);
  if (file.size < 10 || file.text(0, 6) != kMagic)
    refuse_file(path, "is no npy file: it does not begin with \\x93NUMPY");
  const int version = std::to_integer<int>(file.memory[6]);
  if (version < 1 || version > 3 || std::to_integer<int>(file.memory[7]) != 0) {
    refuse_file(path, fmt::format("is of npy format {}.{}; allowed: 1.0, 2.0, 3.0", version,
                                  std::to_integer<int>(file.memory[7])));
  }
  const std::int64_t length_bytes = version == 1 ? 2 : 4;
  std::uint32_t length = 0;
  if (file.size < 8 + length_bytes) refuse_file(path, "ends within its header");
  std::memcpy(&length, file.memory.get() + 8, static_cast<std::size_t>(length_bytes));
  const std::int64_t begin = 8 + length_bytes + length;
  if (length > kMaxArrayHeaderBytes) {
    refuse_file(path, fmt::format("has a header of {} bytes; allowed: at most {}", length, kMaxArrayHeaderBytes));
  }
  if (begin > file.size) refuse_file(path, "ends within its header");
  const HeaderFields fields = read_fields(path, file.text(8 + length_bytes, length));
  const ElementType type = type_of(path, *fields.descr, sixteen_bits);
  const bool one_axis = fields.shape->size() <= 1;
  if (*fields.fortran_order && !one_axis) {
    refuse_file(path, "is in Fortran order; allowed: C order (numpy.ascontiguousarray)");
  }
  return array_in(path, "", file, begin, file.size - begin, type, *fields.shape);
}

void write_npy(const std::string& path, const ArrayView& view) {
  std::string shape = fmt::format("({}{})", fmt::join(view.shape, ", "), view.rank() == 1 ? "," : "");
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}", descr_of(view.type), shape);
  // The elements begin at a multiple of 64, as numpy has it.
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  const auto length = static_cast<std::uint16_t>(header.size());
  std::string start(kMagic);
  start += {'\x01', '\x00', static_cast<char>(length & 0xff), static_cast<char>(length >> 8)};
  const std::array<std::string_view, 3> parts = {start, header, bytes_of(view)};
  write_new_file(path, parts);
}

}  // namespace splitwave::base
