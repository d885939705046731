// SPDX-License-Identifier: Apache-2.0
#include "gpu/variant.h"

#include <gtest/gtest.h>

#include "gpu/device.h"
#include "tests/support/battery.h"
#include "workloads/error.h"

namespace splitwave::gpu {
namespace {

TEST(Variant, NamesReadBack) {
  const Variant variant{2, 8, 3, 32, 4};
  EXPECT_EQ(to_string(variant), "r2w8s3t32c4");
  EXPECT_EQ(parse_variant("r2w8s3t32c4"), variant);
}

TEST(Variant, BadNamesAreRefused) {
  for (const char* text :
       {"", "r1", "r1w4s4t16", "r1w4s4t16c1x", "w4r1s4t16c1", "r0w4s4t16c1", "r1w4s4t16c99999999999"}) {
    EXPECT_THROW(parse_variant(text), workloads::InputError) << text;
  }
}

TEST(Variant, WithoutADeviceTheErrorSaysSo) {
  if (has_device()) GTEST_SKIP() << "there is a device";
  EXPECT_THROW(current_device(), workloads::MissingError);
  EXPECT_THROW(variants(testing::decode("any", testing::geometry(8, 2, 64), {5})), workloads::MissingError);
}

}  // namespace
}  // namespace splitwave::gpu
