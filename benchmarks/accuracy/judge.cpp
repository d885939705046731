// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/accuracy/judge.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "schedules/schedules.h"
#include "studies/predict.h"

namespace splitwave::accuracy {
namespace {

constexpr std::array kPeers = {
    Peer{"fa2-flashdecoding", "fixed-split:fa2", "FlashAttention-2 split-KV"},
    Peer{"fa3-novarlen", "fixed-split:fa3", "FlashAttention-3, plain"},
    Peer{"fa3", "fa3", "FlashAttention-3, cache lengths"},
    Peer{"fa3-seqaware", "seq-aware", "FlashAttention-3, sequence-aware"},
    Peer{"flashinfer-tc-nopdl", "flashinfer", "FlashInfer tensor-core, no programmatic launch"},
    Peer{"flashinfer-decode", "", "FlashInfer CUDA-core"},
    Peer{"flashinfer-persistent", "flashinfer-holistic", "FlashInfer persistent"},
    Peer{"ort-lean", "lean:ort", "LeanAttention (ONNX Runtime)"},
    Peer{"flashmla", "flashmla", "FlashMLA"},
    Peer{"flashmla-v0", "flashmla:v0", "FlashMLA, first release"},
    Peer{"fa3-mla", "fa3", "FlashAttention-3, latent, pages of 64"},
    Peer{"fa3-mla-contig", "fa3", "FlashAttention-3, latent"},
    Peer{"flashmla-etap", "flashmla:etap", "FlashMLA-ETAP"},
    Peer{"xqa", "xqa", "XQA, FlashInfer's rule"},
    Peer{"xqa-nopdl", "xqa", "XQA, FlashInfer's rule, no programmatic launch"},
    Peer{"xqa-trt", "xqa:trtllm", "XQA, TensorRT-LLM's rule"},
    Peer{"xqa-s1", "xqa:1", "XQA, 1 sub-sequence"},
    Peer{"xqa-s2", "xqa:2", "XQA, 2"},
    Peer{"xqa-s4", "xqa:4", "XQA, 4"},
    Peer{"xqa-s8", "xqa:8", "XQA, 8"},
    Peer{"xqa-s16", "xqa:16", "XQA, 16"},
    Peer{"xqa-s32", "xqa:32", "XQA, 32"},
    Peer{"torch-flash", "fixed-split:fa2", "FlashAttention-2 split-KV in PyTorch 2.11"},
    Peer{"vLLM0.24 FA3", "fa3", "FlashAttention-3 in vLLM 0.24"},
    Peer{"vLLM0.14 FA2", "fixed-split:fa2", "FlashAttention-2 in vLLM 0.14"}};

bool of_engine(const Peer& peer) {
  return peer.kernel.starts_with("vLLM");
}

/// The number behind "KEY=" in a note of the measurements.
std::int32_t noted(const std::string& note, const std::string& key) {
  const std::size_t at = note.find(key + "=");
  if (at == std::string::npos) throw base::InputError("times: no " + key + " in the note " + note);
  const std::size_t begin = at + key.size() + 1;
  const std::size_t end = note.find(' ', begin);
  return static_cast<std::int32_t>(integer_in("times: " + key, note.substr(begin, end - begin), 1, 1 << 30));
}

/// FlashInfer's CUDA-core decode, for which no schedule stands: chunks of the noted length, KV head by KV head, each
/// head's CTAs padded to the noted number with ones that have nothing to do (attention/scheduler.cuh:442-443).
schedules::Plan cuda_core_plan(const workloads::Workload& workload, const std::string& note,
                               const schedules::Grid& grid) {
  const schedules::Plan chunks =
      schedules::make_plan("fixed-size:" + std::to_string(noted(note, "chunk")), workload, grid);
  schedules::Plan plan = chunks;
  plan.items.clear();
  plan.cta_begin = {0};
  const std::int32_t padded = noted(note, "padded_batch");
  for (std::int32_t head = 0; head < workload.geometry.kv_heads; ++head) {
    std::int32_t ctas = 0;
    for (const schedules::Item& item : chunks.items) {
      if (schedules::kv_head(workload, chunks.outputs[static_cast<std::size_t>(item.output)]) != head) continue;
      plan.items.push_back(item);
      plan.cta_begin.push_back(static_cast<std::int32_t>(plan.items.size()));
      ++ctas;
    }
    for (; ctas < padded; ++ctas) plan.cta_begin.push_back(static_cast<std::int32_t>(plan.items.size()));
  }
  return plan;
}

/// vLLM's call takes FlashAttention-2's split rule only where it swaps groups and queries
/// (vllm-project/flash-attention, csrc/flash_attn/flash_api.cpp, mha_varlen_fwd).
///
/// XQA was timed with TensorRT-LLM's count of sub-sequences or as many as there are CTA tiles, as noted.
std::string schedule_of(const Peer& peer, const Point& point) {
  if (peer.kernel == "xqa-trt") return "xqa:" + std::to_string(noted(point.note, "sub_seqs"));
  const bool groups_stay = peer.schedule == "fixed-split:fa2" && point.workload.geometry.group() == 1;
  return std::string(of_engine(peer) && groups_stay ? "fa2" : peer.schedule);
}

/// Small kernels that an engine launches beside the peer's: one writes the new token's K and V. vLLM's call of
/// FlashAttention-2, where it swaps groups and queries, copies the output from a buffer of its own, and gathers Q
/// before unless the transposed heads of one request, or of one KV head, lie as they should already
/// (vllm-project/flash-attention, csrc/flash_attn/flash_api.cpp, mha_varlen_fwd).
std::int32_t extra_kernels(const Peer& peer, const workloads::Workload& workload) {
  if (!of_engine(peer)) return 0;
  const workloads::Geometry& g = workload.geometry;
  if (peer.schedule != "fixed-split:fa2" || g.group() == 1) return 1;
  return workload.requests.size() > 1 && g.kv_heads > 1 ? 3 : 2;
}

/// A node of the graph that loads, then stores, on buffers that stay in L2.
double extra_seconds(const Peer& peer, const workloads::Workload& workload, const simulator::Machine& machine) {
  return extra_kernels(peer, workload) * (machine.launch_seconds + 2 * machine.l2_latency_seconds);
}

/// The libraries' kernels were timed on up to 1,024 copies of K and V in turn, 400 MB or more; engines on one.
simulator::L2State l2_state(const Peer& peer) {
  return of_engine(peer) ? simulator::L2State::warm : simulator::L2State::cold;
}

/// The options under which the peer's times were taken.
studies::PredictOptions options_of(const Peer& peer, const workloads::Workload& workload,
                                   const simulator::Machine& machine, Constants constants, const KernelChange& change) {
  studies::PredictOptions options;
  options.l2 = l2_state(peer);
  options.edit_kernel = [&machine, &change, geometry = workload.geometry, constants,
                         plain = peer.kernel == "xqa-nopdl"](simulator::KernelProfile& kernel,
                                                             const schedules::Plan* plan) {
    if (change) change(kernel);
    if (plain) kernel.programmatic_launch = false;
    if (constants == Constants::of_machine && plan != nullptr) {
      kernel = without_own_constants(kernel, machine, geometry, plan->merge);
    }
  };
  return options;
}

/// The peer's time on the point.
schedules::Timeline timeline_of(const Point& point, const Peer& peer, const studies::Target& target,
                                const studies::PredictOptions& options) {
  const std::string schedule = schedule_of(peer, point);
  if (!schedule.empty()) return studies::predict(point.workload, schedule, target, options).timeline;
  studies::Target own = target;
  own.kernel = simulator::load_kernel(std::string(peer.kernel));
  const schedules::Grid grid = studies::grid_for(point.workload, "fixed-size", own, options);
  const schedules::Plan plan = cuda_core_plan(point.workload, point.note, grid);
  return studies::simulate_plan(point.workload, plan, own, options).timeline;
}

JudgedPoint judge_point(const Point& point, const Peer& peer, const studies::Target& target, Constants constants,
                        const KernelChange& change) {
  const schedules::Timeline timeline =
      timeline_of(point, peer, target, options_of(peer, point.workload, target.machine, constants, change));
  JudgedPoint result;
  result.point = &point;
  result.peer = &peer;
  result.bytes = static_cast<double>(workloads::kv_bytes(point.workload));
  result.roofline_seconds = result.bytes / target.machine.dram_peak_bytes_per_second;
  result.seconds = timeline.seconds + extra_seconds(peer, point.workload, target.machine);
  result.parts = timeline.breakdown;
  return result;
}

}  // namespace

std::span<const Peer> peers() {
  return kPeers;
}

std::vector<JudgedPoint> judge_all(std::span<const Point> points, const studies::Target& target, Constants constants,
                                   const KernelChange& change) {
  std::vector<JudgedPoint> judged;
  for (const Peer& peer : kPeers) {
    for (const Point& point : points) {
      if (point.kernel == peer.kernel) judged.push_back(judge_point(point, peer, target, constants, change));
    }
  }
  return judged;
}

}  // namespace splitwave::accuracy
