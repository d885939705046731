// SPDX-License-Identifier: Apache-2.0
// Allocations that fail, one by one: whatever thread they are on, what comes of it is std::bad_alloc, and no end of the
// process.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <new>

#include "base/array.h"
#include "cpu_reference/oracle.h"
#include "cpu_reference/run_plan.h"
#include "cpu_reference/verify.h"
#include "schedules/schedules.h"
#include "tests/support/refusing_new.h"
#include "tests/support/tensors.h"

namespace splitwave::cpu_reference {
namespace {

workloads::Workload two_requests() {
  workloads::Workload workload = testing::plain_workload(workloads::Dtype::f32, 4, 2, 8, 3, 20);
  workload.requests = {{3, 20}, {3, 37}};
  workload.geometry.causal = true;
  return workload;
}

/// Lets the n-th allocation and all after it fail, for n from 0 on in growing steps, until the work succeeds. Returns
/// how often it failed.
std::int64_t fail_everywhere(const std::function<void()>& work) {
  constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::max();
  work();  // what is allocated once
  testing::refuse_memory(kAll, kAll);
  work();
  const std::int64_t all = testing::give_memory();
  std::int64_t failed = 0;
  for (std::int64_t n = 0; n < all; n += 1 + n / 50) {
    bool thrown = false;
    testing::refuse_memory(n + 1, kAll);
    try {
      work();
    } catch (const std::bad_alloc&) {
      thrown = true;
    }
    testing::give_memory();
    failed += thrown ? 1 : 0;
  }
  work();
  return failed;
}

TEST(Allocation, FailuresInTheOracleAreThrown) {
  const workloads::Workload workload = two_requests();
  const workloads::Tensors tensors = testing::tensors_with(workload, testing::normal_values(5));
  EXPECT_GT(fail_everywhere([&] { attend(workload, tensors); }), 10);
}

TEST(Allocation, FailuresInAVerdictWithItsDiagnosisAreThrown) {
  const workloads::Workload workload = two_requests();
  const workloads::Tensors tensors = testing::tensors_with(workload, testing::normal_values(5));
  const Result<double> exact = attend(workload, tensors);
  std::vector<float> output(exact.output.begin(), exact.output.end());
  for (float& element : output) element *= 0.5F;  // wrong everywhere, so that every fault is looked for
  const base::ArrayView view = base::c_order_view(output.data(), base::ElementType::f32, {6, 4, 8});
  EXPECT_GT(fail_everywhere([&] { verify(workload, tensors, view, {}); }), 100);
}

TEST(Allocation, FailuresInAPlansRunAreThrown) {
  const workloads::Workload workload = two_requests();
  const workloads::Tensors tensors = testing::tensors_with(workload, testing::normal_values(5));
  EXPECT_GT(fail_everywhere([&] {
              const schedules::Plan plan = schedules::make_plan("fixed-split:3", workload, {4, 1, 0, 16});
              run_plan(workload, tensors, plan, 2);
            }),
            10);
}

}  // namespace
}  // namespace splitwave::cpu_reference
