// SPDX-License-Identifier: Apache-2.0
// Latent attention by clusters that hold all keys of an item (gpu/kernels/whole_latent.cuh).
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "cpu_reference/oracle.h"
#include "gpu/decode.h"
#include "gpu/error.h"
#include "schedules/schedules.h"
#include "tests/gpu/judged_run.h"
#include "tests/support/battery.h"
#include "workloads/tensors.h"

namespace splitwave::gpu {
namespace {

using cpu_reference::Result;
using schedules::Plan;
using testing::grid_for;
using testing::same_bits;
using workloads::Tensors;
using workloads::Workload;

class WholeLatent : public testing::DeviceTest {};

Workload latent(std::int32_t heads, const std::vector<std::int32_t>& lengths, std::int32_t page) {
  const Workload w = testing::decode("whole_latent", testing::mla(heads), lengths);
  return page > 0 ? testing::paged(w, page) : w;
}

/// Every config that takes the plan of this name.
void expect_exact_of(const Workload& w, const std::string& name, int& runs) {
  const Tensors tensors = workloads::make_tensors(w, testing::kTensorBytes);
  const Result<double> exact = cpu_reference::attend(w, tensors);
  runs += testing::expect_held_exact(w, tensors, exact, name);
}

/// Lengths around what a CTA and a cluster hold; uniform plans and items from the table.
TEST_F(WholeLatent, WholeOutputs) {
  int runs = 0;
  for (const workloads::Dtype dtype : {workloads::Dtype::f16, workloads::Dtype::bf16}) {
    for (const std::int32_t heads : {1, 8, 16, 23, 32, 100, 128}) {
      for (const std::int32_t page : {0, 16, 64, 7}) {
        for (const std::int32_t length : {1, 63, 64, 65, 200, 257, 512}) {
          Workload w = latent(heads, {length, length, length}, page);
          w.geometry.dtype = dtype;
          expect_exact_of(w, "fixed-split:1", runs);
          w.requests[1].context_len = 1 + length / 3;
          expect_exact_of(w, "fixed-split:1", runs);
          if (HasFailure()) return;
        }
      }
    }
  }
  EXPECT_GE(runs, 1000);
}

TEST_F(WholeLatent, OutputsInParts) {
  int runs = 0;
  for (const workloads::Dtype dtype : {workloads::Dtype::f16, workloads::Dtype::bf16}) {
    for (const std::int32_t heads : {5, 16, 32, 128}) {
      for (const std::int32_t page : {0, 64}) {
        for (const std::vector<std::int32_t>& lengths : {std::vector{1000, 1000}, {1000, 130, 64}, {4096}}) {
          Workload w = latent(heads, lengths, page);
          w.geometry.dtype = dtype;
          for (const char* name : {"fixed-split:2", "fixed-split:5", "fixed-split:17", "fixed-size:64",
                                   "fixed-size:256", "fixed-size:512"}) {
            expect_exact_of(w, std::string(name) + "+host_cta", runs);
            if (HasFailure()) return;
          }
        }
      }
    }
  }
  EXPECT_GE(runs, 300);
}

/// One launch of each kernel and way of loading, small enough for compute-sanitizer.
TEST_F(WholeLatent, EveryKernelOnce) {
  int runs = 0;
  for (const std::int32_t page : {0, 16, 64}) {
    for (const char* name : {"fixed-split:1", "fixed-split:2+host_cta"}) {
      expect_exact_of(latent(20, {120, 71}, page), name, runs);
    }
  }
  EXPECT_EQ(runs, 2 * 3 * 2 * 7);
}

/// A window's first position is anywhere in a page.
TEST_F(WholeLatent, Windows) {
  int runs = 0;
  for (const std::int32_t page : {0, 16}) {
    Workload w = latent(16, {700, 90, 3000}, page);
    w.geometry.causal = true;
    w.geometry.window = 301;
    expect_exact_of(w, "fixed-size:1024+last_arriver", runs);  // FlashAttention's rules part the heads of such
  }
  EXPECT_GE(runs, 4);
}

/// Launches that follow each other, uniform and from a table, in one part and several: packets and counters are left as
/// they were found.
TEST_F(WholeLatent, AThousandLaunchesGiveTheSameBits) {
  for (const char* name : {"fixed-split:1", "fixed-split:3+host_cta", "fixed-size:128+host_cta"}) {
    for (const std::int32_t heads : {16, 32, 64}) {
      const Workload w = latent(heads, {512, 400, 512, 77}, 64);
      const DeviceTensors tensors = DeviceTensors::generate(w, 3);
      for (const KernelConfig& v : whole_item_configs(w)) {
        const std::optional<Plan> plan = testing::held_plan(w, v, name);
        if (!plan) continue;
        Decoder decoder(capacity_of(w, *plan, v));
        decoder.set_plan(w, tensors.addressing(), *plan, v);
        decoder.launch(tensors.pointers(0));
        decoder.synchronize();
        const HostResult first = tensors.download();
        for (int i = 0; i < 10; ++i) {
          for (int j = 0; j < 100; ++j) decoder.launch(tensors.pointers(0));
          decoder.synchronize();
          ASSERT_TRUE(same_bits(first, tensors.download())) << name << " " << to_string(v);
        }
      }
    }
  }
}

/// A part that does not come: its output's other clusters wait for it, not for ever, and the next run is good.
TEST_F(WholeLatent, ADroppedPartEndsInANamedError) {
  const Workload w = latent(16, {1000}, 64);
  int runs = 0;
  for (const KernelConfig& v : whole_item_configs(w)) {
    const std::optional<Plan> plan = testing::held_plan(w, v, "fixed-split:8+host_cta");
    if (!plan) continue;
    const DeviceTensors tensors = DeviceTensors::generate(w, 1);
    Decoder decoder(capacity_of(w, *plan, v));
    LaunchOptions options;
    options.dropped_slot = 3;
    options.wait_seconds = 0.05;
    decoder.set_plan(w, tensors.addressing(), *plan, v, options);
    decoder.launch(tensors.pointers(0));
    EXPECT_THROW(decoder.synchronize(), DeviceError) << to_string(v);
    decoder.set_plan(w, tensors.addressing(), *plan, v);
    decoder.launch(tensors.pointers(0));
    decoder.synchronize();
    const HostResult result = tensors.download();
    Decoder fresh(capacity_of(w, *plan, v));
    fresh.set_plan(w, tensors.addressing(), *plan, v);
    fresh.launch(tensors.pointers(0));
    fresh.synchronize();
    EXPECT_TRUE(same_bits(tensors.download(), result)) << to_string(v);
    ++runs;
  }
  EXPECT_EQ(runs, 7);
}

/// Whoever waits for others has to be there with them.
TEST_F(WholeLatent, RefusesPartsThatAreNotAllResident) {
  const Workload w = latent(64, {512, 512, 512, 512, 512}, 0);
  const KernelConfig v = parse_kernel_config("r2g4s1t16c8");
  const DeviceTensors tensors = DeviceTensors::generate(w, 1);
  const Plan plan = schedules::make_plan("fixed-split:2+host_cta", w, grid_for(w, v));
  Decoder decoder(capacity_of(w, plan, v));
  EXPECT_THROW(decoder.set_plan(w, tensors.addressing(), plan, v), base::InputError);
}

/// Its CTAs hold 512 tokens at most, for single queries.
TEST_F(WholeLatent, RefusesOtherPlans) {
  for (const Workload& w :
       {latent(16, {513}, 0), latent(16, {0, 5}, 0), testing::with_queries(latent(16, {60}, 0), {2})}) {
    const DeviceTensors tensors = DeviceTensors::generate(w, 1);
    for (const KernelConfig& v : whole_item_configs(latent(16, {60}, 0))) {
      const Plan plan = schedules::make_plan("fa2", w, grid_for(latent(16, {60}, 0), v));
      Decoder decoder(capacity_of(w, plan, v));
      EXPECT_THROW(decoder.set_plan(w, tensors.addressing(), plan, v), base::InputError) << w.name;
    }
  }
}

}  // namespace
}  // namespace splitwave::gpu
