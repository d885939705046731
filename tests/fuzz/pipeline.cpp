// SPDX-License-Identifier: Apache-2.0
// A libFuzzer target for the whole way: bytes choose a small workload, a schedule, a grid and edits of its plan. The
// plan is validated; a valid one takes a finite time on a GPU and a CPU of the simulator and gives the oracle's output
// within the bounds of the verdict; an invalid one is refused by one line. Run by scripts/fuzz.
#include <fuzzer/FuzzedDataProvider.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "base/array.h"
#include "base/error.h"
#include "base/text.h"
#include "cpu_reference/run_plan.h"
#include "cpu_reference/verify.h"
#include "schedules/plan_json.h"
#include "schedules/schedules.h"
#include "schedules/validate.h"
#include "simulator/alternatives.h"
#include "simulator/machine.h"
#include "simulator/simulate.h"
#include "tests/support/battery.h"
#include "workloads/load.h"
#include "workloads/tensors.h"

namespace splitwave {
namespace {

constexpr std::int64_t kMemoryLimit = std::int64_t{1} << 28;
constexpr std::int32_t kMostTokens = 1500;  // of a batch: an input must not take long

/// Names with arguments that change the plan; any text may stand in for one.
constexpr std::string_view kSchedules[] = {"fa2",
                                           "fixed-split:2",
                                           "fixed-split:7",
                                           "fixed-split:fa2",
                                           "fixed-split:fa2-2.5.6",
                                           "fixed-split:fa3",
                                           "fa3",
                                           "fa3:5",
                                           "fa4",
                                           "fa4:3",
                                           "seq-aware",
                                           "seq-aware:evolved",
                                           "lean",
                                           "lean:ort",
                                           "flashinfer",
                                           "flashinfer-holistic",
                                           "flashmla",
                                           "xqa",
                                           "xqa:trtllm",
                                           "xqa:4",
                                           "fixed-size:64",
                                           "fixed-size:257",
                                           "longest-first:64"};
constexpr std::string_view kMerges[] = {"", "", "", "+kernel", "+host_cta", "+last_arriver"};

void expect(bool holds, const std::string& what) {
  if (holds) return;
  std::cerr << "broken: " << what << '\n';
  std::abort();
}

workloads::Geometry choose_geometry(FuzzedDataProvider& bytes) {
  const std::int32_t kv_heads = bytes.ConsumeIntegralInRange<std::int32_t>(1, 3);
  const std::int32_t group = bytes.ConsumeIntegralInRange<std::int32_t>(1, 9);
  workloads::Geometry g =
      testing::geometry(kv_heads * group, kv_heads, 8 * bytes.ConsumeIntegralInRange<std::int32_t>(1, 10));
  g.value_dim = bytes.ConsumeBool() ? g.head_dim : 8 * bytes.ConsumeIntegralInRange<std::int32_t>(1, 10);
  if (bytes.ConsumeIntegralInRange(0, 7) == 0) g = testing::mla(kv_heads * group);
  g.dtype = bytes.PickValueInArray({workloads::Dtype::f16, workloads::Dtype::bf16, workloads::Dtype::f32});
  g.causal = bytes.ConsumeBool();
  if (bytes.ConsumeBool()) g.window = bytes.ConsumeIntegralInRange<std::int32_t>(1, 600);
  if (bytes.ConsumeBool()) g.softmax_scale = bytes.ConsumeFloatingPointInRange<double>(-2, 2);
  return g;
}

workloads::Workload choose_workload(FuzzedDataProvider& bytes) {
  workloads::Workload w;
  w.name = "fuzz";
  w.geometry = choose_geometry(bytes);
  w.seed = bytes.ConsumeIntegral<std::uint64_t>();
  if (bytes.ConsumeBool()) w.distribution = workloads::Distribution::outliers;
  w.kv.layout =
      bytes.PickValueInArray({workloads::KvLayout::bshd, workloads::KvLayout::bhsd, workloads::KvLayout::paged});
  if (w.kv.layout == workloads::KvLayout::paged) w.kv.page_size = bytes.ConsumeIntegralInRange<std::int32_t>(1, 300);
  const std::int32_t longest_query = bytes.ConsumeBool() ? 1 : 20;
  const bool wide = w.geometry.kind == workloads::AttentionKind::mla;
  std::int32_t tokens = kMostTokens / (wide ? 8 : 1) / (longest_query > 1 ? 8 : 1);
  const auto requests = bytes.ConsumeIntegralInRange<std::int32_t>(0, 9);
  for (std::int32_t r = 0; r < requests; ++r) {
    const std::int32_t context_len = bytes.ConsumeIntegralInRange<std::int32_t>(0, tokens);
    w.requests.push_back({bytes.ConsumeIntegralInRange<std::int32_t>(1, longest_query), context_len});
    tokens -= context_len;
  }
  if (bytes.ConsumeBool()) w.kv.cache_len = bytes.ConsumeIntegralInRange<std::int32_t>(0, 10000);
  return w;
}

std::string choose_schedule(FuzzedDataProvider& bytes) {
  if (bytes.ConsumeIntegralInRange(0, 15) == 0) return bytes.ConsumeRandomLengthString(40);
  std::string name(bytes.PickValueInArray(kSchedules));
  return name.append(bytes.PickValueInArray(kMerges));
}

schedules::Grid choose_grid(FuzzedDataProvider& bytes) {
  schedules::Grid grid;
  grid.sms = bytes.ConsumeIntegralInRange<std::int32_t>(1, 150);
  grid.ctas_per_sm = bytes.ConsumeIntegralInRange<std::int32_t>(1, 4);
  grid.tile_q = bytes.PickValueInArray({0, 0, 1, 7, 16, 64, 128});
  grid.tile_kv = bytes.PickValueInArray({0, 0, 1, 16, 64, 100, 128});
  return grid;
}

/// -1 or more: files of plans hold nothing less.
std::int32_t choose_value(FuzzedDataProvider& bytes, std::int32_t old) {
  constexpr std::int32_t kMost = std::numeric_limits<std::int32_t>::max();
  if (bytes.ConsumeBool()) return std::clamp(old, 1, kMost - 2) + bytes.ConsumeIntegralInRange(-2, 2);
  return bytes.PickValueInArray({-1, 0, 1, 64, 128, 1 << 20, kMost});
}

/// Changes, exchanges, doubles or takes away one element of a list, if it has any.
template <typename List, typename Change>
void edit_list(FuzzedDataProvider& bytes, List& list, Change change) {
  if (list.empty()) return;
  const auto choose = [&] { return bytes.ConsumeIntegralInRange<std::size_t>(0, list.size() - 1); };
  const std::size_t at = choose();
  switch (bytes.ConsumeIntegralInRange(0, 5)) {
    case 0:
      std::swap(list[at], list[choose()]);
      break;
    case 1:
      list.insert(list.begin() + static_cast<std::ptrdiff_t>(at), typename List::value_type(list[at]));
      break;
    case 2:
      list.erase(list.begin() + static_cast<std::ptrdiff_t>(at));
      break;
    default:
      change(list[at]);
  }
}

template <std::size_t kMembers, typename Type>
void edit_member(FuzzedDataProvider& bytes, Type& one, std::int32_t Type::*const (&members)[kMembers]) {
  std::int32_t& member = one.*members[bytes.ConsumeIntegralInRange<std::size_t>(0, kMembers - 1)];
  member = choose_value(bytes, member);
}

void edit(FuzzedDataProvider& bytes, schedules::Plan& plan) {
  using schedules::Item, schedules::Merge, schedules::OutputTile, schedules::Plan;
  static constexpr std::int32_t Plan::*kPlan[] = {&Plan::tile_q, &Plan::tile_kv, &Plan::workers};
  static constexpr std::int32_t OutputTile::*kOutput[] = {&OutputTile::request, &OutputTile::head_begin,
                                                          &OutputTile::head_count, &OutputTile::row_begin,
                                                          &OutputTile::row_end};
  static constexpr std::int32_t Item::*kItem[] = {&Item::output, &Item::kv_begin, &Item::kv_end, &Item::slot};
  static constexpr std::int32_t Merge::*kMerge[] = {&Merge::output, &Merge::slot_begin, &Merge::slot_end};
  switch (bytes.ConsumeIntegralInRange(0, 6)) {
    case 0:
      return edit_member(bytes, plan, kPlan);
    case 1:
      return edit_list(bytes, plan.outputs, [&](OutputTile& one) { edit_member(bytes, one, kOutput); });
    case 2:
      return edit_list(bytes, plan.items, [&](Item& one) { edit_member(bytes, one, kItem); });
    case 3:
      return edit_list(bytes, plan.merges, [&](Merge& one) { edit_member(bytes, one, kMerge); });
    case 4:
      return edit_list(bytes, plan.cta_begin, [&](std::int32_t& one) { one = choose_value(bytes, one); });
    case 5:
      plan.dispatch = bytes.PickValueInArray(
          {schedules::Dispatch::hardware, schedules::Dispatch::fixed, schedules::Dispatch::queue});
      return;
    default:
      plan.merge = bytes.PickValueInArray({schedules::MergeKind::none, schedules::MergeKind::kernel,
                                           schedules::MergeKind::host_cta, schedules::MergeKind::last_arriver});
  }
}

void expect_time(const workloads::Workload& workload, const schedules::Plan& plan, double seconds) {
  const bool positive = seconds > 0 || workloads::minimal_bytes(workload) == 0;
  expect(std::isfinite(seconds) && seconds >= 0 && positive,
         plan.schedule + " takes " + std::to_string(seconds) + " s");
}

/// On every config of the project's own kernels that can run the plan.
void simulate_on_gpu(const workloads::Workload& workload, const schedules::Plan& plan, std::int32_t sms) {
  static const simulator::Machine kWhole = simulator::load_machine("h200-calibrated");
  static const simulator::KernelFamily kKernels = simulator::load_kernel("splitwave");
  const simulator::Machine gpu = simulator::with_overrides(kWhole, {.sms = sms});
  for (const simulator::KernelProfile& config :
       simulator::alternatives(kKernels, workload, gpu, simulator::most_rows(plan))) {
    const std::int64_t resident = simulator::grid_of(gpu, config).resident();
    if (const auto run = simulator::as_run(config, workload, plan, resident)) {
      expect_time(workload, plan, simulator::simulate(workload, plan, gpu, *run).seconds);
    }
  }
}

void simulate(const workloads::Workload& workload, const schedules::Plan& plan, std::int32_t sms) {
  simulator::CpuFigures figures;
  figures.model = "toy";
  figures.read_bytes_per_second = {1e9, 1.5e9};
  figures.seconds_per_kv_byte = 1e-9;
  figures.fork_seconds = 1e-6;
  static const simulator::Machine kCpu = simulator::cpu_machine(figures);
  static const simulator::KernelProfile kCpuKernel = simulator::cpu_kernel(kCpu);
  expect_time(workload, plan, simulator::simulate(workload, plan, kCpu, kCpuKernel).seconds);
  try {
    simulate_on_gpu(workload, plan, sms);
  } catch (const base::InputError& error) {  // no config for the geometry, or not all of the plan's CTAs are resident
    expect(base::is_plain_line(error.what()), error.what());
  }
}

void compute(const workloads::Workload& workload, const schedules::Plan& plan) {
  const workloads::Tensors tensors = workloads::make_tensors(workload, kMemoryLimit);
  const cpu_reference::Result<float> result = cpu_reference::run_plan(workload, tensors, plan, 1);
  const workloads::Geometry& g = workload.geometry;
  cpu_reference::VerifyOptions options;
  options.diagnose = false;
  const cpu_reference::Verification verdict = cpu_reference::verify(
      workload, tensors,
      base::c_order_view(result.output.data(), base::ElementType::f32,
                         {tensors.first_query.back(), g.query_heads, g.value_dim}),
      base::c_order_view(result.lse.data(), base::ElementType::f32, {tensors.first_query.back(), g.query_heads}), false,
      options);
  expect(verdict.passed, plan.schedule + ": " + verdict.rules.front().text);
}

void run(FuzzedDataProvider& bytes) {
  const workloads::Workload workload = choose_workload(bytes);
  workloads::validate(workload);
  const schedules::Grid grid = choose_grid(bytes);
  schedules::Plan plan = schedules::make_plan(choose_schedule(bytes), workload, grid);
  const std::vector<std::string> problems = schedules::violations(workload, plan);
  expect(problems.empty(), problems.empty() ? "" : plan.schedule + ": " + problems.front());
  for (int edits = bytes.ConsumeIntegralInRange(0, 3); edits > 0; --edits) edit(bytes, plan);
  for (const std::string& problem : schedules::violations(workload, plan)) throw base::InputError(problem);
  const std::string printed = schedules::plan_to_json(workload, plan, grid, true);
  expect(schedules::plan_from_json(workload, printed, "plan") == plan, "a valid plan is read back another");
  simulate(workload, plan, grid.sms);
  compute(workload, plan);
}

}  // namespace
}  // namespace splitwave

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  FuzzedDataProvider bytes(data, size);
  try {
    splitwave::run(bytes);
  } catch (const splitwave::base::InputError& error) {
    splitwave::expect(splitwave::base::is_plain_line(error.what()), error.what());
  }
  return 0;
}
