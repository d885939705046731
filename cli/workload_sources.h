// SPDX-License-Identifier: Apache-2.0
// Where the workload verb gets workloads from, besides files in splitwave's own format.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/replay.h"
#include "workloads/workload.h"

namespace splitwave::cli {

struct ImportOptions {
  std::string file;
  std::string batch;  ///< config.json only
  std::int32_t tensor_parallel = 1;
  std::string model;  ///< traces only
  std::int64_t steps = 8;
  workloads::ReplayOptions replay;
  std::uint64_t seed = 0;
  std::vector<std::string> given;  ///< names of the options above that stood on the command line
  std::string output;
  bool json = false;  ///< given or not, the output is JSON Lines
};

/// The options that only a config.json, and only a trace, has a use for.
inline constexpr std::array<std::string_view, 2> kConfigOptions = {"--batch", "--tensor-parallel"};
inline constexpr std::array<std::string_view, 4> kTraceOptions = {"--model", "--steps", "--max-running",
                                                                  "--step-seconds"};

/// Workloads of a foreign file, told apart by its content: a Hugging Face config.json with the batch of the options
/// (two workloads if some of its layers have a window), or decode steps drawn from a replayed trace. Throws InputError
/// for a missing option, one of the other kind of file, or a bad file.
std::vector<workloads::Workload> import_workloads(const ImportOptions& options);

struct GenerateOptions {
  std::string kind;
  std::string model;
  std::string name;
  std::optional<std::int32_t> tensor_parallel;
  std::map<std::string, std::optional<double>> numbers;  ///< by key of the format's "generate" object
  std::optional<std::string> lengths;
  std::optional<std::uint64_t> seed;
  std::string output;
  bool json = false;  ///< given or not, the output is JSON Lines
};

/// The workload of a "generate" object of the workload format (docs/workloads.md) made from the options, which checks
/// them: the format has the rules once.
std::vector<workloads::Workload> generate_workloads(const GenerateOptions& options);

}  // namespace splitwave::cli
