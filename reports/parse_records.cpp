// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>

#include "base/document.h"
#include "base/fields.h"
#include "reports/record.h"

namespace splitwave::reports {
namespace {

using base::Fields;
using Key = std::string_view;

constexpr std::array<Key, 39> kRecordKeys = {
    "workload",         "schedule",    "executor",     "machine",      "chosen",         "seconds",
    "seconds_p20",      "seconds_p80", "samples",      "interrupted",  "sampled_groups", "bytes",
    "bytes_per_second", "num_splits",  "ctas",         "waves",        "occupancy",      "merge",
    "kernel",           "rounding",    "read_seconds", "plan_seconds", "joules",         "sm_clock_mhz",
    "speed_up",         "probes",      "breakdown",    "traffic",      "energy",         "io",
    "stages",           "error",       "repeat",       "failure",      "device",         "driver",
    "commit",           "version",     "axes"};
constexpr std::array<Key, 5> kSpeedUpKeys = {"over", "median", "low", "high", "pairs"};
constexpr std::array<Key, 11> kProbesKeys = {"read_by_one",  "read_by_all",  "seconds_per_kv_byte",
                                             "fork_seconds", "item_seconds", "merge_seconds_per_row_split",
                                             "read_spread",  "tile_spread",  "rounds",
                                             "overlap",      "list_seconds"};
constexpr std::array<Key, 7> kBreakdownKeys = {"launch", "ramp", "stream", "compute", "merge", "wait", "idle"};
constexpr std::array<Key, 6> kTrafficKeys = {"kv_dram_read",   "kv_l2_read",       "q_read",
                                             "output_written", "partials_written", "partials_read"};
constexpr std::array<Key, 6> kEnergyKeys = {"idle", "sms", "dram", "l2", "shared", "arithmetic"};
constexpr std::array<Key, 6> kIoKeys = {"q", "kv", "scores", "output", "statistics", "partials"};
constexpr std::array<Key, 10> kStagesKeys = {"batch",        "prompt_tokens", "output_tokens", "prefill",
                                             "attention",    "projections",   "mlp",           "lm_head",
                                             "cache_append", "all_reduce"};
constexpr std::array<Key, 4> kErrorKeys = {"relative_l2", "rmse", "max_abs", "predicted_rmse"};
constexpr std::array<Key, 3> kRepeatKeys = {"runs", "differing", "first"};
constexpr double kMost = std::numeric_limits<double>::max();

std::optional<double> number(const Fields& fields, Key key) {
  return fields.optional_number(key, 0, kMost);
}

std::optional<std::int64_t> integer(const Fields& fields, Key key) {
  return fields.optional_integer(key, 0, std::numeric_limits<std::int64_t>::max());
}

RecordSpeedUp read_speed_up(const Fields& fields) {
  const auto factor = [&](Key key) { return fields.number(key, 0, kMost); };
  return RecordSpeedUp{fields.line("over"), factor("median"), factor("low"), factor("high"),
                       fields.integer("pairs", 1, std::numeric_limits<std::int64_t>::max())};
}

RecordProbes read_probes(const Fields& fields) {
  const auto part = [&](Key key) { return fields.number(key, 0, kMost); };
  return RecordProbes{part("read_by_one"),
                      part("read_by_all"),
                      part("seconds_per_kv_byte"),
                      part("fork_seconds"),
                      part("item_seconds"),
                      part("merge_seconds_per_row_split"),
                      part("read_spread"),
                      part("tile_spread"),
                      fields.integer("rounds", 1, std::numeric_limits<std::int64_t>::max()),
                      number(fields, "overlap"),
                      number(fields, "list_seconds")};
}

schedules::Breakdown read_breakdown(const Fields& fields) {
  const auto part = [&](Key key) { return fields.number(key, 0, kMost); };
  return schedules::Breakdown{part("launch"), part("ramp"), part("stream"), part("compute"),
                              part("merge"),  part("wait"), part("idle")};
}

schedules::Traffic read_traffic(const Fields& fields) {
  const auto bytes = [&](Key key) { return fields.integer(key, 0, std::numeric_limits<std::int64_t>::max()); };
  return schedules::Traffic{bytes("kv_dram_read"),   bytes("kv_l2_read"),       bytes("q_read"),
                            bytes("output_written"), bytes("partials_written"), bytes("partials_read")};
}

schedules::Energy read_energy(const Fields& fields) {
  const auto joules = [&](Key key) { return fields.number(key, 0, kMost); };
  return schedules::Energy{joules("idle"), joules("sms"),    joules("dram"),
                           joules("l2"),   joules("shared"), joules("arithmetic")};
}

RecordIo read_io(const Fields& fields) {
  const auto part = [&](Key key) { return fields.integer(key, 0, std::numeric_limits<std::int64_t>::max()); };
  return RecordIo{part("q"), part("kv"), part("scores"), part("output"), part("statistics"), part("partials")};
}

RecordStages read_stages(const Fields& fields) {
  const auto count = [&](Key key) { return fields.integer(key, 0, std::numeric_limits<std::int64_t>::max()); };
  const auto part = [&](Key key) { return fields.number(key, 0, kMost); };
  return RecordStages{count("batch"),    count("prompt_tokens"), count("output_tokens"),
                      part("prefill"),   part("attention"),      part("projections"),
                      part("mlp"),       part("lm_head"),        part("cache_append"),
                      part("all_reduce")};
}

/// The object as text of one form.
std::string read_axes(const Fields& fields) {
  const base::JsonValue& object = fields.at("axes");
  const std::string allowed = "an object of numbers and texts";
  if (!object.is(base::JsonValue::Kind::object)) fields.refuse("axes", allowed);
  nlohmann::ordered_json axes = nlohmann::ordered_json::object();
  for (std::size_t i = 0; i < object.keys.size(); ++i) {
    const base::JsonValue& value = object.items[i];
    nlohmann::ordered_json& axis = axes[object.keys[i]];
    if (value.is(base::JsonValue::Kind::text)) {
      axis = value.text;
    } else if (const auto integer = value.as_int64()) {
      axis = *integer;
    } else if (const auto real = value.as_double()) {
      axis = *real;
    } else {
      fields.refuse("axes", allowed);
    }
  }
  return axes.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

/// to_json leaves out an error that is not finite; it must not read back as a perfect 0.
RecordError read_error(const Fields& fields) {
  constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
  return RecordError{number(fields, "relative_l2").value_or(kUnknown), number(fields, "rmse").value_or(kUnknown),
                     number(fields, "max_abs").value_or(kUnknown), number(fields, "predicted_rmse")};
}

RecordRepeat read_repeat(const Fields& fields) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  return RecordRepeat{fields.integer("runs", 2, most), fields.integer("differing", 0, most),
                      fields.optional_line("first").value_or("")};
}

/// The objects inside of a record.
void read_parts(const Fields& fields, const std::string& where, Record& record) {
  if (fields.has("speed_up")) {
    record.speed_up = read_speed_up(Fields(fields.at("speed_up"), where, "speed_up", kSpeedUpKeys));
  }
  if (fields.has("probes")) {
    record.probes = read_probes(Fields(fields.at("probes"), where, "probes", kProbesKeys));
  }
  if (fields.has("breakdown")) {
    record.breakdown = read_breakdown(Fields(fields.at("breakdown"), where, "breakdown", kBreakdownKeys));
  }
  if (fields.has("traffic")) {
    record.traffic = read_traffic(Fields(fields.at("traffic"), where, "traffic", kTrafficKeys));
  }
  if (fields.has("energy")) {
    record.energy = read_energy(Fields(fields.at("energy"), where, "energy", kEnergyKeys));
  }
  if (fields.has("io")) {
    record.io = read_io(Fields(fields.at("io"), where, "io", kIoKeys));
  }
  if (fields.has("stages")) {
    record.stages = read_stages(Fields(fields.at("stages"), where, "stages", kStagesKeys));
  }
  if (fields.has("error")) {
    record.error = read_error(Fields(fields.at("error"), where, "error", kErrorKeys));
  }
  if (fields.has("repeat")) {
    record.repeat = read_repeat(Fields(fields.at("repeat"), where, "repeat", kRepeatKeys));
  }
}

Record read_record(const base::JsonValue& json, const std::string& where) {
  const Fields fields(json, where, "", kRecordKeys);
  Record record;
  record.workload = fields.line("workload");
  record.schedule = fields.line("schedule");
  record.executor = fields.line("executor");
  record.machine = fields.line("machine");
  record.chosen = fields.optional_line("chosen");
  record.seconds = number(fields, "seconds");
  record.seconds_p20 = number(fields, "seconds_p20");
  record.seconds_p80 = number(fields, "seconds_p80");
  record.samples = integer(fields, "samples");
  record.interrupted = integer(fields, "interrupted");
  record.sampled_groups = integer(fields, "sampled_groups");
  record.bytes = integer(fields, "bytes");
  record.bytes_per_second = number(fields, "bytes_per_second");
  record.num_splits = integer(fields, "num_splits");
  record.ctas = integer(fields, "ctas");
  record.waves = number(fields, "waves");
  record.occupancy = number(fields, "occupancy");
  record.merge = fields.optional_line("merge");
  record.kernel = fields.optional_line("kernel");
  record.rounding = fields.optional_line("rounding");
  record.read_seconds = number(fields, "read_seconds");
  record.plan_seconds = number(fields, "plan_seconds");
  record.joules = number(fields, "joules");
  record.sm_clock_mhz = number(fields, "sm_clock_mhz");
  read_parts(fields, where, record);
  record.failure = fields.optional_line("failure");
  record.device = fields.optional_line("device");
  record.driver = fields.optional_line("driver");
  record.commit = fields.line("commit");
  record.version = fields.line("version");
  if (fields.has("axes")) record.axes = read_axes(fields);
  return record;
}

}  // namespace

Record parse_record(std::string_view line, const std::string& where) {
  return read_record(base::parse_document(line, where), where);
}

std::vector<Record> parse_records(std::string_view text, const std::string& where) {
  std::vector<Record> records;
  std::int64_t number = 0;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    ++number;
    if (line.find_first_not_of(" \t\r") != std::string_view::npos) {
      const std::string at = fmt::format("{}: line {}", where, number);
      records.push_back(parse_record(line, at));
    }
  }
  return records;
}

}  // namespace splitwave::reports
