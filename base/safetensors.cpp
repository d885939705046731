// SPDX-License-Identifier: Apache-2.0
// The safetensors format (huggingface/safetensors, README.md): length of the header as 8 bytes, a JSON object, the
// elements. Its rules on offsets are checked: tensors cover the bytes after the header exactly, without gaps.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <set>

#include "base/array_bytes.h"
#include "base/array_files.h"
#include "base/document.h"
#include "base/error.h"
#include "base/fields.h"
#include "base/output_files.h"
#include "base/text.h"

#include <nlohmann/json.hpp>

namespace splitwave::base {
namespace {

struct TypeName {
  std::string_view text;
  ElementType type;
};
constexpr std::array<TypeName, 7> kTypes = {{{"F64", ElementType::f64},
                                             {"F32", ElementType::f32},
                                             {"F16", ElementType::f16},
                                             {"BF16", ElementType::bf16},
                                             {"I64", ElementType::i64},
                                             {"I32", ElementType::i32},
                                             {"BOOL", ElementType::boolean}}};
constexpr std::array<std::string_view, 3> kKeys = {"dtype", "shape", "data_offsets"};

struct Entry {
  std::string name;
  ElementType type = ElementType::f32;
  std::vector<std::int64_t> shape;
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

std::vector<std::int64_t> integers(const Fields& fields, std::string_view key) {
  std::vector<std::int64_t> values;
  for (const JsonValue& item : fields.array(key).items) {
    const std::optional<std::int64_t> value = item.as_int64();
    if (!value || *value < 0) fields.refuse(key, "integers from 0 to 2^63 - 1");
    values.push_back(*value);
  }
  return values;
}

Entry read_entry(const std::string& where, const std::string& name, const JsonValue& value) {
  const Fields fields(value, where, "tensor " + printable(name), kKeys);
  Entry entry;
  entry.name = name;
  const std::string type = fields.text("dtype");
  const auto* const found =
      std::find_if(kTypes.begin(), kTypes.end(), [&](const TypeName& row) { return row.text == type; });
  if (found == kTypes.end()) fields.refuse("dtype", "F64, F32, F16, BF16, I64, I32, BOOL");
  entry.type = found->type;
  entry.shape = integers(fields, "shape");
  const std::vector<std::int64_t> offsets = integers(fields, "data_offsets");
  if (offsets.size() != 2 || offsets[0] > offsets[1]) fields.refuse("data_offsets", "[begin, end], begin <= end");
  entry.begin = offsets[0];
  entry.end = offsets[1];
  return entry;
}

void check_metadata(const std::string& where, const JsonValue& value) {
  const bool texts = value.is(JsonValue::Kind::object) &&
                     std::all_of(value.items.begin(), value.items.end(),
                                 [](const JsonValue& item) { return item.is(JsonValue::Kind::text); });
  if (!texts) throw InputError(where + ": __metadata__ is no object of texts; allowed: an object of texts");
}

/// Throws unless the entries, in order of place, follow each other from 0 to `bytes`.
void check_cover(const std::string& path, std::vector<const Entry*> entries, std::int64_t bytes) {
  std::sort(entries.begin(), entries.end(),
            [](const Entry* a, const Entry* b) { return std::pair(a->begin, a->end) < std::pair(b->begin, b->end); });
  std::int64_t at = 0;
  for (const Entry* entry : entries) {
    if (entry->begin != at) {
      refuse_file(path, fmt::format("tensor {} begins at {}; allowed: {}, where the one before it ends",
                                    printable(entry->name), entry->begin, at));
    }
    at = entry->end;
  }
  if (at != bytes) {
    refuse_file(
        path, fmt::format("its tensors end at byte {} after the header, the file at {}; allowed: the same", at, bytes));
  }
}

}  // namespace

std::vector<NamedArray> read_safetensors(const std::string& path) {
  const FileBytes file = read_bytes(path);
  std::uint64_t length = 0;
  if (file.size < 8) refuse_file(path, "is no safetensors file: it has less than 8 bytes");
  std::memcpy(&length, file.memory.get(), sizeof(length));
  if (length > static_cast<std::uint64_t>(kMaxArrayHeaderBytes) || 8 + static_cast<std::int64_t>(length) > file.size) {
    refuse_file(path, fmt::format("is no safetensors file, or cut off: its first 8 bytes say that the header has {} "
                                  "bytes; allowed: at most {}, within the file",
                                  length, kMaxArrayHeaderBytes));
  }
  const auto header_bytes = static_cast<std::int64_t>(length);
  const std::string_view text = file.text(8, header_bytes);
  if (!text.starts_with('{')) refuse_file(path, "its header does not begin with {");
  const std::string where = printable(path, 400);
  const JsonValue header = parse_document(text, where);
  std::vector<Entry> entries;
  for (std::size_t i = 0; i < header.keys.size(); ++i) {
    if (header.keys[i] == "__metadata__") {
      check_metadata(where, header.items[i]);
    } else {
      entries.push_back(read_entry(where, header.keys[i], header.items[i]));
    }
  }
  std::vector<const Entry*> places;
  for (const Entry& entry : entries) places.push_back(&entry);
  const std::int64_t begin = 8 + header_bytes;
  check_cover(path, places, file.size - begin);
  std::vector<NamedArray> arrays;
  for (const Entry& entry : entries) {
    arrays.push_back({entry.name, array_in(path, entry.name, file, begin + entry.begin, entry.end - entry.begin,
                                           entry.type, entry.shape)});
  }
  return arrays;
}

void write_safetensors(const std::string& path, std::span<const std::pair<std::string, ArrayView>> tensors) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  std::int64_t at = 0;
  for (const auto& [name, array] : tensors) {
    const ArrayView& view = array;  // clang 14 captures no structured bindings
    const auto* const type =
        std::find_if(kTypes.begin(), kTypes.end(), [&](const TypeName& row) { return row.type == view.type; });
    const std::int64_t end = at + static_cast<std::int64_t>(bytes_of(view).size());
    header[name] = {{"dtype", type->text}, {"shape", view.shape}, {"data_offsets", {at, end}}};
    at = end;
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');  // so that the elements are aligned
  const std::uint64_t length = text.size();
  std::string start(sizeof(length), '\0');
  std::memcpy(start.data(), &length, sizeof(length));
  std::vector<std::string_view> parts = {start, text};
  for (const auto& tensor : tensors) parts.push_back(bytes_of(tensor.second));
  write_new_file(path, parts);
}

}  // namespace splitwave::base
