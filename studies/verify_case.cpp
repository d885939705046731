// SPDX-License-Identifier: Apache-2.0
#include "studies/verify_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <set>

#include "base/array_files.h"
#include "base/error.h"
#include "base/fields.h"
#include "base/memory.h"
#include "base/text.h"
#include "studies/verify_sample.h"
#include "workloads/tensors.h"

namespace splitwave::studies {
namespace {

namespace fs = std::filesystem;
using cpu_reference::AxisOrder;
using cpu_reference::KernelCall;
using cpu_reference::WeightPrecision;

constexpr std::array<std::string_view, 10> kArrays = {
    "q", "k", "v", "output", "lse", "block_table", "context_lens", "cu_seqlens_q", "cu_seqlens_k", "mask"};
constexpr std::array<std::string_view, 11> kSettings = {"arrays",    "causal",       "window",        "scale",
                                                        "lse_base",  "layout",       "kv_layout",     "weights",
                                                        "empty_lse", "sixteen_bits", "lse_head_first"};

std::string array_names() {
  return fmt::format("{}", fmt::join(kArrays, ", "));
}

/// What a case says of itself.
struct Settings {
  CaseOptions options;
  bool empty_lse_positive = false;
  std::optional<bool> lse_head_first;
};

template <typename Value>
void default_to(std::optional<Value>& option, std::optional<Value> value) {
  if (!option) option = std::move(value);
}

/// "2x8x128"
std::vector<std::int64_t> parse_shape(const std::string& text, const std::string& where) {
  std::vector<std::int64_t> shape;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (true) {
    std::int64_t extent = 0;
    const auto [next, error] = std::from_chars(at, end, extent);
    if (error != std::errc() || extent < 0) {
      throw base::InputError(fmt::format("{}: shape is {}; allowed: integers from 0 with x between them, as 2x8x128",
                                         where, base::printable(text)));
    }
    shape.push_back(extent);
    if (next == end) return shape;
    at = next + 1;
    if (*next != 'x') at = end;  // an integer is missing there
  }
}

std::optional<base::ElementType> sixteen_bits(const CaseOptions& options) {
  if (!options.sixteen_bits) return std::nullopt;
  return base::element_type(*options.sixteen_bits);
}

/// FILE (npy), or FILE,DTYPE,SHAPE (raw).
base::Array read_array(const std::string& name, const std::string& text, const CaseOptions& options) {
  const std::size_t last = text.rfind(',');
  const std::size_t first = last == std::string::npos || last == 0 ? std::string::npos : text.rfind(',', last - 1);
  if (first == std::string::npos) return base::read_npy(text, sixteen_bits(options));
  const std::string dtype = text.substr(first + 1, last - first - 1);
  const std::optional<base::ElementType> type = base::element_type(dtype);
  if (!type) {
    throw base::InputError(
        fmt::format("{}: dtype is {}; allowed: {}", name, base::printable(dtype), base::element_type_names()));
  }
  return base::read_raw(text.substr(0, first), *type, parse_shape(text.substr(last + 1), name));
}

void add_raw_arrays(const base::Fields& fields, const fs::path& folder, CaseOptions& options) {
  if (!fields.has("arrays")) return;
  static constexpr std::array<std::string_view, 3> kKeys = {"file", "dtype", "shape"};
  const base::JsonValue& arrays = fields.at("arrays");
  const base::Fields names(arrays, fields.where(), "arrays", kArrays);
  for (std::size_t i = 0; i < arrays.keys.size(); ++i) {
    const base::Fields entry(arrays.items[i], fields.where(), "arrays." + arrays.keys[i], kKeys);
    std::string shape;
    for (const base::JsonValue& extent : entry.array("shape").items) {
      const std::optional<std::int64_t> value = extent.as_int64();
      if (!value || *value < 0) entry.refuse("shape", "integers from 0");
      shape += fmt::format("{}{}", shape.empty() ? "" : "x", *value);
    }
    const std::string file = entry.text("file");
    if (fs::path(file).has_parent_path()) entry.refuse("file", "a file of the case's own folder");
    // A name on the command line goes before.
    options.tensors.emplace(arrays.keys[i],
                            fmt::format("{},{},{}", (folder / file).string(), entry.text("dtype"), shape));
  }
}

/// Reads case.json, if there is one, below what the command line says.
Settings read_settings(const fs::path& file, const CaseOptions& options) {
  Settings settings;
  settings.options = options;
  if (!fs::exists(file)) return settings;
  const std::string where = base::printable(file.string(), 400);
  const base::JsonValue document = base::parse_document(base::read_text_file(file.string()), where);
  const base::Fields fields(document, where, "", kSettings);
  CaseOptions& own = settings.options;
  const auto choice = [&](std::string_view key, std::span<const std::string_view> names) -> std::optional<std::string> {
    const std::optional<std::size_t> index = fields.optional_choice(key, names);
    return index ? std::optional<std::string>(std::string(names[*index])) : std::nullopt;
  };
  static constexpr std::array<std::string_view, 2> kBases = {"e", "2"};
  static constexpr std::array<std::string_view, 2> kLayouts = {"token", "head"};
  static constexpr std::array<std::string_view, 5> kWeights = {"f16", "bf16", "tf32", "f32", "f64"};
  static constexpr std::array<std::string_view, 2> kHalves = {"f16", "bf16"};
  static constexpr std::array<std::string_view, 2> kEmpty = {"-inf", "+inf"};
  default_to(own.causal, fields.optional_boolean("causal"));
  default_to(own.window, fields.optional_int32("window", 1, 2147483647));
  default_to(own.scale, fields.optional_number("scale", -1e6, 1e6));
  default_to(own.lse_base, choice("lse_base", kBases));
  default_to(own.layout, choice("layout", kLayouts));
  default_to(own.kv_layout, choice("kv_layout", kLayouts));
  default_to(own.weights, choice("weights", kWeights));
  default_to(own.sixteen_bits, choice("sixteen_bits", kHalves));
  settings.empty_lse_positive = choice("empty_lse", kEmpty) == "+inf";
  settings.lse_head_first = fields.optional_boolean("lse_head_first");
  add_raw_arrays(fields, file.parent_path(), own);
  return settings;
}

std::optional<WeightPrecision> weights_of(const CaseOptions& options) {
  if (!options.weights) return std::nullopt;
  static const std::map<std::string, WeightPrecision> kNames = {{"f16", WeightPrecision::f16},
                                                                {"bf16", WeightPrecision::bf16},
                                                                {"tf32", WeightPrecision::tf32},
                                                                {"f32", WeightPrecision::f32},
                                                                {"f64", WeightPrecision::f64}};
  return kNames.at(*options.weights);
}

AxisOrder order_of(const std::optional<std::string>& layout) {
  return layout == "head" ? AxisOrder::head_major : AxisOrder::token_major;
}

using Arrays = std::map<std::string, base::Array>;

KernelCall call_of(const std::string& where, const Arrays& arrays, const Settings& settings) {
  const auto optional = [&](const std::string& name) -> std::optional<base::ArrayView> {
    const auto found = arrays.find(name);
    return found == arrays.end() ? std::nullopt : std::optional(found->second.view);
  };
  const auto needed = [&](const std::string& name) {
    const std::optional<base::ArrayView> view = optional(name);
    if (!view)
      throw base::InputError(
          fmt::format("{}: {} is missing; allowed: q, k and output, and of {}", where, name, array_names()));
    return *view;
  };
  const CaseOptions& options = settings.options;
  KernelCall call;
  call.q = needed("q");
  call.k = needed("k");
  call.v = optional("v");
  call.output = needed("output");
  call.lse = optional("lse");
  call.block_table = optional("block_table");
  call.context_lens = optional("context_lens");
  call.cu_seqlens_q = optional("cu_seqlens_q");
  call.cu_seqlens_k = optional("cu_seqlens_k");
  call.mask = optional("mask");
  call.order = order_of(options.layout);
  call.kv_order = order_of(options.kv_layout ? options.kv_layout : options.layout);
  call.causal = options.causal.value_or(false);
  call.window = options.window;
  call.softmax_scale = options.scale;
  call.lse_base_two = options.lse_base == "2";
  call.lse_head_first = settings.lse_head_first;
  call.empty_lse_positive = settings.empty_lse_positive;
  return call;
}

bool is_safetensors(const fs::path& path) {
  return path.extension() == ".safetensors";
}

/// Whether a folder holds a case itself.
bool is_case_folder(const fs::path& path) {
  return fs::exists(path / "q.npy") || fs::exists(path / "case.json");
}

Arrays read_safetensors_file(const std::string& path) {
  Arrays arrays;
  for (const base::NamedArray& each : base::read_safetensors(path)) {
    expect_array_name(base::printable(path, 400), each.name);
    arrays.emplace(each.name, each.array);
  }
  return arrays;
}

/// What a folder holds. Throws InputError if it cannot be listed.
std::vector<fs::directory_entry> entries_of(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::directory_entry> entries;
  for (fs::directory_iterator at(folder, error); !error && at != fs::directory_iterator(); at.increment(error)) {
    entries.push_back(*at);
  }
  if (error) {
    throw base::InputError(fmt::format("{}: cannot be listed: {}; allowed: a readable folder",
                                       base::printable(folder.string(), 400), error.message()));
  }
  return entries;
}

/// The one safetensors file of a case's folder, if there is one.
std::optional<fs::path> safetensors_of(const fs::path& folder) {
  std::optional<fs::path> found;
  for (const fs::directory_entry& entry : entries_of(folder)) {
    if (!is_safetensors(entry.path())) continue;
    if (found)
      throw base::InputError(folder.string() + ": holds case.json and several safetensors files; allowed: one");
    found = entry.path();
  }
  return found;
}

}  // namespace

void expect_array_name(const std::string& where, const std::string& name) {
  if (std::find(kArrays.begin(), kArrays.end(), name) != kArrays.end()) return;
  throw base::InputError(fmt::format("{}: tensor {} is unknown{}; allowed: {}", where, base::printable(name),
                                     base::did_you_mean(name, {kArrays.begin(), kArrays.end()}), array_names()));
}

std::vector<std::string> find_cases(const std::string& path) {
  if (!fs::is_directory(path) || is_case_folder(path)) return {path};
  std::set<std::string> cases;
  for (const fs::directory_entry& entry : entries_of(path)) {
    const bool found = entry.is_directory() ? is_case_folder(entry.path()) : is_safetensors(entry.path());
    if (found) cases.insert(entry.path().string());
  }
  if (cases.empty()) {
    throw base::InputError(
        fmt::format("{}: holds no case; allowed: a folder with q.npy or case.json, a safetensors "
                    "file, or a folder of these",
                    base::printable(path, 400)));
  }
  return {cases.begin(), cases.end()};
}

VerifyCase load_case(const std::string& path, const CaseOptions& options) {
  const bool folder = fs::is_directory(path);
  const fs::path settings_file = folder ? fs::path(path) / "case.json" : fs::path(path).replace_extension(".json");
  const Settings settings = read_settings(settings_file, options);
  Arrays arrays;
  const std::optional<fs::path> tensors = folder ? safetensors_of(path) : std::optional<fs::path>(path);
  if (tensors) arrays = read_safetensors_file(tensors->string());
  for (const std::string_view name : kArrays) {
    const fs::path file = fs::path(path) / (std::string(name) + ".npy");
    const bool given = settings.options.tensors.count(std::string(name)) > 0;
    if (folder && !given && fs::exists(file)) {
      arrays.insert_or_assign(std::string(name), base::read_npy(file.string(), sixteen_bits(settings.options)));
    }
  }
  for (const auto& [name, text] : settings.options.tensors) {
    arrays.insert_or_assign(name, read_array(name, text, settings.options));
  }
  VerifyCase result;
  fs::path shown = fs::path(path).lexically_normal();
  if (!shown.has_filename()) shown = shown.parent_path();
  result.name = shown.filename().string();
  result.call = call_of(base::printable(path, 400), arrays, settings);
  for (auto& [name, array] : arrays) result.memory.push_back(std::move(array));
  result.options = {weights_of(settings.options), options.diagnose};
  return result;
}

cpu_reference::Verification verify_workload(const workloads::Workload& workload, const std::string& output,
                                            const std::string& lse, const CaseOptions& options) {
  const base::Array outputs = read_array("output", output, options);
  std::optional<base::Array> lses;
  if (!lse.empty()) lses = read_array("lse", lse, options);
  const std::optional<base::ArrayView> lse_view = lses ? std::optional(lses->view) : std::nullopt;
  const cpu_reference::VerifyOptions how{weights_of(options), options.diagnose};
  if (options.sample > 0) {
    return verify_sample(workload, outputs.view, lse_view, options.lse_base == "2", how, options.sample);
  }
  const workloads::Tensors tensors = workloads::make_tensors(workload, base::available_memory_bytes());
  return cpu_reference::verify(workload, tensors, outputs.view, lse_view, options.lse_base == "2", how);
}

}  // namespace splitwave::studies
