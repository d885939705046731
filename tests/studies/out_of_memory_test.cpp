// SPDX-License-Identifier: Apache-2.0
// Memory that is refused at the first, second, third ... time that it is asked for: every call ends in std::bad_alloc
// or in its result, and the next one works. Under the address sanitizer nothing leaks either.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <new>
#include <optional>
#include <string>

#include "base/array.h"
#include "base/error.h"
#include "cpu_reference/oracle.h"
#include "cpu_reference/run_plan.h"
#include "cpu_reference/verify.h"
#include "schedules/plan_json.h"
#include "schedules/schedules.h"
#include "simulator/machine.h"
#include "studies/advise_request.h"
#include "studies/predict.h"
#include "tests/support/refusing_new.h"
#include "workloads/import.h"
#include "workloads/load.h"
#include "workloads/tensors.h"

namespace splitwave::studies {
namespace {

constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::max();

/// Calls with allocations [from, to] refused: nothing if that ended the call. `refused` says whether it got so far.
template <typename Call>
auto with_refusals(std::int64_t from, std::int64_t to, Call call, bool& refused) {
  std::optional<decltype(call())> result;
  testing::refuse_memory(from, to);
  try {
    result = call();
  } catch (const std::bad_alloc&) {
  }
  refused = testing::give_memory() >= from;
  return result;
}

/// Calls with one allocation refused, and with all from one on: the first ones each, later ones in steps of 2 %.
template <typename Call>
void expect_survives(Call call) {
  const auto expected = call();
  for (const bool once : {true, false}) {
    bool refused = true;
    std::int64_t number = 1;
    for (; refused; number += 1 + number / 50) {
      const auto result = with_refusals(number, once ? number : kAll, call, refused);
      ASSERT_TRUE(result ? *result == expected : refused) << "allocation " << number;
    }
    ASSERT_GT(number, 2);
  }
  EXPECT_TRUE(call() == expected);
}

workloads::Workload small() {
  return workloads::parse_spec("h=4/2,d=16,page=8:1q2s60_1q1s200");
}

// Nothing is printed as JSON below: the destructor of an nlohmann::json asks for memory, and ends the process without.
TEST(OutOfMemory, Readers) {
  const workloads::Workload w = small();
  const std::string workload = workloads::to_json(w);
  const std::string plan = plan_to_json(w, schedules::make_plan("lean", w, {7, 2, 0, 0}), {7, 2, 0, 0}, true);
  expect_survives([&] { return workloads::parse_json(workload, "w"); });
  expect_survives([&] { return schedules::plan_from_json(w, plan, "p"); });
  expect_survives([] { return simulator::load_machine("h200").sms; });
  expect_survives([] {
    const std::string csv = "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.97,10,3\n";
    return workloads::import_trace(csv, "t").size();
  });
  expect_survives([] {
    try {
      workloads::parse_json(R"({"format":1,"name":"w","geometry":{"query_heads":0}})", "w");
    } catch (const base::InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  });
}

TEST(OutOfMemory, Plans) {
  const workloads::Workload w = small();
  for (const char* const name :
       {"lean", "fixed-split:3+last_arriver", "fa3", "flashinfer", "flashinfer-holistic", "fixed-size:64"}) {
    expect_survives([&] { return schedules::make_plan(name, w, {7, 2, 0, 0}); });
  }
}

TEST(OutOfMemory, Predictions) {
  const workloads::Workload w = small();
  const Target h200 = target("h200");
  for (const char* const name : {"lean", "fa3", "auto"}) {
    expect_survives([&] { return predict(w, name, h200).timeline.seconds; });
  }
}

TEST(OutOfMemory, Advice) {
  AdviseRequest request;
  request.model = "llama-3-8b";
  request.batches = "1";
  request.contexts = "512";
  request.available = {"fa2", "fixed-split:fa2"};
  const Target h200 = target("h200");
  expect_survives(
      [&] { return advise(question_of(request), h200, 1, [](std::size_t) {}).points.front().best.schedule; });
}

TEST(OutOfMemory, RunAndVerify) {
  const workloads::Workload w = small();
  expect_survives([&] {
    const workloads::Tensors tensors = workloads::make_tensors(w, 1 << 20);
    const schedules::Plan plan = schedules::make_plan("fixed-split:3", w, {7, 2, 0, 0});
    const cpu_reference::Result<float> result = cpu_reference::run_plan(w, tensors, plan, 2);
    const cpu_reference::Result<double> exact = cpu_reference::attend(w, tensors);
    const cpu_reference::Verification verdict =
        cpu_reference::verify(w, tensors, base::c_order_view(result.output.data(), base::ElementType::f32, {3, 4, 16}));
    return std::to_string(verdict.passed) + std::to_string(exact.lse.front()) + verdict.rules.front().text;
  });
}

}  // namespace
}  // namespace splitwave::studies
