// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

#include "base/error.h"
#include "tests/simulator/toy.h"

namespace splitwave::simulator {
namespace {

CpuFigures figures() {
  CpuFigures figures;
  figures.model = "toy";
  figures.read_bytes_per_second = {1e9, 1.5e9};
  figures.seconds_per_kv_byte = 1e-15;
  figures.overlap = 3;
  figures.fork_seconds = 1e-3;
  return figures;
}

double seconds(const CpuFigures& figures, const std::vector<std::int32_t>& contexts) {
  const Machine machine = cpu_machine(figures);
  return toy::seconds(contexts, machine, cpu_kernel(machine));
}

TEST(Cpu, ThreadsShareTheMeasuredBandwidth) {
  EXPECT_NEAR(seconds(figures(), {1000}), 1e-3 + 1e-3, 1e-9);
  EXPECT_NEAR(seconds(figures(), {750, 750}), 1e-3 + 1e-3, 1e-9);
  // Together to 0.75 MB each after 1 ms, then the longer one alone.
  EXPECT_NEAR(seconds(figures(), {750, 1750}), 1e-3 + 2e-3, 1e-9);
}

TEST(Cpu, ASlowTileLimitsAThread) {
  CpuFigures slow = figures();
  slow.seconds_per_kv_byte = 1e-6;
  EXPECT_NEAR(seconds(slow, {1000, 1000}), 1e-3 + 1, 1e-6);
}

TEST(Cpu, MemoryAndArithmeticOverlapInPart) {
  // Two threads at 0.75 GB/s each: 4/3 ns of memory and 2 ns of arithmetic per byte.
  CpuFigures both = figures();
  both.seconds_per_kv_byte = 2e-9;
  const double per_byte = std::cbrt(64.0 / 27 + 8) * 1e-9;
  EXPECT_NEAR(seconds(both, {1000, 1000}), 1e-3 + 1e6 * per_byte, 1e-9);
  both.overlap = 1;
  EXPECT_NEAR(seconds(both, {1000, 1000}), 1e-3 + 1e6 * (4.0 / 3 + 2) * 1e-9, 1e-9);
  both.overlap = 0.5;
  EXPECT_NEAR(seconds(both, {1000, 1000}), 1e-3 + 1e6 * (4.0 / 3 + 2 + 2 * std::sqrt(8.0 / 3)) * 1e-9, 1e-9);
}

TEST(Cpu, OutputsOfSomeRowsHaveATileTimeOfTheirOwn) {
  CpuFigures of_rows = figures();
  of_rows.seconds_per_kv_byte_of_rows[7] = 1e-6;
  EXPECT_NEAR(seconds(of_rows, {1000}), 1e-3 + 1e-3, 1e-9);  // of one row each
  of_rows.seconds_per_kv_byte_of_rows[1] = 1e-6;
  EXPECT_NEAR(seconds(of_rows, {1000}), 1e-3 + 1, 1e-6);
}

TEST(Cpu, ItemsAndMergesCost) {
  CpuFigures costly = figures();
  costly.list_seconds = 2e-3;
  costly.merge_seconds_per_row_split = 4e-3;
  const Machine machine = cpu_machine(costly);
  const double time = simulate(toy::workload({1500}), toy::cut({750, 750}, schedules::MergeKind::host_cta), machine,
                               cpu_kernel(machine))
                          .seconds;
  // Fork, one list on each of two threads, the stream, and two partial rows merged by two threads.
  EXPECT_NEAR(time, 1e-3 + 2e-3 + 1e-3 + 4e-3, 1e-9);
}

TEST(Cpu, NativeKernelIsItsOwn) {
  const Machine machine = cpu_machine(figures());
  EXPECT_EQ(native_kernel("lean", toy::workload({1}), machine).name, "cpu");
  EXPECT_EQ(grid_of(machine, cpu_kernel(machine)).resident(), 2);
  EXPECT_THROW(cpu_kernel(toy::machine(1)), std::logic_error);
}

TEST(Cpu, RefusesFiguresThatMeanNothing) {
  CpuFigures bad = figures();
  bad.read_bytes_per_second.clear();
  EXPECT_THROW(cpu_machine(bad), base::InputError);
  bad = figures();
  bad.read_bytes_per_second[1] = 0;
  EXPECT_THROW(cpu_machine(bad), base::InputError);
  bad = figures();
  bad.item_seconds = -1;
  EXPECT_THROW(cpu_machine(bad), base::InputError);
  bad = figures();
  bad.list_seconds = -1;
  EXPECT_THROW(cpu_machine(bad), base::InputError);
  bad = figures();
  bad.overlap = 0;
  EXPECT_THROW(cpu_machine(bad), base::InputError);
  bad = figures();
  bad.seconds_per_kv_byte_of_rows[2] = 0;
  EXPECT_THROW(cpu_machine(bad), base::InputError);
  MachineOverrides overrides;
  overrides.sms = 4;
  EXPECT_THROW(with_overrides(cpu_machine(figures()), overrides), base::InputError);
}

}  // namespace
}  // namespace splitwave::simulator
