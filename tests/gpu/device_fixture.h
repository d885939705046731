// SPDX-License-Identifier: Apache-2.0
// Tests that need a device skip without one, unless SPLITWAVE_REQUIRE_GPU is set; a device that fails is a failure.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "gpu/decode.h"
#include "gpu/device.h"

namespace splitwave::testing {

/// Most bytes of tensors that a test makes on the host.
inline constexpr std::int64_t kTensorBytes = std::int64_t{1} << 30;

/// Whether two results are the same, bit for bit.
inline bool same_bits(const gpu::HostResult& a, const gpu::HostResult& b) {
  return a.output.size() == b.output.size() && a.lse.size() == b.lse.size() &&
         std::memcmp(a.output.data(), b.output.data(), a.output.size() * sizeof(float)) == 0 &&
         std::memcmp(a.lse.data(), b.lse.data(), a.lse.size() * sizeof(float)) == 0;
}

inline gpu::LaunchOptions replayable() {
  gpu::LaunchOptions options;
  options.replayable = true;
  return options;
}

/// A decoder with room for other plans, which has captured a launch of this one for them to replay.
inline gpu::Decoder captured(const workloads::Workload& w, const gpu::DeviceTensors& tensors,
                             const schedules::Plan& plan, const gpu::KernelConfig& v) {
  gpu::Capacity capacity = gpu::capacity_of(w, plan, v);
  capacity.items *= 8;
  capacity.partials *= 4;
  gpu::Decoder decoder(capacity);
  decoder.set_plan(w, tensors.addressing(), plan, v, replayable());
  decoder.capture({tensors.pointers(0)});
  return decoder;
}

class DeviceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (gpu::has_device()) return;
    ASSERT_EQ(std::getenv("SPLITWAVE_REQUIRE_GPU"), nullptr) << "SPLITWAVE_REQUIRE_GPU is set, but there is no device";
    GTEST_SKIP() << "no CUDA device";
  }
};

}  // namespace splitwave::testing
