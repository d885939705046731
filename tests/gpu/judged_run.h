// SPDX-License-Identifier: Apache-2.0
// Plans run on the device and judged by the oracle.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "cpu_reference/compare.h"
#include "cpu_reference/oracle.h"
#include "gpu/decode.h"
#include "gpu/encode.h"
#include "schedules/schedules.h"
#include "tests/gpu/device_fixture.h"
#include "workloads/tensors.h"

namespace splitwave::testing {

inline constexpr const char* kSchedules[] = {
    "fa2",           "fixed-split:3",       "fa3",      "seq-aware",      "lean", "lean:ort", "flashinfer",
    "fixed-size:64", "flashinfer-holistic", "flashmla", "fixed-split:fa2"};

inline gpu::KernelConfig first_config(const workloads::Workload& w, std::int32_t cluster = 1) {
  const std::int32_t row_tiles = gpu::row_tiles_for(w.geometry, w.geometry.group() * workloads::max_query_len(w));
  for (const gpu::KernelConfig& v : gpu::kernel_configs(w)) {
    if (v.row_tiles == row_tiles && v.cluster == cluster) return v;
  }
  return gpu::kernel_configs(w).front();
}

/// The first config of each kind of kernel: warps for themselves, and together where the device has that, MLA's in both
/// orders.
inline std::vector<gpu::KernelConfig> one_of_each_kind(const workloads::Workload& w, std::int32_t cluster = 1) {
  std::vector<gpu::KernelConfig> all = {first_config(w, cluster)};
  for (const gpu::KernelConfig& v : gpu::kernel_configs(w)) {
    const bool known = std::any_of(all.begin(), all.end(), [&](const auto& other) { return other.team == v.team; });
    if (!known && v.cluster == cluster) all.push_back(v);
  }
  return all;
}

inline schedules::Grid grid_for(const workloads::Workload& w, const gpu::KernelConfig& v) {
  schedules::Grid grid = gpu::grid_of(w, v);
  grid.tile_kv = 64;
  return grid;
}

/// The plan of a schedule by name.
inline schedules::Plan plan_of(const workloads::Workload& w, const gpu::KernelConfig& v, const std::string& name) {
  return schedules::make_plan(name, w, grid_for(w, v));
}

/// Runs and judges one plan. The message names what was run.
inline void expect_exact(const workloads::Workload& w, const workloads::Tensors& tensors,
                         const cpu_reference::Result<double>& exact, const schedules::Plan& plan,
                         const gpu::KernelConfig& v, const gpu::LaunchOptions& options = {}) {
  SCOPED_TRACE(w.name + " " + to_string(w.geometry.dtype) + " " + plan.schedule + " " +
               schedules::to_string(plan.merge) + " " + gpu::to_string(v));
  const gpu::HostResult out = gpu::run(w, tensors, plan, v, options);
  const cpu_reference::Result<float> result{out.output, out.lse};
  const cpu_reference::Errors errors = cpu_reference::compare(result, exact);
  EXPECT_TRUE(cpu_reference::acceptable(errors, cpu_reference::tolerance(w.geometry.dtype)))
      << "worst row " << errors.worst_row_relative_l2 << " lse " << errors.lse_max_relative << " non-finite "
      << errors.mismatched_non_finite;
}

/// Why a plan may be refused: its merge waits for more CTAs than are resident, or its queue holds tiles of more rows
/// than a CTA takes.
inline bool may_be_refused(const schedules::Plan& plan, const gpu::KernelConfig& v) {
  const bool several_row_blocks = std::any_of(plan.outputs.begin(), plan.outputs.end(),
                                              [&](const auto& tile) { return tile.rows() > 8 * v.row_tiles; });
  return plan.merge == schedules::MergeKind::host_cta ||
         (plan.dispatch == schedules::Dispatch::queue && several_row_blocks);
}

/// The kinds of merge that give the same bits: all of them, where no output has more parts than a warp combines.
inline std::vector<schedules::MergeKind> merges_alike(const schedules::Plan& plan) {
  const bool few = std::all_of(plan.merges.begin(), plan.merges.end(), [](const schedules::Merge& merge) {
    return gpu::merge_warps_shift(merge.slot_end - merge.slot_begin) == 0;
  });
  if (!few) return {};
  return {schedules::MergeKind::kernel, schedules::MergeKind::host_cta, schedules::MergeKind::last_arriver};
}

/// The schedule's plan, if the config's kernel without ring takes it, and whoever waits for others in it is resident
/// with them.
inline std::optional<schedules::Plan> held_plan(const workloads::Workload& w, const gpu::KernelConfig& v,
                                                const std::string& schedule) {
  const std::int64_t workers = gpu::residency(w, v).workers;
  if (schedule.ends_with("+host_cta")) {
    const std::string elsewhere = schedule.substr(0, schedule.find('+')) + "+kernel";
    const std::int32_t blocks = (w.geometry.group() + 8 * v.row_tiles - 1) / (8 * v.row_tiles);
    if (std::int64_t{plan_of(w, v, elsewhere).lists()} * blocks > workers) return {};
  }
  schedules::Plan plan = plan_of(w, v, schedule);
  if (!gpu::fits_single_item_kernel(w, plan, v)) return {};
  return plan;
}

/// Runs and judges the schedule's plan on every kernel without rings that takes it, alone and with K and V asked for
/// before the previous kernel has ended, up to the first failure. only_parts: not if all outputs are whole. Returns how
/// many runs that were.
inline int expect_held_exact(const workloads::Workload& w, const workloads::Tensors& tensors,
                             const cpu_reference::Result<double>& exact, const std::string& schedule,
                             bool only_parts = false) {
  int runs = 0;
  for (const gpu::KernelConfig& v : gpu::whole_item_configs(w)) {
    const std::optional<schedules::Plan> plan = held_plan(w, v, schedule);
    if (!plan || (only_parts && plan->merges.empty())) continue;
    for (const gpu::Overlap overlap : {gpu::Overlap::none, gpu::Overlap::prefetch}) {
      gpu::LaunchOptions options;
      options.overlap = overlap;
      expect_exact(w, tensors, exact, *plan, v, options);
      ++runs;
    }
    if (::testing::Test::HasFailure()) break;
  }
  return runs;
}

/// Runs the plan so many times, on poisoned outputs: the same bits each time. The first other ones are fatal.
inline void expect_repeatable(const workloads::Workload& w, const workloads::Tensors& tensors,
                              const schedules::Plan& plan, const gpu::KernelConfig& v, int runs) {
  gpu::DeviceTensors on_device = gpu::DeviceTensors::upload(w, tensors);
  gpu::Decoder decoder(gpu::capacity_of(w, plan, v));
  decoder.set_plan(w, on_device.addressing(), plan, v);
  gpu::HostResult first;
  for (int i = 0; i < runs; ++i) {
    on_device.poison_outputs();
    decoder.launch(on_device.pointers(0));
    decoder.synchronize();
    const gpu::HostResult result = on_device.download();
    if (i == 0) first = result;
    ASSERT_TRUE(same_bits(first, result)) << i << " " << gpu::to_string(v);
  }
}

inline double worst_error(const std::vector<float>& output, const std::vector<double>& exact) {
  double worst = 0;
  for (std::size_t i = 0; i < output.size(); ++i) {
    worst = std::max(worst, std::abs(static_cast<double>(output[i]) - exact[i]));
  }
  return worst;
}

/// The plan's items in `lists` lists.
inline schedules::Plan in_lists(schedules::Plan plan, std::int64_t lists) {
  const auto items = static_cast<std::int64_t>(plan.items.size());
  plan.cta_begin.clear();
  for (std::int64_t i = 0; i <= lists; ++i) plan.cta_begin.push_back(static_cast<std::int32_t>(items * i / lists));
  return plan;
}

/// Runs all items of the schedule's plan in each of these numbers of lists, on every kernel of the team. Returns how
/// many plans ran.
inline int run_in_lists(const workloads::Workload& w, const char* schedule, std::initializer_list<std::int64_t> lists,
                        gpu::Team team) {
  int runs = 0;
  const workloads::Tensors tensors = workloads::make_tensors(w, kTensorBytes);
  const cpu_reference::Result<double> exact = cpu_reference::attend(w, tensors);
  for (const gpu::KernelConfig& v : gpu::kernel_configs(w)) {
    if (v.team != team) continue;
    const schedules::Plan plan = schedules::make_plan(schedule, w, grid_for(w, v));
    for (const std::int64_t count : lists) {
      expect_exact(w, tensors, exact, in_lists(plan, count), v);
      ++runs;
      if (::testing::Test::HasFailure()) return runs;
    }
  }
  return runs;
}

}  // namespace splitwave::testing
