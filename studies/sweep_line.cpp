// SPDX-License-Identifier: Apache-2.0
#include "studies/sweep_line.h"

#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

namespace splitwave::studies {
namespace {

/// Appends a key with its comma and colon, and a number; what is not finite is left out, because JSON has no way to
/// write it.
void append_field(std::string& line, std::string_view key, double number) {
  if (!std::isfinite(number)) return;
  line += key;
  append_number(line, number);
}

void append_field(std::string& line, std::string_view key, std::int64_t number) {
  std::array<char, 24> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number).ptr;
  line += key;
  line.append(buffer.data(), end);
}

void append_names(std::string& line, const LineNames& names) {
  line += "{\"workload\":";
  line += names.workload;
  line += ",\"schedule\":";
  line += names.schedule;
  line += R"(,"executor":"simulator","machine":)";
  line += names.machine;
}

void append_tail(std::string& line, const LineNames& names) {
  line += ',';
  line += names.tail;
  line += ",\"axes\":";
  line += names.axes;
  line += "}\n";
}

}  // namespace

std::string json_string(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void append_number(std::string& line, double number) {
  std::array<char, 32> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number).ptr;
  line.append(buffer.data(), end);
}

void append_result(std::string& out, const LineNames& names, std::int64_t bytes, const schedules::Plan& plan,
                   const Simulated& simulated, bool by_auto) {
  const schedules::Timeline& timeline = simulated.timeline;
  append_names(out, names);
  if (by_auto) out += ",\"chosen\":" + json_string(plan.schedule);
  append_field(out, R"(,"seconds":)", timeline.seconds);
  append_field(out, R"(,"bytes":)", bytes);
  append_field(out, R"(,"bytes_per_second":)", static_cast<double>(bytes) / timeline.seconds);
  append_field(out, R"(,"num_splits":)", std::int64_t{plan.num_splits});
  append_field(out, R"(,"ctas":)", std::int64_t{plan.ctas()});
  append_field(out, R"(,"waves":)", timeline.waves);
  append_field(out, R"(,"occupancy":)", timeline.occupancy);
  out += ",\"merge\":\"";
  out += to_string(plan.merge);
  out += '"';
  if (!simulated.kernel.config.empty()) (out += ",\"kernel\":") += json_string(simulated.kernel.config);
  out += ",\"breakdown\":{\"launch\":";
  append_number(out, timeline.breakdown.launch);
  append_field(out, R"(,"ramp":)", timeline.breakdown.ramp);
  append_field(out, R"(,"stream":)", timeline.breakdown.stream);
  append_field(out, R"(,"compute":)", timeline.breakdown.compute);
  append_field(out, R"(,"merge":)", timeline.breakdown.merge);
  append_field(out, R"(,"wait":)", timeline.breakdown.wait);
  append_field(out, R"(,"idle":)", timeline.breakdown.idle);
  append_field(out, R"(},"traffic":{"kv_dram_read":)", timeline.traffic.kv_dram_read);
  append_field(out, R"(,"kv_l2_read":)", timeline.traffic.kv_l2_read);
  append_field(out, R"(,"q_read":)", timeline.traffic.q_read);
  append_field(out, R"(,"output_written":)", timeline.traffic.output_written);
  append_field(out, R"(,"partials_written":)", timeline.traffic.partials_written);
  append_field(out, R"(,"partials_read":)", timeline.traffic.partials_read);
  out += '}';
  append_tail(out, names);
}

void append_failure(std::string& out, const LineNames& names, std::string_view reason) {
  append_names(out, names);
  out += ",\"failure\":";
  out += json_string(reason);
  append_tail(out, names);
}

}  // namespace splitwave::studies
