// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schedules/timeline.h"

namespace splitwave::reports {

/// Errors of a measured record against the oracle.
struct RecordError {
  double relative_l2 = 0;
  double rmse = 0;
  double max_abs = 0;
  std::optional<double> predicted_rmse = {};  ///< by the roundings that were emulated
  bool operator==(const RecordError&) const = default;
};

/// Bytes that one of the papers' algorithms moves between slow and fast memory, in both directions, by what they are.
struct RecordIo {
  std::int64_t q = 0;
  std::int64_t kv = 0;
  std::int64_t scores = 0;
  std::int64_t output = 0;
  std::int64_t statistics = 0;
  std::int64_t partials = 0;
  std::int64_t total() const { return q + kv + scores + output + statistics + partials; }
  bool operator==(const RecordIo&) const = default;
};

/// Where the time of a whole request, prompt and answer, goes (studies/end_to_end.h). Units: s.
struct RecordStages {
  std::int64_t batch = 1;          ///< requests at once
  std::int64_t prompt_tokens = 0;  ///< of each
  std::int64_t output_tokens = 0;
  double prefill = 0;
  // Of all decode steps together:
  double attention = 0;
  double projections = 0;
  double mlp = 0;
  double lm_head = 0;
  double cache_append = 0;
  double all_reduce = 0;
  double decode() const { return attention + projections + mlp + lm_head + cache_append + all_reduce; }
  double total() const { return prefill + decode(); }
  auto operator<=>(const RecordStages&) const = default;
};

/// What a prediction for this CPU was made from: medians of the probes between the runs that it is set against
/// (cpu_reference/probes.h), and what was measured beforehand. Bytes per second, seconds; spreads are (80th - 20th
/// percentile) / median.
struct RecordProbes {
  double read_by_one = 0;          ///< plain read of K and V by one thread
  double read_by_all = 0;          ///< the same by all threads
  double seconds_per_kv_byte = 0;  ///< tile time in cache, by each thread
  double fork_seconds = 0;
  double item_seconds = 0;
  double merge_seconds_per_row_split = 0;
  double read_spread = 0;
  double tile_spread = 0;
  std::int64_t rounds = 0;             ///< of probes
  std::optional<double> overlap;       ///< p: memory and tile time m and c per byte come to (m^p + c^p)^(1/p)
  std::optional<double> list_seconds;  ///< of a list, before it streams
  bool operator==(const RecordProbes&) const = default;
};

/// Speed-up over another schedule from runs in pairs: one of each, next to each other. `low` and `high` bound the
/// median's 95 % interval (base::median_interval).
struct RecordSpeedUp {
  std::string over;  ///< schedule
  double median = 1;
  double low = 1;
  double high = 1;
  std::int64_t pairs = 0;
  bool operator==(const RecordSpeedUp&) const = default;
};

/// Runs of a plan whose outputs and LSEs were set against the first run's, bit by bit.
struct RecordRepeat {
  std::int64_t runs = 0;       ///< the first included
  std::int64_t differing = 0;  ///< of them, those with other bits than the first
  std::string first;           ///< the first of these, and where it differs first; empty if none does
  bool operator==(const RecordRepeat&) const = default;
};

/// One flat line of result; predicted and measured records have the same shape. What does not apply is absent. The
/// keys, their units and their meaning are in docs/records.md.
struct Record {
  std::string workload;
  std::string schedule;
  std::string executor;  ///< "simulator", "cpu", "cuda" or "peer:NAME"
  std::string machine;
  std::optional<std::string> chosen;  ///< what the schedule "auto" chose
  std::optional<double> seconds;      ///< median
  std::optional<double> seconds_p20;
  std::optional<double> seconds_p80;
  std::optional<std::int64_t> samples;
  std::optional<std::int64_t> interrupted;     ///< timed runs that other processes interrupted, and that were repeated
  std::optional<std::int64_t> sampled_groups;  ///< KV heads of requests that were computed, where not all were
  std::optional<std::int64_t> bytes;           ///< minimal bytes of the workload
  std::optional<double> bytes_per_second;
  std::optional<std::int64_t> num_splits;
  std::optional<std::int64_t> ctas;
  std::optional<double> waves;
  std::optional<double> occupancy;
  std::optional<std::string> merge;
  std::optional<std::string> kernel;    ///< configuration of the CUDA kernel, "r1w4s4t16c8"
  std::optional<std::string> rounding;  ///< whose roundings were emulated, "fa3"
  std::optional<double> read_seconds;   ///< plain read of K and V on the device, in the same run
  std::optional<double> plan_seconds;   ///< host time of making the plan ready for the device
  std::optional<double> joules;         ///< that a call takes of the device's energy
  std::optional<double> sm_clock_mhz;   ///< while that was measured
  std::optional<RecordSpeedUp> speed_up;
  std::optional<RecordProbes> probes;
  std::optional<schedules::Breakdown> breakdown;
  std::optional<schedules::Traffic> traffic;
  std::optional<schedules::Energy> energy;  ///< predicted parts of `joules`
  std::optional<RecordIo> io;
  std::optional<RecordStages> stages;  ///< `seconds` is then of a whole request, not of a call
  std::optional<RecordError> error;
  std::optional<RecordRepeat> repeat;
  std::optional<std::string> failure;  ///< why there is no time, for points that cannot run
  std::optional<std::string> device;   ///< name that the CUDA driver gives the device
  std::optional<std::string> driver;   ///< version of the device's driver
  std::string commit;
  std::string version;
  /// Values of a sweep's axes as one flat JSON object of numbers and texts, without spaces: {"context":1024}.
  std::optional<std::string> axes;
};

/// Executor name of predicted records.
inline constexpr std::string_view kSimulator = "simulator";

/// The schedule for people: "lean", or "auto (lean)" where it was chosen.
std::string schedule_words(const Record& record);

/// "auto (CHOSEN)"
std::string auto_words(const std::string& chosen);

/// One line of JSON, keys in the order above. Numbers are written so that they read back to the same bits, whatever
/// the locale. A figure that is not finite is left out, because JSON has no way to write it.
std::string to_json(const Record& record);

/// The record of one line of JSON. Throws InputError that begins with `where`, and names key and value.
Record parse_record(std::string_view line, const std::string& where);

/// Records of a JSON Lines text (empty lines are skipped). Throws InputError naming `where`, line, key and value.
std::vector<Record> parse_records(std::string_view text, const std::string& where);

}  // namespace splitwave::reports
