// SPDX-License-Identifier: Apache-2.0
#include "studies/sweep_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <fstream>
#include <map>
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

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

/// The line behind the lines of a chunk: tells a changed or foreign one.
std::string last_line(const std::string& manifest, std::int64_t chunk, std::string_view lines) {
  base::Digest digest;
  digest.add(manifest);
  digest.add(std::to_string(chunk));
  digest.add(lines);
  return fmt::format("{{\"digest\":\"{}\"}}\n", digest.hex());
}

/// The manifest's own: its text before the last line is in it.
std::string with_digest(const std::string& text) {
  base::Digest digest;
  digest.add(text);
  return fmt::format("{},\n  \"checksum\": \"{}\"\n}}\n", text, digest.hex());
}

/// Chunks that a folder holds, by the names of its files.
void add_chunks_in(const fs::path& folder, std::map<std::int64_t, fs::path>& found) {
  std::error_code error;
  for (fs::directory_iterator entry(folder / "chunks", error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    std::int64_t chunk = -1;
    std::from_chars(name.data(), name.data() + name.size(), chunk);
    std::error_code ignored;
    const bool chunk_file = chunk >= 0 && entry->path() == chunk_path(folder, chunk);
    if (chunk_file && entry->is_regular_file(ignored)) found.try_emplace(chunk, entry->path());
  }
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
  const std::size_t checksum = text.rfind(",\n  \"checksum\"");
  if (checksum == std::string::npos || with_digest(text.substr(0, checksum)) != text) {
    throw InputError(fmt::format("{}: was changed; allowed: the file that splitwave wrote", path.string()));
  }
  return sizes;
}

std::string read_manifest(const fs::path& folder) {
  return base::read_text_file(manifest_path(folder).string());
}

/// " They are those of --shard i/N.", where the absent chunks of so many are a shard's.
std::string as_shard(const std::vector<std::int64_t>& absent, std::int64_t chunks) {
  if (absent.size() < 2) return "";
  const std::int64_t step = absent[1] - absent[0];
  for (std::size_t i = 1; i < absent.size(); ++i) {
    if (absent[i] - absent[i - 1] != step) return "";
  }
  if (step < 2 || absent.front() >= step || absent.back() + step < chunks) return "";
  return fmt::format("; they are those of --shard {}/{}", absent.front() + 1, step);
}

/// Makes the folder, if it is not there, and holds it against every other process of a sweep.
base::Lock lock_sweep(const fs::path& folder) {
  base::make_folder(folder);
  return {folder, base::Lock::Kind::exclusive};
}

/// Where each chunk is. Throws InputError if some are nowhere.
std::vector<fs::path> find_chunks(const std::vector<fs::path>& folders, std::int64_t chunks) {
  std::map<std::int64_t, fs::path> found;
  for (const fs::path& folder : folders) add_chunks_in(folder, found);
  found.erase(found.lower_bound(chunks), found.end());
  std::vector<fs::path> paths;
  for (const auto& [chunk, path] : found) paths.push_back(path);
  const std::int64_t absent = chunks - static_cast<std::int64_t>(found.size());
  if (absent == 0) return paths;
  constexpr std::size_t kMostCounted = 1'000'000;
  std::vector<std::int64_t> numbers;
  for (std::int64_t chunk = 0; chunk < chunks && numbers.size() < kMostCounted; ++chunk) {
    if (!found.contains(chunk)) numbers.push_back(chunk);
  }
  std::vector<std::string> names;
  for (const fs::path& folder : folders) names.push_back(folder.string());
  throw InputError(
      fmt::format("sweep --merge: {} of {} chunks are in none of {}, the first is {:08}{}; allowed: folders that "
                  "together hold every "
                  "shard",
                  absent, chunks, base::join(names), numbers.front(), as_shard(numbers, chunks)));
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
  json["format"] = 2;
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
  std::string text = json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  text.erase(text.rfind('\n'));  // and the brace behind it
  return {points(space), chunk_points, with_digest(text)};
}

SweepFolder::SweepFolder(fs::path folder, SweepManifest manifest, Shard shard, bool resume)
    : folder_(std::move(folder)), manifest_(std::move(manifest)), shard_(shard) {
  base::make_folder(folder_ / "chunks");
  hold();
  if (is_there(manifest_path(folder_))) {
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
  remove_half_written();
}

/// A shard shares the folder with other shards, and nobody has its part of the work.
void SweepFolder::hold() {
  if (shard_.count == 1) {
    locks_.push_back(lock_sweep(folder_));
    return;
  }
  locks_.emplace_back(folder_, base::Lock::Kind::shared);
  const fs::path place = folder_ / "chunks" / fmt::format("shard-{}-of-{}", shard_.index, shard_.count);
  if (!is_there(place)) base::write_file(place, "");
  locks_.emplace_back(place, base::Lock::Kind::exclusive);
}

/// A killed write leaves NUMBER.jsonl.XXXXXX; those of other shards may be in use.
void SweepFolder::remove_half_written() const {
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_ / "chunks")) {
    const std::string name = entry.path().filename().string();
    std::int64_t chunk = -1;
    std::from_chars(name.data(), name.data() + name.size(), chunk);
    if (entry.path().extension() != ".jsonl" && chunk >= 0 && chunk % shard_.count == shard_.index - 1) {
      fs::remove(entry.path());
    }
  }
}

bool SweepFolder::finished() const {
  return is_there(records_path(folder_));
}

std::vector<std::int64_t> SweepFolder::missing() const {
  std::vector<std::int64_t> chunks;
  for (std::int64_t chunk = shard_.index - 1; chunk < manifest_.chunks(); chunk += shard_.count) {
    if (!is_there(chunk_path(folder_, chunk))) chunks.push_back(chunk);
  }
  return chunks;
}

void SweepFolder::write(std::int64_t chunk, const std::string& lines) const {
  base::write_file(chunk_path(folder_, chunk), lines + last_line(manifest_.text, chunk, lines));
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
  const base::Lock held = lock_sweep(out);
  fs::remove(records_path(out).string() + ".partial");  // of a merge that was killed; the chunks are all here
  base::GrowingFile file(records_path(out));
  SweepTotals totals;
  std::string lines;
  for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
    const fs::path& path = paths[static_cast<std::size_t>(chunk)];
    read_chunk(path, lines);
    const std::int64_t expected = std::min(sizes.chunk_points, sizes.points - chunk * sizes.chunk_points);
    const std::size_t end = lines.size() < 2 ? 0 : lines.rfind('\n', lines.size() - 2) + 1;
    const std::string last = lines.substr(end);
    lines.resize(end);
    const std::int64_t found = occurrences(lines, "\n");
    if (found != expected || last != last_line(text, chunk, lines)) {
      throw InputError(fmt::format(
          "{}: holds {} lines of {}, or was changed; allowed: what splitwave wrote. Remove it and run the sweep with "
          "--resume",
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
  std::error_code ignored;  // the records are there; what is left of the chunks does no harm
  fs::remove_all(folder / "chunks", ignored);
}

}  // namespace splitwave::studies
