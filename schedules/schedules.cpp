// SPDX-License-Identifier: Apache-2.0
#include "schedules/schedules.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "schedules/merge_choice.h"
#include "schedules/schedule_functions.h"

namespace splitwave::schedules {
namespace {

/// The table. A row is made of: name, arguments, summary, source, plan, kernel, when it is compared and as what, and as
/// what it can be installed.
std::vector<Schedule>& table() {
  static std::vector<Schedule> rows = {
      {"fa2", "", "FlashAttention-2: one CTA per output tile, no split",
       "Dao-AILab/flash-attention 0251105a csrc/flash_attn/src/flash_fwd_launch_template.h:64", fa2, fa2_kernel,
       Compared::always, "fa2", "fa2"},
      {"fixed-split", "N, fa2, fa2-2.5.6 or fa3",
       "FlashDecoding: every output in equal parts; N given, or by FlashAttention-2's rule (today's or v2.5.6's) or "
       "3's",
       "Dao-AILab/flash-attention 0251105a csrc/flash_attn/flash_api.cpp:281-347", fixed_split, fixed_split_kernel,
       Compared::always, "fixed-split:fa2", "fixed-split:fa2"},
      {"fa3", "nothing, or N",
       "FlashAttention-3's kv-cache path: splits per request, longest first, a queue of tiles; N: its num_splits",
       "Dao-AILab/flash-attention 0251105a hopper/heuristics.h:25-59, hopper/flash_prepare_scheduler.cu:141-158", fa3,
       fa3_kernel, Compared::always, "fa3", "fa3"},
      {"fa4", "nothing, or N",
       "FlashAttention-4 on Blackwell: every output in equal parts, by its own rule; N: its num_splits",
       "Dao-AILab/flash-attention 0251105a flash_attn/cute/interface.py:276-348", fa4, fa4_kernel, Compared::never, "",
       "fa4"},
      {"seq-aware", "nothing, or evolved",
       "FlashAttention-3 with the sequence-aware guard; evolved: 12 or 16 splits for one short prompt",
       "arXiv 2604.00028, Figures 2 and 1; Dao-AILab/flash-attention PR 2445", seq_aware, fa3_kernel, Compared::always,
       "seq-aware"},
      {"lean", "nothing, or ort",
       "LeanAttention: stream-K over LeanTiles; the paper's grid, or its ONNX Runtime code's",
       "arXiv 2405.10480, Algorithm 1; microsoft/onnxruntime lean_attention/lean_api.cc:198-233", lean, lean_kernel,
       Compared::always, "lean", "lean:ort"},
      {"flashinfer", "", "FlashInfer's tensor-core decode: the smallest chunk whose chunks fit on the machine at once",
       "flashinfer-ai/flashinfer fb28d7242 include/flashinfer/attention/scheduler.cuh:101-128,788-791", flashinfer,
       flashinfer_kernel, Compared::always, "flashinfer", "flashinfer"},
      {"flashinfer-holistic", "", "FlashInfer's persistent kernel: chunks of bounded length to the least loaded CTA",
       "flashinfer-ai/flashinfer fb28d7242 include/flashinfer/attention/scheduler.cuh:1242-1510", flashinfer_holistic,
       flashinfer_holistic_kernel, Compared::never, "", "flashinfer-holistic"},
      {"flashmla", "nothing, v0 or etap",
       "FlashMLA: parts of equal payload, with 5 blocks charged per request; v0: its first release's kernel, etap: "
       "FlashMLA-ETAP's, of 16 rows",
       "deepseek-ai/FlashMLA 9241ae3 "
       "csrc/smxx/decode/get_decoding_sched_meta/get_decoding_sched_meta.cu:62-107",
       flashmla, flashmla_kernel, Compared::latent_attention, "flashmla", "flashmla"},
      {"xqa", "nothing, trtllm, or N",
       "TensorRT-LLM's XQA kernel: sub-sequences by FlashInfer's rule, SMs / (requests x KV heads), or TensorRT-LLM's",
       "flashinfer-ai/flashinfer fb28d7242 csrc/xqa/mha.cu:3123-3130; NVIDIA/TensorRT-LLM 12453212b "
       "decoderXQAImplCommon.h:360-395",
       xqa, xqa_kernel, Compared::never, "", "xqa"},
      {"fixed-size", "T", "batch-invariant: every output cut at multiples of T tokens", "splitwave", fixed_size,
       splitwave_kernel, Compared::never, ""},
      {"longest-first", "T", "the pieces of fixed-size:T, those of most tokens begun first",
       "R. L. Graham, Bounds on Multiprocessing Timing Anomalies, 1969: a list in order of falling length",
       longest_first, splitwave_kernel, Compared::never, ""},
  };
  return rows;
}

/// A full name in its parts; its merge is merge_choice.h's.
struct Name {
  std::string_view base;
  std::string_view argument;
  bool has_argument = false;
};

Name parts_of(std::string_view full_name) {
  const std::string_view name = without_merge(full_name);
  const std::size_t colon = name.find(':');
  if (colon == std::string_view::npos) return {name, "", false};
  return {name.substr(0, colon), name.substr(colon + 1), true};
}

/// The same limit as for items: a grid beyond it is a typing error, and keeps every product within 64 bits.
void check_grid(const Grid& grid) {
  const auto require = [](std::string_view key, std::int64_t value, std::int64_t least, std::int64_t most) {
    if (value >= least && value <= most) return;
    throw base::InputError(fmt::format("grid: {} is {}; allowed: {} to {}", key, value, least, most));
  };
  constexpr std::int64_t most_ctas = std::int64_t{1} << 24;
  require("sms", grid.sms, 1, most_ctas);
  require("ctas_per_sm", grid.ctas_per_sm, 1, most_ctas);
  require("sms times ctas_per_sm", std::int64_t{grid.sms} * grid.ctas_per_sm, 1, most_ctas);
  require("row_blocks", grid.row_blocks, 1, std::int64_t{grid.sms} * grid.ctas_per_sm);
  require("tile_q", grid.tile_q, 0, most_ctas);
  require("tile_kv", grid.tile_kv, 0, std::int64_t{1} << 30);
}

bool is_compared(const Schedule& schedule, std::span<const workloads::Workload> workloads) {
  if (schedule.compared != Compared::latent_attention) return schedule.compared == Compared::always;
  return std::any_of(workloads.begin(), workloads.end(), [](const workloads::Workload& workload) {
    return workload.geometry.kind == workloads::AttentionKind::mla;
  });
}

}  // namespace

std::span<const Schedule> all() {
  return table();
}

void add(const Schedule& schedule) {
  const bool taken =
      std::any_of(all().begin(), all().end(), [&](const Schedule& known) { return known.name == schedule.name; });
  const bool nameable = !schedule.name.empty() && schedule.name.find_first_of(":+,") == std::string_view::npos;
  if (taken || !nameable || schedule.make == nullptr || schedule.kernel == nullptr) {
    throw std::logic_error(
        fmt::format("schedule '{}' is there already, has no plain name, or lacks a function", schedule.name));
  }
  table().push_back(schedule);
}

const Schedule& find(std::string_view name) {
  const std::string_view base = parts_of(name).base;
  for (const Schedule& schedule : all()) {
    if (schedule.name == base) return schedule;
  }
  std::vector<std::string> names;
  for (const Schedule& schedule : all()) names.emplace_back(schedule.name);
  throw base::InputError(fmt::format("schedule '{}' is not known{}; allowed: {}", base::printable(base),
                                     base::did_you_mean(base, names), base::join(names)));
}

std::string_view kernel_of(std::string_view name, const workloads::Workload& workload, std::int32_t num_splits) {
  const KernelFunction kernel = find(name).kernel;
  // No library's kernel merges in another way than its own schedule's.
  if (merge_of(name)) return splitwave_kernel(workload, "", num_splits);
  return kernel(workload, parts_of(name).argument, num_splits);
}

Plan make_plan(std::string_view name, const workloads::Workload& workload, const Grid& grid) {
  check_grid(grid);
  const Schedule& schedule = find(name);
  const Name parts = parts_of(name);
  if (parts.has_argument && (schedule.arguments.empty() || parts.argument.empty())) {
    throw base::InputError(fmt::format("schedule {}: argument '{}' is not allowed; allowed is {}", schedule.name,
                                       base::printable(parts.argument),
                                       schedule.arguments.empty() ? "none" : schedule.arguments));
  }
  const std::optional<MergeKind> merge = merge_of(name);
  Plan plan = schedule.make(workload, grid, parts.argument);
  plan.schedule = without_merge(name);
  if (merge) plan = with_merge(workload, std::move(plan), *merge, grid);
  return plan;
}

std::vector<std::string> default_names(std::span<const workloads::Workload> workloads) {
  std::vector<std::string> names;
  for (const Schedule& schedule : all()) {
    if (is_compared(schedule, workloads)) names.emplace_back(schedule.compared_as);
  }
  return names;
}

std::vector<std::string> installable_names() {
  std::vector<std::string> names;
  for (const Schedule& schedule : all()) {
    if (!schedule.installed_as.empty()) names.emplace_back(schedule.installed_as);
  }
  return names;
}

}  // namespace splitwave::schedules
