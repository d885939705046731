// SPDX-License-Identifier: Apache-2.0
#include "reports/record.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace splitwave::reports {
namespace {

using Json = nlohmann::ordered_json;

void put(Json& object, const char* key, double value) {
  if (std::isfinite(value)) {
    object[key] = value;
  }
}

template <typename Value>
void put(Json& object, const char* key, const std::optional<Value>& value) {
  if (!value) {
    return;
  }
  if constexpr (std::is_same_v<Value, double>) {
    put(object, key, *value);
  } else {
    object[key] = *value;
  }
}

Json speed_up_json(const RecordSpeedUp& speed_up) {
  Json object = Json::object();
  object["over"] = speed_up.over;
  put(object, "median", speed_up.median);
  put(object, "low", speed_up.low);
  put(object, "high", speed_up.high);
  object["pairs"] = speed_up.pairs;
  return object;
}

Json probes_json(const RecordProbes& probes) {
  Json object = Json::object();
  put(object, "read_by_one", probes.read_by_one);
  put(object, "read_by_all", probes.read_by_all);
  put(object, "seconds_per_kv_byte", probes.seconds_per_kv_byte);
  put(object, "fork_seconds", probes.fork_seconds);
  put(object, "item_seconds", probes.item_seconds);
  put(object, "merge_seconds_per_row_split", probes.merge_seconds_per_row_split);
  put(object, "read_spread", probes.read_spread);
  put(object, "tile_spread", probes.tile_spread);
  object["rounds"] = probes.rounds;
  put(object, "overlap", probes.overlap);
  put(object, "list_seconds", probes.list_seconds);
  return object;
}

Json breakdown_json(const schedules::Breakdown& parts) {
  Json object = Json::object();
  put(object, "launch", parts.launch);
  put(object, "ramp", parts.ramp);
  put(object, "stream", parts.stream);
  put(object, "compute", parts.compute);
  put(object, "merge", parts.merge);
  put(object, "wait", parts.wait);
  put(object, "idle", parts.idle);
  return object;
}

Json traffic_json(const schedules::Traffic& bytes) {
  Json object = Json::object();
  object["kv_dram_read"] = bytes.kv_dram_read;
  object["kv_l2_read"] = bytes.kv_l2_read;
  object["q_read"] = bytes.q_read;
  object["output_written"] = bytes.output_written;
  object["partials_written"] = bytes.partials_written;
  object["partials_read"] = bytes.partials_read;
  return object;
}

Json energy_json(const schedules::Energy& joules) {
  Json object = Json::object();
  put(object, "idle", joules.idle);
  put(object, "sms", joules.sms);
  put(object, "dram", joules.dram);
  put(object, "l2", joules.l2);
  put(object, "shared", joules.shared);
  put(object, "arithmetic", joules.arithmetic);
  return object;
}

Json stages_json(const RecordStages& stages) {
  return {{"batch", stages.batch},
          {"prompt_tokens", stages.prompt_tokens},
          {"output_tokens", stages.output_tokens},
          {"prefill", stages.prefill},
          {"attention", stages.attention},
          {"projections", stages.projections},
          {"mlp", stages.mlp},
          {"lm_head", stages.lm_head},
          {"cache_append", stages.cache_append},
          {"all_reduce", stages.all_reduce}};
}

Json io_json(const RecordIo& io) {
  return {{"q", io.q},
          {"kv", io.kv},
          {"scores", io.scores},
          {"output", io.output},
          {"statistics", io.statistics},
          {"partials", io.partials}};
}

Json error_json(const RecordError& error) {
  Json object = Json::object();
  put(object, "relative_l2", error.relative_l2);
  put(object, "rmse", error.rmse);
  put(object, "max_abs", error.max_abs);
  put(object, "predicted_rmse", error.predicted_rmse);
  return object;
}

Json repeat_json(const RecordRepeat& repeat) {
  Json object = {{"runs", repeat.runs}, {"differing", repeat.differing}};
  if (!repeat.first.empty()) object["first"] = repeat.first;
  return object;
}

/// The objects inside of a record, in this order.
void put_parts(Json& object, const Record& record) {
  if (record.speed_up) {
    object["speed_up"] = speed_up_json(*record.speed_up);
  }
  if (record.probes) {
    object["probes"] = probes_json(*record.probes);
  }
  if (record.breakdown) {
    object["breakdown"] = breakdown_json(*record.breakdown);
  }
  if (record.traffic) {
    object["traffic"] = traffic_json(*record.traffic);
  }
  if (record.energy) {
    object["energy"] = energy_json(*record.energy);
  }
  if (record.io) {
    object["io"] = io_json(*record.io);
  }
  if (record.stages) {
    object["stages"] = stages_json(*record.stages);
  }
  if (record.error) {
    object["error"] = error_json(*record.error);
  }
  if (record.repeat) {
    object["repeat"] = repeat_json(*record.repeat);
  }
}

}  // namespace

std::string schedule_words(const Record& record) {
  return record.chosen ? auto_words(*record.chosen) : record.schedule;
}

std::string auto_words(const std::string& chosen) {
  return "auto (" + chosen + ')';
}

std::string to_json(const Record& record) {
  Json object = Json::object();
  object["workload"] = record.workload;
  object["schedule"] = record.schedule;
  object["executor"] = record.executor;
  object["machine"] = record.machine;
  put(object, "chosen", record.chosen);
  put(object, "seconds", record.seconds);
  put(object, "seconds_p20", record.seconds_p20);
  put(object, "seconds_p80", record.seconds_p80);
  put(object, "samples", record.samples);
  put(object, "interrupted", record.interrupted);
  put(object, "sampled_groups", record.sampled_groups);
  put(object, "bytes", record.bytes);
  put(object, "bytes_per_second", record.bytes_per_second);
  put(object, "num_splits", record.num_splits);
  put(object, "ctas", record.ctas);
  put(object, "waves", record.waves);
  put(object, "occupancy", record.occupancy);
  put(object, "merge", record.merge);
  put(object, "kernel", record.kernel);
  put(object, "rounding", record.rounding);
  put(object, "read_seconds", record.read_seconds);
  put(object, "plan_seconds", record.plan_seconds);
  put(object, "joules", record.joules);
  put(object, "sm_clock_mhz", record.sm_clock_mhz);
  put_parts(object, record);
  put(object, "failure", record.failure);
  put(object, "device", record.device);
  put(object, "driver", record.driver);
  object["commit"] = record.commit;
  object["version"] = record.version;
  if (record.axes) object["axes"] = Json::parse(*record.axes);
  // A name that is not UTF-8 (a processor's, say) must not lose the record: its bad bytes become U+FFFD.
  return object.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace splitwave::reports
