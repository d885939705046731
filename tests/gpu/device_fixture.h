// SPDX-License-Identifier: Apache-2.0
// Tests that need a device skip without one, unless SPLITWAVE_REQUIRE_GPU is set; a device that fails is a failure.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>

#include "gpu/device.h"

namespace splitwave::testing {

class DeviceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (gpu::has_device()) return;
    ASSERT_EQ(std::getenv("SPLITWAVE_REQUIRE_GPU"), nullptr) << "SPLITWAVE_REQUIRE_GPU is set, but there is no device";
    GTEST_SKIP() << "no CUDA device";
  }
};

}  // namespace splitwave::testing
