// SPDX-License-Identifier: Apache-2.0
// Allocations that fail, one by one: whatever thread they are on, what comes of it is std::bad_alloc, and no end of the
// process. The program has its own operator new, which fails when it is told to.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <limits>
#include <new>

#include "base/array.h"
#include "cpu_reference/oracle.h"
#include "cpu_reference/run_plan.h"
#include "cpu_reference/verify.h"
#include "schedules/schedules.h"
#include "tests/support/tensors.h"

namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
std::atomic<std::int64_t> left = kNever;  ///< allocations until all fail
std::atomic<std::int64_t> asked = 0;

void* allocate(std::size_t bytes) {
  ++asked;
  if (left.load() != kNever && left.fetch_sub(1) <= 0) throw std::bad_alloc();
  if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t bytes) {
  return allocate(bytes);
}
void* operator new[](std::size_t bytes) {
  return allocate(bytes);
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete[](void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t /*bytes*/) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::size_t /*bytes*/) noexcept {
  std::free(memory);
}

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
  work();  // what is allocated once
  asked = 0;
  work();
  const std::int64_t all = asked;
  std::int64_t failed = 0;
  for (std::int64_t n = 0; n < all; n += 1 + n / 50) {
    bool thrown = false;
    left = n;
    try {
      work();
    } catch (const std::bad_alloc&) {
      thrown = true;
    }
    left = kNever;
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
