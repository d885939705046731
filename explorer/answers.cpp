// SPDX-License-Identifier: Apache-2.0
#include "explorer/answers.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/build_info.h"
#include "base/document.h"
#include "base/error.h"
#include "base/fields.h"
#include "reports/trace.h"
#include "schedules/schedules.h"
#include "simulator/kernel.h"
#include "simulator/machine.h"
#include "studies/choose.h"
#include "studies/explain.h"
#include "studies/records.h"
#include "studies/traced_plan.h"
#include "workloads/import.h"
#include "workloads/load.h"
#include "workloads/models.h"

namespace splitwave::explorer {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, 11> kQuestionKeys = {
    "workload", "gpu", "schedules", "sms", "bandwidth", "l2", "clock", "ctas_per_sm", "kernel", "spans", "explain"};

std::string printed(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

struct Question {
  std::string workload;
  std::string gpu;
  std::vector<std::string> schedules;
  studies::Overrides overrides;
  bool spans = false;
  bool explain = false;
};

Question read_question(std::string_view text) {
  using Limits = studies::OverrideLimits;
  const std::string where = "question";
  const base::JsonValue json = base::parse_document(text, where);
  const base::Fields fields(json, where, "", kQuestionKeys);
  Question question;
  question.workload = fields.text("workload");
  question.gpu = fields.text("gpu");
  for (const base::JsonValue& one : fields.array("schedules").items) question.schedules.push_back(one.text);
  question.overrides.sms = fields.optional_int32("sms", 0, Limits::sms).value_or(0);
  question.overrides.bandwidth_gb_per_s =
      fields.optional_number("bandwidth", 0, Limits::bandwidth_gb_per_s).value_or(0);
  question.overrides.l2_bytes =
      fields.optional_integer("l2", 0, static_cast<std::int64_t>(Limits::l2_bytes)).value_or(0);
  question.overrides.clock_mhz = fields.optional_number("clock", 0, Limits::clock_mhz).value_or(0);
  question.overrides.ctas_per_sm = fields.optional_int32("ctas_per_sm", 0, Limits::ctas_per_sm).value_or(0);
  question.overrides.kernel = fields.optional_text("kernel").value_or("");
  question.spans = fields.optional_boolean("spans").value_or(false);
  question.explain = fields.optional_boolean("explain").value_or(false);
  return question;
}

Json workload_json(const workloads::Workload& workload) {
  std::int32_t longest = 0;
  for (const workloads::Request& request : workload.requests) longest = std::max(longest, request.context_len);
  const workloads::Geometry& g = workload.geometry;
  return {{"name", workload.name},       {"kind", to_string(g.kind)},
          {"dtype", to_string(g.dtype)}, {"query_heads", g.query_heads},
          {"kv_heads", g.kv_heads},      {"head_dim", g.head_dim},
          {"value_dim", g.value_dim},    {"requests", workload.requests.size()},
          {"longest", longest},          {"kv_bytes", workloads::kv_bytes(workload)}};
}

/// Adds the spans of a panel to the answer, and what the panel says of them to its JSON.
void add_spans(const workloads::Workload& workload, const studies::Prediction& prediction, std::size_t panel,
               Json& json, std::vector<double>& numbers) {
  const studies::PictureRows rows = studies::picture_rows(prediction.grid, prediction.kernel, prediction.timeline);
  const reports::TracedRun run{"", &workload, &prediction.plan, &prediction.timeline, rows.sms, rows.slots_per_sm};
  const std::vector<schedules::Span> spans = reports::drawn_spans(run);
  const std::size_t drawn = std::min(spans.size(), kMostSpans);
  json["rows"] = static_cast<std::int64_t>(rows.sms) * rows.slots_per_sm;
  json["slots_per_sm"] = rows.slots_per_sm;
  json["spans"] = drawn;
  json["cut"] = spans.size() - drawn;
  for (std::size_t i = 0; i < drawn; ++i) {
    const schedules::Span& span = spans[i];
    const bool merge = span.item < 0;
    const schedules::Item item = merge ? schedules::Item{} : prediction.plan.items[static_cast<std::size_t>(span.item)];
    const schedules::OutputTile output =
        merge ? schedules::OutputTile{-1} : prediction.plan.outputs[static_cast<std::size_t>(item.output)];
    const int head = merge ? -1 : schedules::kv_head(workload, output);
    for (const double number : {static_cast<double>(span.sm * rows.slots_per_sm + span.slot), span.begin_seconds,
                                span.end_seconds, static_cast<double>(output.request), static_cast<double>(head),
                                static_cast<double>(merge ? -1 : item.output), static_cast<double>(item.kv_begin),
                                static_cast<double>(item.kv_end), merge ? 1.0 : 0.0, static_cast<double>(panel)}) {
      numbers.push_back(number);
    }
  }
}

/// One schedule: what the command line prints of it, and why its plan is as it is. A schedule that cannot serve the
/// workload is a record with the reason. Spans are predicted apart: with them SMs that are alike are not taken
/// together, and where two events end at one time, what a slot counts as meanwhile differs by a millionth.
Json panel_json(const Question& question, const std::string& schedule, std::size_t panel,
                const workloads::Workload& workload, const studies::Target& target, std::vector<double>& spans) {
  Json json = {{"schedule", schedule}};
  const std::string_view base = std::string_view(schedule).substr(0, schedule.find_first_of(":+"));
  if (schedule != studies::kAuto) json["source"] = schedules::find(base).source;
  try {
    const studies::Prediction prediction = studies::predict(workload, schedule, target);
    json["record"] = Json::parse(to_json(studies::record_of(prediction, workload, target)));
    if (prediction.by_auto) json["source"] = schedules::find(prediction.plan.schedule).source;
    json["reason"] = prediction.plan.reason;
    json["kernel"] = prediction.kernel.name;
    json["tile_q"] = prediction.plan.tile_q;
    json["tile_kv"] = prediction.plan.tile_kv;
    if (question.spans) {
      studies::PredictOptions with_spans;
      with_spans.spans = true;
      add_spans(workload, studies::predict(workload, schedule, target, with_spans), panel, json, spans);
    }
    if (question.explain) json["explanation"] = to_text(studies::explain(schedule, workload, target));
  } catch (const base::InputError& error) {
    json["record"] = Json::parse(to_json(
        studies::failed_record(workload.name, schedule, std::string(reports::kSimulator), target.name, error.what())));
  }
  return json;
}

}  // namespace

std::string catalogue() {
  Json models = Json::array();
  for (const workloads::Model& model : workloads::models()) {
    Json one = {{"name", model.name}, {"note", model.note}, {"source", model.source}};
    if (model.max_context) one["max_context"] = *model.max_context;
    models.push_back(one);
  }
  Json gpus = Json::array();
  for (const std::string& name : simulator::machine_names()) {
    const simulator::Machine machine = simulator::load_machine(name);
    gpus.push_back({{"name", name},
                    {"title", machine.title},
                    {"sms", machine.sms},
                    {"bandwidth", machine.dram_peak_bytes_per_second / 1e9},
                    {"clock", machine.clock_hz / 1e6},
                    {"l2", machine.l2_bytes}});
  }
  Json all = Json::array();
  for (const schedules::Schedule& one : schedules::all()) {
    all.push_back({{"name", one.name}, {"arguments", one.arguments}, {"summary", one.summary}, {"source", one.source}});
  }
  return printed({{"version", base::version()},
                  {"commit", base::commit()},
                  {"models", models},
                  {"gpus", gpus},
                  {"schedules", all},
                  {"compared", schedules::default_names()},
                  {"kernels", simulator::kernel_names()}});
}

Answer predict(std::string_view text) {
  Answer answer;
  try {
    const Question question = read_question(text);
    const workloads::Workload workload = workloads::parse_spec(question.workload);
    const studies::Target target = studies::target(question.gpu, question.overrides);
    Json panels = Json::array();
    for (std::size_t i = 0; i < question.schedules.size(); ++i) {
      panels.push_back(panel_json(question, question.schedules[i], i, workload, target, answer.spans));
    }
    answer.json = printed({{"workload", workload_json(workload)}, {"machine", target.name}, {"panels", panels}});
  } catch (const std::exception& error) {
    answer.spans.clear();
    answer.json = printed({{"error", error.what()}});
  }
  return answer;
}

std::string trace(std::string_view text) {
  try {
    Json requests = Json::array();
    for (const workloads::TraceRequest& one : workloads::import_trace(text, "trace")) {
      requests.push_back({one.prompt_tokens, one.output_tokens});
    }
    return printed({{"requests", requests}});
  } catch (const std::exception& error) {
    return printed({{"error", error.what()}});
  }
}

}  // namespace splitwave::explorer
