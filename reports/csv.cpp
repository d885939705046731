// SPDX-License-Identifier: Apache-2.0
#include "reports/csv.h"

#include <fmt/format.h>

#include <cmath>

#include "reports/table.h"

namespace splitwave::reports {
namespace {

std::string cell(double value) {
  return std::isfinite(value) ? fmt::format("{}", value) : "";
}
std::string cell(std::int64_t value) {
  return fmt::format("{}", value);
}
std::string cell(const std::string& value) {
  return value;
}

template <typename Value>
std::string cell(const std::optional<Value>& value) {
  return value ? cell(*value) : "";
}

template <typename Part, typename Value>
std::string part(const std::optional<Part>& whole, Value Part::*member) {
  return whole ? cell((*whole).*member) : "";
}

struct Field {
  const char* title;
  std::string (*cell)(const Record& record);
};

constexpr Field kFields[] = {
    {"workload", [](const Record& r) { return r.workload; }},
    {"schedule", [](const Record& r) { return r.schedule; }},
    {"executor", [](const Record& r) { return r.executor; }},
    {"machine", [](const Record& r) { return r.machine; }},
    {"chosen", [](const Record& r) { return cell(r.chosen); }},
    {"seconds", [](const Record& r) { return cell(r.seconds); }},
    {"seconds_p20", [](const Record& r) { return cell(r.seconds_p20); }},
    {"seconds_p80", [](const Record& r) { return cell(r.seconds_p80); }},
    {"samples", [](const Record& r) { return cell(r.samples); }},
    {"interrupted", [](const Record& r) { return cell(r.interrupted); }},
    {"sampled_groups", [](const Record& r) { return cell(r.sampled_groups); }},
    {"bytes", [](const Record& r) { return cell(r.bytes); }},
    {"bytes_per_second", [](const Record& r) { return cell(r.bytes_per_second); }},
    {"num_splits", [](const Record& r) { return cell(r.num_splits); }},
    {"ctas", [](const Record& r) { return cell(r.ctas); }},
    {"waves", [](const Record& r) { return cell(r.waves); }},
    {"occupancy", [](const Record& r) { return cell(r.occupancy); }},
    {"merge", [](const Record& r) { return cell(r.merge); }},
    {"kernel", [](const Record& r) { return cell(r.kernel); }},
    {"rounding", [](const Record& r) { return cell(r.rounding); }},
    {"read_seconds", [](const Record& r) { return cell(r.read_seconds); }},
    {"plan_seconds", [](const Record& r) { return cell(r.plan_seconds); }},
    {"joules", [](const Record& r) { return cell(r.joules); }},
    {"sm_clock_mhz", [](const Record& r) { return cell(r.sm_clock_mhz); }},
    {"speed_up.over", [](const Record& r) { return part(r.speed_up, &RecordSpeedUp::over); }},
    {"speed_up.median", [](const Record& r) { return part(r.speed_up, &RecordSpeedUp::median); }},
    {"speed_up.low", [](const Record& r) { return part(r.speed_up, &RecordSpeedUp::low); }},
    {"speed_up.high", [](const Record& r) { return part(r.speed_up, &RecordSpeedUp::high); }},
    {"speed_up.pairs", [](const Record& r) { return part(r.speed_up, &RecordSpeedUp::pairs); }},
    {"probes.read_by_one", [](const Record& r) { return part(r.probes, &RecordProbes::read_by_one); }},
    {"probes.read_by_all", [](const Record& r) { return part(r.probes, &RecordProbes::read_by_all); }},
    {"probes.seconds_per_kv_byte", [](const Record& r) { return part(r.probes, &RecordProbes::seconds_per_kv_byte); }},
    {"probes.fork_seconds", [](const Record& r) { return part(r.probes, &RecordProbes::fork_seconds); }},
    {"probes.item_seconds", [](const Record& r) { return part(r.probes, &RecordProbes::item_seconds); }},
    {"probes.merge_seconds_per_row_split",
     [](const Record& r) { return part(r.probes, &RecordProbes::merge_seconds_per_row_split); }},
    {"probes.read_spread", [](const Record& r) { return part(r.probes, &RecordProbes::read_spread); }},
    {"probes.tile_spread", [](const Record& r) { return part(r.probes, &RecordProbes::tile_spread); }},
    {"probes.rounds", [](const Record& r) { return part(r.probes, &RecordProbes::rounds); }},
    {"probes.overlap", [](const Record& r) { return part(r.probes, &RecordProbes::overlap); }},
    {"probes.list_seconds", [](const Record& r) { return part(r.probes, &RecordProbes::list_seconds); }},
    {"breakdown.launch", [](const Record& r) { return part(r.breakdown, &schedules::Breakdown::launch); }},
    {"breakdown.ramp", [](const Record& r) { return part(r.breakdown, &schedules::Breakdown::ramp); }},
    {"breakdown.stream", [](const Record& r) { return part(r.breakdown, &schedules::Breakdown::stream); }},
    {"breakdown.compute", [](const Record& r) { return part(r.breakdown, &schedules::Breakdown::compute); }},
    {"breakdown.merge", [](const Record& r) { return part(r.breakdown, &schedules::Breakdown::merge); }},
    {"breakdown.wait", [](const Record& r) { return part(r.breakdown, &schedules::Breakdown::wait); }},
    {"breakdown.idle", [](const Record& r) { return part(r.breakdown, &schedules::Breakdown::idle); }},
    {"traffic.kv_dram_read", [](const Record& r) { return part(r.traffic, &schedules::Traffic::kv_dram_read); }},
    {"traffic.kv_l2_read", [](const Record& r) { return part(r.traffic, &schedules::Traffic::kv_l2_read); }},
    {"traffic.q_read", [](const Record& r) { return part(r.traffic, &schedules::Traffic::q_read); }},
    {"traffic.output_written", [](const Record& r) { return part(r.traffic, &schedules::Traffic::output_written); }},
    {"traffic.partials_written",
     [](const Record& r) { return part(r.traffic, &schedules::Traffic::partials_written); }},
    {"traffic.partials_read", [](const Record& r) { return part(r.traffic, &schedules::Traffic::partials_read); }},
    {"energy.idle", [](const Record& r) { return part(r.energy, &schedules::Energy::idle); }},
    {"energy.sms", [](const Record& r) { return part(r.energy, &schedules::Energy::sms); }},
    {"energy.dram", [](const Record& r) { return part(r.energy, &schedules::Energy::dram); }},
    {"energy.l2", [](const Record& r) { return part(r.energy, &schedules::Energy::l2); }},
    {"energy.shared", [](const Record& r) { return part(r.energy, &schedules::Energy::shared); }},
    {"energy.arithmetic", [](const Record& r) { return part(r.energy, &schedules::Energy::arithmetic); }},
    {"io.q", [](const Record& r) { return part(r.io, &RecordIo::q); }},
    {"io.kv", [](const Record& r) { return part(r.io, &RecordIo::kv); }},
    {"io.scores", [](const Record& r) { return part(r.io, &RecordIo::scores); }},
    {"io.output", [](const Record& r) { return part(r.io, &RecordIo::output); }},
    {"io.statistics", [](const Record& r) { return part(r.io, &RecordIo::statistics); }},
    {"io.partials", [](const Record& r) { return part(r.io, &RecordIo::partials); }},
    {"stages.batch", [](const Record& r) { return part(r.stages, &RecordStages::batch); }},
    {"stages.prompt_tokens", [](const Record& r) { return part(r.stages, &RecordStages::prompt_tokens); }},
    {"stages.output_tokens", [](const Record& r) { return part(r.stages, &RecordStages::output_tokens); }},
    {"stages.prefill", [](const Record& r) { return part(r.stages, &RecordStages::prefill); }},
    {"stages.attention", [](const Record& r) { return part(r.stages, &RecordStages::attention); }},
    {"stages.projections", [](const Record& r) { return part(r.stages, &RecordStages::projections); }},
    {"stages.mlp", [](const Record& r) { return part(r.stages, &RecordStages::mlp); }},
    {"stages.lm_head", [](const Record& r) { return part(r.stages, &RecordStages::lm_head); }},
    {"stages.cache_append", [](const Record& r) { return part(r.stages, &RecordStages::cache_append); }},
    {"stages.all_reduce", [](const Record& r) { return part(r.stages, &RecordStages::all_reduce); }},
    {"error.relative_l2", [](const Record& r) { return part(r.error, &RecordError::relative_l2); }},
    {"error.rmse", [](const Record& r) { return part(r.error, &RecordError::rmse); }},
    {"error.max_abs", [](const Record& r) { return part(r.error, &RecordError::max_abs); }},
    {"error.predicted_rmse", [](const Record& r) { return part(r.error, &RecordError::predicted_rmse); }},
    {"repeat.runs", [](const Record& r) { return part(r.repeat, &RecordRepeat::runs); }},
    {"repeat.differing", [](const Record& r) { return part(r.repeat, &RecordRepeat::differing); }},
    {"repeat.first", [](const Record& r) { return part(r.repeat, &RecordRepeat::first); }},
    {"failure", [](const Record& r) { return cell(r.failure); }},
    {"device", [](const Record& r) { return cell(r.device); }},
    {"driver", [](const Record& r) { return cell(r.driver); }},
    {"commit", [](const Record& r) { return r.commit; }},
    {"version", [](const Record& r) { return r.version; }},
    {"axes", [](const Record& r) { return cell(r.axes); }},
};

}  // namespace

std::string to_csv(std::span<const Record> records) {
  return csv_header() + csv_lines(records);
}

std::string csv_header() {
  return csv_row(csv_columns());
}

std::string csv_lines(std::span<const Record> records) {
  std::string text;
  std::vector<std::string> row(std::size(kFields));
  for (const Record& record : records) {
    for (std::size_t i = 0; i < row.size(); ++i) row[i] = kFields[i].cell(record);
    text += csv_row(row);
  }
  return text;
}

std::vector<std::string> csv_columns() {
  std::vector<std::string> titles;
  for (const Field& field : kFields) titles.emplace_back(field.title);
  return titles;
}

std::string csv_cell(const Record& record, std::size_t column) {
  return kFields[column].cell(record);
}

}  // namespace splitwave::reports
