// SPDX-License-Identifier: Apache-2.0
#include "workloads/load.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <span>

#include "base/embedded_file.h"
#include "base/error.h"
#include "base/text.h"
#include "workloads/data.h"

namespace splitwave::workloads {

std::vector<std::string> suite_names() {
  std::vector<std::string> names;
  for (const base::EmbeddedFile& suite : suite_files()) names.emplace_back(suite.name);
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<Workload> load(const std::string& argument) {
  struct stat status {};
  const bool has_nul = argument.find('\0') != std::string::npos;
  const bool exists = !argument.empty() && !has_nul && stat(argument.c_str(), &status) == 0;
  // A folder of a suite's name holds its results rather than a workload.
  const std::span<const base::EmbeddedFile> suites = suite_files();
  const auto suite = std::find_if(suites.begin(), suites.end(), [&](const auto& one) { return one.name == argument; });
  const bool is_suite = suite != suites.end();
  if (exists && !(is_suite && S_ISDIR(status.st_mode))) return parse_json(base::read_text_file(argument), argument);
  if (is_suite) return parse_json(suite->text, "suite " + argument);
  const bool is_path = argument.find(".json") != std::string::npos;  // h=32/8 holds a slash too
  if (!is_path && argument.find(':') != std::string::npos) return {parse_spec(argument)};

  std::vector<std::string> names = suite_names();
  for (const std::string& model : model_names()) names.push_back(model + ":8q1s32k");
  const std::vector<std::string> models = model_names();
  const bool is_model = std::find(models.begin(), models.end(), argument) != models.end();
  std::string hint = is_model ? fmt::format("; a model needs a batch: {}:8q1s32k", argument) : "";
  if (hint.empty()) hint = base::did_you_mean(argument, names);
  throw base::InputError(fmt::format("workload {}: no such file, no shipped suite ({}) and no MODEL:BATCH{}",
                                     base::printable(argument, 200), base::join(suite_names()), hint));
}

}  // namespace splitwave::workloads
