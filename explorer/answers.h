// SPDX-License-Identifier: Apache-2.0
// What the page asks and gets: questions and answers in JSON, and the spans of timelines as numbers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace splitwave::explorer {

/// Numbers per span in Answer::spans: row (SM * slots per SM + slot), begin and end in seconds, request, KV head,
/// output, first KV token and end, kind (0: item, 1: merge), panel (index of the schedule).
inline constexpr int kSpanNumbers = 10;

/// Most spans that are drawn of a schedule; more are as thin as nothing, and make a browser slow.
inline constexpr std::size_t kMostSpans = 50'000;

struct Answer {
  std::string json;
  std::vector<double> spans;
};

/// {"version", "commit", "models": [{"name", "note", "source", "max_context"}], "gpus": [{"name", "title", "sms",
/// "bandwidth" (DRAM peak in GB/s), "clock" (MHz), "l2" (bytes)}], "schedules": [{"name", "arguments", "summary",
/// "source"}], "compared": names that are compared by default, "kernels": names}.
std::string catalogue();

/// The question is {"workload": one-line spec, "gpu", "schedules": [names], and optionally "sms", "bandwidth", "l2",
/// "clock", "ctas_per_sm", "kernel" as the options of the command line, "spans": true, "explain": true}. The answer:
/// {"workload": {"name", "kind", "dtype", "query_heads", "kv_heads", "head_dim", "value_dim", "requests", "longest",
/// "kv_bytes"}, "machine", "panels": [{"schedule": the name that was asked for, "record": as `simulate --json` prints
/// it, "reason", "source", "kernel", "tile_q", "tile_kv", "rows", "slots_per_sm", "spans", "cut": spans that are not
/// drawn, "explanation": text}]}; or {"error": one line}. Never throws: whatever a question holds, the answer says what
/// is wrong with it.
Answer predict(std::string_view question);

/// The requests of a trace (Azure's CSV or Mooncake's JSON Lines): {"requests": [[prompt, output], ...]}, tokens, in
/// order of arrival; or {"error"}.
std::string trace(std::string_view text);

}  // namespace splitwave::explorer
