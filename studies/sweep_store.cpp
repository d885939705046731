// SPDX-License-Identifier: Apache-2.0
#include "studies/sweep_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/digest.h"
#include "base/error.h"
#include "base/output_files.h"
#include "base/text.h"
#include "workloads/load.h"

namespace splitwave::studies {
namespace {

namespace fs = std::filesystem;
using base::InputError;

std::int64_t occurrences(const std::string& text, std::string_view part) {
  std::int64_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

fs::path manifest_path(const fs::path& folder) {
  return folder / "sweep.json";
}
fs::path records_path(const fs::path& folder) {
  return folder / "records.jsonl";
}
fs::path chunk_path(const fs::path& folder, std::int64_t chunk) {
  return folder / "chunks" / fmt::format("{:08}.jsonl", chunk);
}

/// Reads into `text`, whose memory is used again for each of many chunks.
void read_chunk(const fs::path& path, std::string& text) {
  std::ifstream file(path, std::ios::binary);
  std::error_code error;
  const std::uintmax_t size = fs::file_size(path, error);
  text.resize(error ? 0 : size);
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (error || !file) throw InputError(fmt::format("{}: cannot be read to its end", path.string()));
}

struct ManifestSizes {
  std::int64_t points = 0;
  std::int64_t chunk_points = 0;
};

ManifestSizes read_sizes(const fs::path& path, const std::string& text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  const auto size = [&](const char* key) -> std::int64_t {
    if (!json.is_object() || !json.contains(key) || !json[key].is_number_unsigned()) return 0;
    return json[key].get<std::int64_t>();
  };
  const ManifestSizes sizes{size("points"), size("chunk_points")};
  if (sizes.points < 1 || sizes.points > kMaxSweepPoints || sizes.chunk_points < 1) {
    throw InputError(
        fmt::format("{}: not the description of a sweep; allowed: the file that splitwave wrote", path.string()));
  }
  return sizes;
}

std::string read_manifest(const fs::path& folder) {
  return base::read_text_file(manifest_path(folder).string());
}

/// Where each chunk is. Throws InputError if some are nowhere.
std::vector<fs::path> find_chunks(const std::vector<fs::path>& folders, std::int64_t chunks) {
  std::vector<fs::path> found;
  std::int64_t absent = 0;
  std::int64_t first_absent = -1;
  for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
    const auto holder = std::find_if(folders.begin(), folders.end(),
                                     [&](const fs::path& folder) { return fs::exists(chunk_path(folder, chunk)); });
    if (holder != folders.end()) {
      found.push_back(chunk_path(*holder, chunk));
    } else if (absent++ == 0) {
      first_absent = chunk;
    }
  }
  if (absent > 0) {
    throw InputError(fmt::format(
        "{}: {} of {} chunks are missing, the first is {:08}; allowed: folders that together hold every shard",
        folders.front().string(), absent, chunks, first_absent));
  }
  return found;
}

}  // namespace

Shard parse_shard(const std::string& text) {
  constexpr std::int64_t kMostShards = 1'000'000;
  Shard shard{0, 0};
  const char* const end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, shard.index);
  if (first.ec == std::errc() && first.ptr != end && *first.ptr == '/') {
    const auto second = std::from_chars(first.ptr + 1, end, shard.count);
    if (second.ec == std::errc() && second.ptr == end && shard.index >= 1 && shard.index <= shard.count &&
        shard.count <= kMostShards) {
      return shard;
    }
  }
  throw InputError(fmt::format("--shard: \"{}\" is not allowed; allowed: i/N with 1 <= i <= N <= {}",
                               base::printable(text), kMostShards));
}

SweepManifest make_manifest(const SweepSpace& space, const std::vector<std::string>& machine_inputs,
                            std::int64_t chunk_points, const std::string& commit, const std::string& version) {
  nlohmann::ordered_json json;
  base::Digest digest;
  json["format"] = 1;
  json["points"] = points(space);
  json["chunk_points"] = chunk_points;
  json["machines"] = nlohmann::json::array();
  for (const Target& target : space.targets) json["machines"].push_back(target.name);
  for (const std::string& input : machine_inputs) digest.add(input);
  json["workloads"] = nlohmann::json::array();
  for (const workloads::Workload& workload : space.workloads) {
    json["workloads"].push_back(workload.name);
    digest.add(workloads::to_json(workload));
  }
  json["axes"] = nlohmann::ordered_json::object();
  for (const Axis& axis : space.axes) {
    json["axes"][axis.key] = {
        {"values", axis.values.size()}, {"first", axis.values.front().text}, {"last", axis.values.back().text}};
    for (const AxisValue& value : axis.values) digest.add(value.text);
  }
  json["schedules"] = space.schedules;
  json["digest"] = digest.hex();
  json["commit"] = commit;
  json["version"] = version;
  return {points(space), chunk_points,
          json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n'};
}

SweepFolder::SweepFolder(fs::path folder, SweepManifest manifest, Shard shard, bool resume)
    : folder_(std::move(folder)), manifest_(std::move(manifest)), shard_(shard) {
  base::make_folder(folder_ / "chunks");
  if (fs::exists(manifest_path(folder_))) {
    if (read_manifest(folder_) != manifest_.text) {
      throw InputError(
          fmt::format("{}: holds another sweep (other arguments, input files or build of splitwave); "
                      "allowed: the same sweep, or another --out",
                      folder_.string()));
    }
  } else {
    base::write_file(manifest_path(folder_), manifest_.text);
  }
  if (!resume) {
    const bool fresh = !finished() && static_cast<std::int64_t>(missing().size()) ==
                                          (manifest_.chunks() - shard_.index + shard_.count) / shard_.count;
    if (!fresh) {
      throw InputError(
          fmt::format("{}: holds results of this sweep; allowed: --resume, or another --out", folder_.string()));
    }
    return;
  }
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_ / "chunks")) {
    // A killed write leaves NUMBER.jsonl.XXXXXX; those of other shards may be in use.
    const std::string name = entry.path().filename().string();
    std::int64_t chunk = -1;
    std::from_chars(name.data(), name.data() + name.size(), chunk);
    if (entry.path().extension() != ".jsonl" && chunk >= 0 && chunk % shard_.count == shard_.index - 1) {
      fs::remove(entry.path());
    }
  }
}

bool SweepFolder::finished() const {
  return fs::exists(records_path(folder_));
}

std::vector<std::int64_t> SweepFolder::missing() const {
  std::vector<std::int64_t> chunks;
  for (std::int64_t chunk = shard_.index - 1; chunk < manifest_.chunks(); chunk += shard_.count) {
    if (!fs::exists(chunk_path(folder_, chunk))) chunks.push_back(chunk);
  }
  return chunks;
}

void SweepFolder::write(std::int64_t chunk, const std::string& lines) const {
  base::write_file(chunk_path(folder_, chunk), lines);
}

SweepTotals merge_sweep(const std::vector<fs::path>& folders, const fs::path& out) {
  const std::string text = read_manifest(folders.front());
  const ManifestSizes sizes = read_sizes(manifest_path(folders.front()), text);
  for (const fs::path& folder : folders) {
    if (read_manifest(folder) != text) {
      throw InputError(fmt::format("{}: holds another sweep than {}; allowed: shards of one sweep", folder.string(),
                                   folders.front().string()));
    }
  }
  const std::int64_t chunks = (sizes.points + sizes.chunk_points - 1) / sizes.chunk_points;
  const std::vector<fs::path> paths = find_chunks(folders, chunks);
  base::make_folder(out);
  fs::remove(records_path(out).string() + ".partial");  // of a merge that was killed; the chunks are all here
  base::GrowingFile file(records_path(out));
  SweepTotals totals;
  std::string lines;
  for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
    const fs::path& path = paths[static_cast<std::size_t>(chunk)];
    read_chunk(path, lines);
    const std::int64_t expected = std::min(sizes.chunk_points, sizes.points - chunk * sizes.chunk_points);
    const std::int64_t found = occurrences(lines, "\n");
    if (found != expected || lines.back() != '\n') {
      throw InputError(fmt::format("{}: holds {} lines; allowed: {}. Remove it and run the sweep with --resume",
                                   path.string(), found, expected));
    }
    totals.infeasible +=
        occurrences(lines, "failure\":");  // a quotation mark inside a string has a backslash before it
    lines.pop_back();
    file.append(lines);
    totals.points += found;
  }
  file.finish();
  return totals;
}

void remove_chunks(const fs::path& folder) {
  fs::remove_all(folder / "chunks");
}

}  // namespace splitwave::studies
