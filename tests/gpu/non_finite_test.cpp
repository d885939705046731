// SPDX-License-Identifier: Apache-2.0
// A NaN or an infinity in K or V reaches the rows that read it, and no others, in every class of kernel.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "cpu_reference/oracle.h"
#include "gpu/decode.h"
#include "schedules/schedules.h"
#include "tests/gpu/judged_run.h"
#include "tests/support/battery.h"
#include "tests/support/tensors.h"
#include "workloads/tensors.h"

namespace splitwave::gpu {
namespace {

using cpu_reference::Result;
using schedules::Plan;
using workloads::Tensors;
using workloads::Workload;

class NonFinite : public testing::DeviceTest {};

/// What the oracle says is finite must be; what it says is not, must not be.
void expect_alike(const Workload& w, const Tensors& tensors, const Result<double>& exact, const KernelConfig& v,
                  const char* schedule) {
  const Plan plan = schedules::make_plan(schedule, w, testing::grid_for(w, v));
  const HostResult out = run(w, tensors, plan, v);
  for (std::size_t i = 0; i < out.output.size(); ++i) {
    ASSERT_EQ(std::isfinite(out.output[i]), std::isfinite(exact.output[i]))
        << to_string(v) << " " << schedule << " " << i;
  }
}

/// List kernels and group kernels, and for single queries single-item kernels, those without rings and those for pairs
/// of KV heads.
void expect_confined(const Workload& w, const Tensors& tensors) {
  const Result<double> exact = cpu_reference::attend(w, tensors);
  const bool single = workloads::max_query_len(w) == 1;
  for (const KernelConfig& v : kernel_configs(w)) {
    if (v.cluster > 2) continue;
    for (const char* schedule : {"fa2", "fixed-split:3", "lean+last_arriver"}) {
      expect_alike(w, tensors, exact, v, schedule);
      if (::testing::Test::HasFailure()) return;
    }
  }
  for (const KernelConfig& v : single ? whole_item_configs(w) : std::vector<KernelConfig>{}) {
    for (const char* schedule : {"fixed-split:1", "fixed-split:3+last_arriver"}) {
      const Plan plan = schedules::make_plan(schedule, w, testing::grid_for(w, v));
      if (fits_single_item_kernel(w, plan, v)) expect_alike(w, tensors, exact, v, schedule);
    }
    if (::testing::Test::HasFailure()) return;
  }
  for (const KernelConfig& v : pair_configs(w)) {
    for (const char* schedule : {"fixed-split:1", "fixed-split:3+last_arriver"}) {
      if (8 * v.row_tiles >= 2 * w.geometry.group()) expect_alike(w, tensors, exact, v, schedule);
    }
    if (::testing::Test::HasFailure()) return;
  }
}

TEST_F(NonFinite, ValuesReachOnlyTheRowsThatReadThem) {
  for (const std::int32_t query_len : {1, 4}) {
    for (const std::int32_t head_dim : {64, 128}) {
      const Workload w = testing::with_queries(
          testing::decode("poisoned", testing::geometry(8, 2, head_dim), {300, 200}), {query_len});
      for (const bool in_values : {false, true}) {
        for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
          SCOPED_TRACE(std::to_string(query_len) + " queries, values " + std::to_string(in_values) + ", " +
                       std::to_string(bad));
          Tensors tensors = workloads::make_tensors(w, testing::kTensorBytes);
          // The last token of request 0, KV head 1: with several causal queries only the last query sees it.
          const std::int64_t row = in_values ? v_row(w, tensors, 0, 299, 1) : k_row(w, tensors, 0, 299, 1);
          workloads::store_element(w.geometry.dtype, in_values ? tensors.v : tensors.k, row + 5, bad);
          expect_confined(w, tensors);
          if (HasFailure()) return;
        }
      }
    }
  }
}

/// bfloat16 has scores down to float's limits. Softmax is of their differences, so that equal ones, however low, give
/// the mean of the values. Not so where warps share tiles: these scale scores as they take differences, of which
/// rounding leaves some.
TEST_F(NonFinite, ScoresFarBelowZeroAreScores) {
  Workload w = testing::decode("low", testing::geometry(8, 2, 64), {300, 200});
  w.geometry.dtype = workloads::Dtype::bf16;
  Tensors tensors = workloads::make_tensors(w, testing::kTensorBytes);
  for (std::int32_t r = 0; r < 2; ++r) {
    for (std::int32_t head = 0; head < 8; ++head) {
      const std::int64_t row = workloads::q_row(w, tensors, r, 0, head);
      for (std::int32_t e = 0; e < 64; ++e) {
        workloads::store_element(w.geometry.dtype, tensors.q, row + e, e == 5 ? -1e17F : 0.0F);
      }
    }
    for (std::int32_t token = 0; token < w.requests[static_cast<std::size_t>(r)].context_len; ++token) {
      for (std::int32_t head = 0; head < 2; ++head) {
        workloads::store_element(w.geometry.dtype, tensors.k, workloads::k_row(w, tensors, r, token, head) + 5, 1e17F);
      }
    }
  }
  const Result<double> exact = cpu_reference::attend(w, tensors);
  for (const KernelConfig& v : kernel_configs(w)) {
    if (v.team == Team::group) continue;
    for (const char* schedule : {"fa2", "fixed-split:3", "lean+last_arriver"}) {
      const HostResult out = run(w, tensors, schedules::make_plan(schedule, w, testing::grid_for(w, v)), v);
      for (std::size_t i = 0; i < out.output.size(); ++i) {
        ASSERT_NEAR(out.output[i], exact.output[i], 0.01) << to_string(v) << " " << schedule << " " << i;
      }
    }
  }
}

}  // namespace
}  // namespace splitwave::gpu
