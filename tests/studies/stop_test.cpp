// SPDX-License-Identifier: Apache-2.0
// Whatever can take long looks whether it is to end.
#include "base/stop.h"

#include <gtest/gtest.h>

#include <csignal>
#include <functional>
#include <utility>
#include <vector>

#include "base/memory.h"
#include "cpu_reference/algorithms/batch.h"
#include "cpu_reference/measure.h"
#include "cpu_reference/oracle.h"
#include "cpu_reference/probes.h"
#include "studies/explain.h"
#include "studies/predict.h"
#include "studies/sweep_evaluate.h"
#include "tests/studies/target.h"
#include "workloads/load.h"
#include "workloads/tensors.h"

namespace splitwave::studies {
namespace {

/// Somebody has asked for an end while it lives.
struct Asked {
  Asked() { base::ask_to_stop(SIGTERM); }
  ~Asked() { base::ask_to_stop(0); }
  Asked(const Asked&) = delete;
  Asked& operator=(const Asked&) = delete;
};

TEST(Stop, NothingEndsUnasked) {
  EXPECT_FALSE(base::stop_asked());
  EXPECT_NO_THROW(base::stop_if_asked());
}

TEST(Stop, EndsWhatTakesLong) {
  const workloads::Workload workload = workloads::parse_spec("llama-3-8b:2q1s512");
  workloads::Workload many = workloads::parse_spec("llama-3-8b:3000q1s4k");
  for (std::size_t i = 0; i < many.requests.size(); ++i) {  // so that each has events of its own
    many.requests[i].context_len -= static_cast<std::int32_t>(i);
  }
  const Target h200 = tests::target("h200");
  const workloads::Tensors tensors = workloads::make_tensors(workload, base::available_memory_bytes());
  const schedules::Plan plan = predict(workload, "lean", h200).plan;
  cpu_reference::TimedPlan timed(workload, tensors, plan, 2);
  cpu_reference::Probes probes(workload, tensors, {4}, 2);
  const auto by = cpu_reference::algorithms::parse("standard");
  const SweepSpace space = make_space({h200}, {many}, {"sms=100:130"}, {"fa2"});
  SweepEvaluator evaluator(space, 2, "commit", "version");
  const std::vector<std::pair<const char*, std::function<void()>>> all = {
      {"tensors", [&] { workloads::make_tensors(workload, base::available_memory_bytes()); }},
      {"oracle", [&] { cpu_reference::attend(workload, tensors); }},
      {"plan", [&] { cpu_reference::run_plan(workload, tensors, plan, 2); }},
      {"timing", [&] { timed.sample(); }},
      {"probes", [&] { probes.measure(); }},
      {"algorithm", [&] { cpu_reference::algorithms::attend_by(by, workload, tensors, 1); }},
      {"calibration", [] { cpu_reference::measure_cpu(1); }},
      {"simulation", [&] { predict(many, "fa2", h200); }},
      {"explanation", [&] { explain("fa2", many, h200); }},
      {"sweep", [&] { evaluator.lines(0, 30); }},
  };
  const double before = predict(many, "fa2", h200).timeline.seconds;
  for (const auto& [what, work] : all) {
    const Asked asked;
    EXPECT_TRUE(base::stop_asked());
    try {
      work();
      ADD_FAILURE() << what << " went on";
    } catch (const base::Stopped& stopped) {
      EXPECT_EQ(stopped.signal, SIGTERM) << what;
    }
  }
  EXPECT_EQ(predict(many, "fa2", h200).timeline.seconds, before) << "a stopped simulation leaves nothing behind";
  EXPECT_FALSE(evaluator.lines(0, 1).empty());
}

}  // namespace
}  // namespace splitwave::studies
