// SPDX-License-Identifier: Apache-2.0
#include "studies/advise_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/build_info.h"
#include "base/error.h"
#include "base/text.h"
#include "schedules/schedules.h"
#include "studies/error_bands.h"
#include "studies/sweep_axis.h"
#include "workloads/limits.h"
#include "workloads/load.h"

namespace splitwave::studies {
namespace {

std::vector<std::int32_t> values(std::string_view name, std::int64_t most, bool binary, const std::string& text) {
  const AxisDomain domain{name, AxisType::integer, 1, static_cast<double>(most), binary, "--"};
  std::vector<std::int32_t> result;
  for (const AxisValue& value : parse_axis(domain, text).values) {
    result.push_back(static_cast<std::int32_t>(value.integer()));
  }
  std::sort(result.begin(), result.end());
  return result;
}

/// What is taken to be available if nobody says: what can be installed, and the schedules that were named.
std::vector<std::string> installable_and(const std::vector<std::string>& named) {
  std::vector<std::string> names = schedules::installable_names();
  for (const std::string& name : named) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

}  // namespace

AdviseQuestion question_of(const AdviseRequest& request) {
  AdviseQuestion question;
  const workloads::Workload spec = workloads::parse_spec(request.model + ":1q1s1");
  question.geometry = spec.geometry;
  question.kv = spec.kv;
  question.query_len = request.query_len;
  question.batches = values("batch", workloads::kMaxRequests, false, request.batches);
  question.contexts = values("context", workloads::kMaxContextLen, true, request.contexts);
  question.max_splits = request.max_splits;
  question.available = request.available.empty() ? installable_and(request.rules) : request.available;
  question.rules = request.rules.empty() ? question.available : request.rules;
  for (const std::string& name : question.available) schedules::find(name);
  for (const std::string& name : question.rules) schedules::find(name);
  const std::size_t points = question.batches.size() * question.contexts.size();
  if (points > kMostAdvicePoints) {
    throw base::InputError(fmt::format("advise: {} batches times {} contexts are {} points; allowed: at most {}",
                                       question.batches.size(), question.contexts.size(), points, kMostAdvicePoints));
  }
  return question;
}

std::string command_of(const AdviseRequest& request, const std::string& machine, const Overrides& overrides,
                       const std::string& format) {
  std::string command =
      fmt::format("splitwave advise --model {} --gpu {} --batch {} --context {}", base::shell_word(request.model),
                  base::shell_word(machine), base::shell_word(request.batches), base::shell_word(request.contexts));
  const auto list = [](const std::vector<std::string>& names) {
    return base::shell_word(fmt::format("{}", fmt::join(names, ",")));
  };
  if (request.query_len != 1) command += fmt::format(" --query-len {}", request.query_len);
  command += override_words(overrides);
  if (!request.available.empty()) command += fmt::format(" --available {}", list(request.available));
  if (request.max_splits > 0) command += fmt::format(" --max-splits {}", request.max_splits);
  if (!request.rules.empty()) command += fmt::format(" --schedule {}", list(request.rules));
  command += fmt::format(" --format {}", format);
  return base::printable(command, 1000);  // it goes into comments: no control characters
}

AdviceOrigin origin_of(const Advice& advice, const Target& target, const std::string& command) {
  return {command, fmt::format("splitwave {} ({})", base::version(), base::commit()),
          error_band(target, advice.question.geometry.kind, shown_schedules(advice))};
}

}  // namespace splitwave::studies
