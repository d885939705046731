// SPDX-License-Identifier: Apache-2.0
#include "studies/target.h"

#include <gtest/gtest.h>

namespace splitwave::studies {
namespace {

TEST(Targets, DevicesAreFoundByTheNameThatTheDriverGivesThem) {
  EXPECT_EQ(machine_of_device("NVIDIA H200"), "h200");
  EXPECT_EQ(machine_of_device("NVIDIA H20"), "h20");
  EXPECT_EQ(machine_of_device("NVIDIA H100 80GB HBM3"), "h100-sxm");
  EXPECT_EQ(machine_of_device("NVIDIA H100 PCIe"), "h100-pcie");
  EXPECT_EQ(machine_of_device("NVIDIA A100-SXM4-80GB"), "a100");
  EXPECT_EQ(machine_of_device("NVIDIA GeForce RTX 4090"), "rtx-4090");
  EXPECT_EQ(machine_of_device("NVIDIA GeForce RTX 3090"), "");
  EXPECT_EQ(machine_of_device(""), "");
}

}  // namespace
}  // namespace splitwave::studies
