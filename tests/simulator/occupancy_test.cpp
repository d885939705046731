// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "simulator/kernel.h"
#include "workloads/load.h"

namespace splitwave::simulator {
namespace {

struct Case {
  std::string machine;
  std::string kernel;
  std::string workload;
  std::int32_t ctas_per_sm;
};

/// What the libraries' own comments, their planners or the CUDA occupancy calculator say.
const Case kCases[] = {
    // Two CTAs by registers: 65,536 / (128 * 256).
    {"h200", "fa2-split", "h=32/32,d=64:1q1s1k", 2},
    {"h200", "fa2-split", "h=32/8,d=128:1q1s1k", 2},
    {"h200", "fa2-standard", "h=32/8,d=128:1q1s1k", 2},
    // One CTA by shared memory and registers.
    {"h200", "fa3-d64", "h=32/32,d=64:1q1s1k", 1},
    {"h200", "fa3-d128", "h=32/8,d=128:1q1s1k", 1},
    {"h200", "fa3-d256", "h=32/8,d=256:1q1s1k", 1},
    {"h200", "flashinfer-tc", "h=32/8,d=128:1q1s1k", 2},
    // Its planner launches 1,056 CTAs on 132 SMs for a group of 4, 792 for one query head per KV head.
    {"h200", "flashinfer-decode", "h=32/8,d=128:1q1s1k", 8},
    {"h200", "flashinfer-decode", "h=32/32,d=128:1q1s1k", 6},
    {"h200", "flashinfer-holistic", "h=32/8,d=128:1q1s1k", 2},
    {"h200", "ort-lean", "h=32/8,d=128:1q1s1k", 2},
    // Launch bounds ask for two, 142 KiB of shared memory leave room for one; parts of half the size fit on Ada.
    {"h200", "xqa", "h=32/8,d=128:1q1s1k", 1},
    {"rtx-4090", "xqa", "h=32/8,d=128:1q1s1k", 1},
    {"b200", "fa4", "h=32/8,d=128:1q1s1k", 1},
    // 99 KiB of shared memory per SM hold one CTA of 80 KiB and none of 211 KiB.
    {"rtx-4090", "fa2-split", "h=32/8,d=128:1q1s1k", 1},
    {"a100", "fa2-split", "h=32/8,d=128:1q1s1k", 2},
};

TEST(Occupancy, MatchesTheTable) {
  for (const Case& one : kCases) {
    const Machine machine = load_machine(one.machine);
    const KernelProfile kernel = kernel_for(load_kernel(one.kernel), workloads::parse_spec(one.workload), machine);
    EXPECT_EQ(ctas_per_sm(machine, kernel), one.ctas_per_sm) << one.kernel << " on " << one.machine;
  }
}

KernelProfile small_kernel() {
  KernelProfile kernel;
  kernel.threads = 128;
  kernel.registers_per_thread = 32;
  return kernel;
}

TEST(Occupancy, EachLimitBinds) {
  const Machine h200 = load_machine("h200");
  KernelProfile kernel = small_kernel();
  EXPECT_EQ(ctas_per_sm(h200, kernel), 16);  // 2,048 threads
  kernel.threads = 32;
  EXPECT_EQ(ctas_per_sm(h200, kernel), 32);  // the CTA limit
  kernel = small_kernel();
  kernel.registers_per_thread = 33;          // 33 * 32 = 1,056, allocated as 1,280
  EXPECT_EQ(ctas_per_sm(h200, kernel), 12);  // 65,536 / (4 * 1,280)
  kernel = small_kernel();
  kernel.shared_bytes = 56 * 1024;
  EXPECT_EQ(ctas_per_sm(h200, kernel), 4);  // 228 / (56 + 1)
  kernel.shared_bytes = 57 * 1024;
  EXPECT_EQ(ctas_per_sm(h200, kernel), 3);  // the KiB that the system takes makes the difference
  kernel.shared_bytes = 227 * 1024;
  EXPECT_EQ(ctas_per_sm(h200, kernel), 1);
  kernel.shared_bytes = 227 * 1024 + 1;
  EXPECT_EQ(ctas_per_sm(h200, kernel), 0);
}

TEST(Occupancy, PartOfAWarpTakesAWholeOne) {
  const Machine h200 = load_machine("h200");
  KernelProfile kernel = small_kernel();
  kernel.threads = 1000;
  EXPECT_EQ(ctas_per_sm(h200, kernel), 2);
}

}  // namespace
}  // namespace splitwave::simulator
