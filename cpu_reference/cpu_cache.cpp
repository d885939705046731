// SPDX-License-Identifier: Apache-2.0
#include "cpu_reference/cpu_cache.h"

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/output_files.h"
#include "base/text.h"
#include "cpu_reference/cold_memory.h"
#include "cpu_reference/measure.h"

namespace splitwave::cpu_reference {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

/// Raised when what the constants mean changes: the kernels, the way of measuring, or the keys.
constexpr int kVersion = 3;
/// Bandwidth that differs by more than this from the cached one belongs to another machine or another time.
constexpr double kSameBandwidth = 0.1;

std::string key_of(const std::string& model, int threads) {
  return model + ", " + std::to_string(threads) + " threads";
}

json to_json(const CpuConstants& constants) {
  json tile = json::array();
  for (const auto& rows : constants.tile) {
    for (const TileCost& cost : rows) tile.push_back({cost.token_seconds, cost.token_element_seconds});
  }
  return {{"model", constants.model},
          {"threads", constants.threads},
          {"read_bytes_per_second", constants.read_bytes_per_second},
          {"row_read_bytes_per_second", constants.row_read_bytes_per_second},
          {"token_seconds_per_kv_byte", constants.token_seconds_per_kv_byte},
          {"tile", tile},
          {"fork_seconds", constants.fork_seconds},
          {"overlap", constants.overlap},
          {"list_seconds", constants.list_seconds},
          {"item_seconds", constants.item_seconds},
          {"merge_seconds_per_row_split", constants.merge_seconds_per_row_split}};
}

/// A number that a measurement can have given; throws what json throws for anything else.
double figure(const json& value, double least) {
  const double number = value.get<double>();
  if (!std::isfinite(number) || number < least || number > 1e15) throw std::out_of_range("figure");
  return number;
}

std::vector<double> bandwidths(const json& values, int threads) {
  std::vector<double> result;
  for (const json& value : values) result.push_back(figure(value, 1));
  if (result.size() != static_cast<std::size_t>(threads)) throw std::out_of_range("bandwidths");
  return result;
}

CpuConstants from_json(const json& entry) {
  CpuConstants constants;
  constants.model = entry.at("model").get<std::string>();
  constants.threads = entry.at("threads").get<int>();
  constants.read_bytes_per_second = bandwidths(entry.at("read_bytes_per_second"), constants.threads);
  constants.row_read_bytes_per_second = bandwidths(entry.at("row_read_bytes_per_second"), constants.threads);
  constants.token_seconds_per_kv_byte = figure(entry.at("token_seconds_per_kv_byte"), 1e-15);
  for (std::size_t i = 0; i < 12; ++i) {
    const json& cost = entry.at("tile").at(i);
    constants.tile[i / 4][i % 4] = {figure(cost.at(0), 0), figure(cost.at(1), 0)};
  }
  constants.fork_seconds = figure(entry.at("fork_seconds"), 0);
  constants.overlap = figure(entry.at("overlap"), 0);
  constants.list_seconds = figure(entry.at("list_seconds"), 0);
  constants.item_seconds = figure(entry.at("item_seconds"), 0);
  constants.merge_seconds_per_row_split = figure(entry.at("merge_seconds_per_row_split"), 0);
  return constants;
}

/// The file's entries by key; empty if there is no such file or anything is wrong with it.
json read_entries(const fs::path& path) {
  std::string text;
  try {
    text = base::read_text_file(path.string());
  } catch (const base::InputError&) {  // not there, a folder, not text: nothing is known
    return json::object();
  }
  const json document = json::parse(text, nullptr, false);
  if (!document.is_object() || document.value("version", json()) != kVersion) return json::object();
  const json entries = document.value("cpus", json());
  return entries.is_object() ? entries : json::object();
}

std::optional<CpuConstants> find(const json& entries, const std::string& key) {
  if (!entries.contains(key)) return std::nullopt;
  try {
    CpuConstants constants = from_json(entries.at(key));
    if (key_of(constants.model, constants.threads) == key && absurd_figure(constants).empty()) return constants;
  } catch (const std::exception&) {  // of json or figure: a damaged entry is measured again
  }
  return std::nullopt;
}

/// What the user is to know: that the constants are not kept, and why.
std::string note_of(const MeasuredCpu& measured) {
  const std::string reason = why_not_kept(measured);
  return reason.empty() ? ""
                        : "the figures measured on this CPU serve this run and are not kept: " + reason +
                              "; --measure-cpu measures them anew";
}

/// One quick look: the best of a few reads by all threads against the cached figure.
bool bandwidth_holds(const CpuConstants& constants) {
  double seconds = read_seconds(cold_memory(), constants.threads);
  for (int i = 0; i < 2; ++i) seconds = std::min(seconds, read_seconds(cold_memory(), constants.threads));
  const double rate = static_cast<double>(cold_memory().size()) / seconds;
  return std::abs(rate / constants.read_bytes_per_second.back() - 1) <= kSameBandwidth;
}

/// Where the file cannot be written, the figures serve this run alone.
void write_entries(const fs::path& path, const json& entries) {
  try {
    base::make_folder(path.parent_path());
    base::write_file(path, json{{"version", kVersion}, {"cpus", entries}}.dump(2) + '\n');
  } catch (const base::InputError&) {
    return;
  }
}

}  // namespace

std::optional<fs::path> cpu_cache_file() {
  const char* const cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && cache[0] == '/') return fs::path(cache) / "splitwave" / "cpu.json";
  const char* const home = std::getenv("HOME");
  if (home != nullptr && home[0] == '/') return fs::path(home) / ".cache" / "splitwave" / "cpu.json";
  return std::nullopt;
}

KnownCpu cached_or_measured(const fs::path& file, const std::string& model, int threads,
                            const std::function<bool(const CpuConstants&)>& still_holds,
                            const std::function<MeasuredCpu(int)>& measure) {
  json entries = read_entries(file);
  const std::string key = key_of(model, threads);
  const std::optional<CpuConstants> cached = find(entries, key);
  if (cached && still_holds(*cached)) return {*cached, ""};
  const MeasuredCpu measured = measure(threads);
  const std::string note = note_of(measured);
  if (note.empty()) {
    entries[key] = to_json(measured.constants);
    write_entries(file, entries);
  }
  return {measured.constants, note};
}

KnownCpu cached_cpu_constants(int threads, bool anew) {
  const std::optional<fs::path> file = cpu_cache_file();
  if (!file) {
    const MeasuredCpu measured = measure_cpu(threads);
    return {measured.constants, note_of(measured)};
  }
  const auto still_holds = [&](const CpuConstants& constants) { return !anew && bandwidth_holds(constants); };
  return cached_or_measured(*file, processor_name(), threads, still_holds, measure_cpu);
}

}  // namespace splitwave::cpu_reference
