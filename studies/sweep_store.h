// SPDX-License-Identifier: Apache-2.0
// A sweep on disk: DIR/sweep.json says which sweep it is, DIR/chunks/NUMBER.jsonl hold its lines, each complete or not
// there, and DIR/records.jsonl is all of them in order once every chunk is there.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/lock.h"
#include "studies/sweep_space.h"

namespace splitwave::studies {

/// The part of a sweep that one run computes: chunks whose number is `index` - 1 modulo `count`. 1/1 is everything.
struct Shard {
  std::int64_t index = 1;
  std::int64_t count = 1;
};

/// "2/8". Throws InputError unless 1 <= index <= count <= 10^6.
Shard parse_shard(const std::string& text);

/// What a folder of a sweep must agree on. The same text in every process, shard and run of the same sweep.
struct SweepManifest {
  std::int64_t points = 0;
  std::int64_t chunk_points = 0;
  std::string text;  ///< content of sweep.json
  std::int64_t chunks() const { return (points + chunk_points - 1) / chunk_points; }
};

/// The manifest of a space; every workload, machine, axis value and the build are in it or in its digest. Machines are
/// told by what they were read from: `machine_inputs`.
SweepManifest make_manifest(const SweepSpace& space, const std::vector<std::string>& machine_inputs,
                            std::int64_t chunk_points, const std::string& commit, const std::string& version);

/// The folder of a sweep in progress.
class SweepFolder {
 public:
  /// Opens or makes the folder for this run, and holds it: other processes can work there on other shards only. Throws
  /// InputError if one works on this, if it holds another sweep, or chunks of this shard and `resume` is false. With
  /// resume, temporary files that a killed run of this shard left are removed.
  SweepFolder(std::filesystem::path folder, SweepManifest manifest, Shard shard, bool resume);

  /// True if records.jsonl is there: nothing is left to do.
  bool finished() const;

  /// Chunks of this shard that are not on disk, ascending.
  std::vector<std::int64_t> missing() const;

  /// Writes a chunk's lines, durably and whole, and a digest by which a change is noticed.
  void write(std::int64_t chunk, const std::string& lines) const;

  const std::filesystem::path& path() const { return folder_; }

 private:
  void hold();
  void remove_half_written() const;

  std::filesystem::path folder_;
  SweepManifest manifest_;
  Shard shard_;
  std::vector<base::Lock> locks_;
};

/// What a merge found.
struct SweepTotals {
  std::int64_t points = 0;
  std::int64_t infeasible = 0;  ///< points whose line has a failure
};

/// Writes OUT/records.jsonl from the chunks of the folders, which must belong to one sweep and together hold every
/// chunk. OUT is held against other processes, and none may be at work there. Throws InputError naming the folder that
/// differs, the chunks (and, where they are one's, the shard) that are missing or the one that is damaged.
SweepTotals merge_sweep(const std::vector<std::filesystem::path>& folders, const std::filesystem::path& out);

/// Removes the chunks of a finished sweep.
void remove_chunks(const std::filesystem::path& folder);

}  // namespace splitwave::studies
