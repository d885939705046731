// SPDX-License-Identifier: Apache-2.0
#include "studies/target.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "workloads/load.h"

namespace splitwave::studies {
namespace {

TEST(Targets, DevicesAreFoundByTheNameThatTheDriverGivesThem) {
  EXPECT_EQ(machine_of_device("NVIDIA H200"), "h200");
  EXPECT_EQ(machine_of_device("NVIDIA H20"), "h20");
  EXPECT_EQ(machine_of_device("NVIDIA H100 80GB HBM3"), "h100-sxm");
  EXPECT_EQ(machine_of_device("NVIDIA H100 PCIe"), "h100-pcie");
  EXPECT_EQ(machine_of_device("NVIDIA A100-SXM4-80GB"), "a100");
  EXPECT_EQ(machine_of_device("NVIDIA GeForce RTX 4090"), "rtx-4090");
  EXPECT_EQ(machine_of_device("NVIDIA GeForce RTX 3090"), "");
  EXPECT_EQ(machine_of_device(""), "");
  EXPECT_EQ(calibration_of("h200"), "h200-calibrated");
  EXPECT_EQ(calibration_of("h100-sxm-calibrated"), "h100-sxm-calibrated");
  EXPECT_EQ(calibration_of("a100"), "a100");
}

TEST(Targets, TheOwnKernelsAreThoseThatTheMachineNames) {
  Overrides overrides;
  overrides.kernel = simulator::kOwnKernel;
  const std::vector<Target> both = targets({"h200-calibrated", "h100-sxm-calibrated"}, overrides, 1);
  const auto first_fixed = [](const Target& target) {
    return target.kernel->variants.front().clusters.front().fixed_seconds;
  };
  EXPECT_EQ(simulator::own_kernel(both[0].machine), simulator::kOwnKernel);
  EXPECT_EQ(simulator::own_kernel(both[1].machine), "splitwave-h100");
  EXPECT_NE(first_fixed(both[0]), first_fixed(both[1]));
  Target unknown = target("h100-sxm-calibrated");
  unknown.machine.own_kernels = "splitwave-h1000";
  const workloads::Workload w = workloads::parse_spec("h=8/1,d=128:1q1s60");
  EXPECT_THROW(simulator::family_of("fixed-size:1536", 1, w, unknown.machine), base::InputError);
}

TEST(Targets, NamesAreReadBack) {
  const Overrides overrides{66, 4000.5, 1'000'000, 1500, 1, "splitwave"};
  const std::optional<NamedTarget> named = parse_target_name(target("h200", overrides).name);
  ASSERT_TRUE(named);
  EXPECT_EQ(named->machine, "h200");
  EXPECT_EQ(override_words(named->overrides), override_words(overrides));
  EXPECT_EQ(override_words(parse_target_name("h200")->overrides), "");
  EXPECT_EQ(override_words({.kernel = "my kernel's.json"}), " --kernel 'my kernel'\\''s.json'");
  for (const char* name : {"", "a machine", "h200 (", "h200 (sms=66", "h200 (sms)", "h200 (sms=0)", "h200 (sms=66x)",
                           "h200 (sms=-1)", "h200 (sms=65537)", "h200 (bandwidth=inf)", "h200 (bandwidth=1e-320)",
                           "h200 (clock=1e-9)", "h200 (kernel=kernel.json)", "h200 (sms=66,clock=1)", "h200 (foo=1)"}) {
    EXPECT_FALSE(parse_target_name(name)) << name;
  }
}

/// A CPU of two threads whose constants and probes tell apart which of them a machine was made from.
Target probed_cpu() {
  Target target;
  cpu_reference::CpuConstants constants;
  constants.model = "Made-up CPU";
  constants.threads = 2;
  constants.read_bytes_per_second = {1e10, 2e10};
  constants.row_read_bytes_per_second = {0.5e10, 1e10};
  for (auto& rows : constants.tile) rows.fill({1e-9, 0});
  constants.token_seconds_per_kv_byte = 1e-12;
  constants.fork_seconds = 1e-6;
  constants.overlap = 3;
  constants.list_seconds = 4e-6;
  constants.item_seconds = 2e-6;
  constants.merge_seconds_per_row_split = 3e-9;
  target.cpu = constants;
  target.machine.sms = 2;
  cpu_reference::ProbedCpu probed;
  // Memory takes 50 ps per byte of a thread, or 100, and with the tile 55 and 130.
  probed.equal_shares = {{3e10, 4e10}, {1.5e10, 2e10}, {{4, {5e-12, 5.5e-11, 6e-6, 7e-6}}}};
  probed.queue = {{1e10, 2e10}, {1e10, 1e10}, {{4, {3e-11, 1.3e-10, 8e-6, 9e-6}}}};
  probed.fork_seconds = 9e-6;
  target.probed = probed;
  return target;
}

/// What a plan of `lists` lists meets, each an output of four rows, of requests in turn or of one request's heads.
simulator::CpuFigures met(const Target& target, std::int32_t lists, schedules::Dispatch dispatch, bool one_request) {
  workloads::Workload workload;
  workload.geometry.query_heads = one_request ? 4 * lists : 4;
  workload.geometry.kv_heads = one_request ? lists : 1;
  workload.requests.assign(static_cast<std::size_t>(one_request ? 1 : lists), {1, 100});
  schedules::Plan plan;
  plan.dispatch = dispatch;
  for (std::int32_t i = 0; i < lists; ++i) {
    plan.outputs.push_back(one_request ? schedules::OutputTile{0, 4 * i, 4, 0, 4}
                                       : schedules::OutputTile{i, 0, 4, 0, 4});
    plan.items.push_back({i, 0, 100, -1});
    plan.cta_begin.push_back(i + 1);
  }
  return *machine_for(target, workload, plan).cpu;
}

TEST(MachineFor, ProbesTakeThePlaceOfWhatDrifts) {
  const simulator::CpuFigures figures = met(probed_cpu(), 3, schedules::Dispatch::hardware, true);
  EXPECT_EQ(figures.read_bytes_per_second, (std::vector<double>{1e10, 2e10}));
  EXPECT_DOUBLE_EQ(figures.seconds_per_kv_byte, 3e-11);
  EXPECT_DOUBLE_EQ(figures.seconds_per_kv_byte_of_rows.at(4), 3e-11);
  EXPECT_NEAR(figures.overlap, 1, 1e-9);  // 130 = 100 + 30
  EXPECT_EQ(figures.fork_seconds, 9e-6);
  EXPECT_EQ(figures.list_seconds, 8e-6);
  EXPECT_EQ(figures.item_seconds, 9e-6);
  EXPECT_EQ(figures.merge_seconds_per_row_split, 3e-9);  // measured beforehand
}

TEST(MachineFor, WhatIsReadRequestByRequestIsReadAsProbedSo) {
  // Three lists by two threads: only the third has one before it.
  const simulator::CpuFigures figures = met(probed_cpu(), 3, schedules::Dispatch::hardware, false);
  EXPECT_EQ(figures.read_bytes_per_second, (std::vector<double>{1e10, 1e10}));
  EXPECT_NEAR(figures.overlap, 1, 1e-9);  // a matter of the core, seen where heads were read in a row
}

TEST(MachineFor, TheSlowestThreadSetsTheTimeWhereNobodyCanTakeOver) {
  for (const simulator::CpuFigures& figures : {met(probed_cpu(), 3, schedules::Dispatch::fixed, true),
                                               met(probed_cpu(), 2, schedules::Dispatch::hardware, true)}) {
    EXPECT_EQ(figures.read_bytes_per_second, (std::vector<double>{3e10, 4e10}));
    EXPECT_DOUBLE_EQ(figures.seconds_per_kv_byte, 5e-12);
  }
}

TEST(MachineFor, WithoutProbesTheConstantsCount) {
  Target target = probed_cpu();
  target.probed.reset();
  const simulator::CpuFigures figures = met(target, 3, schedules::Dispatch::hardware, false);
  EXPECT_EQ(figures.read_bytes_per_second, (std::vector<double>{1e10, 2e10}));
  EXPECT_EQ(figures.overlap, 3);
  EXPECT_EQ(figures.fork_seconds, 1e-6);
  EXPECT_EQ(figures.list_seconds, 4e-6);
  EXPECT_EQ(figures.item_seconds, 2e-6);
}

}  // namespace
}  // namespace splitwave::studies
