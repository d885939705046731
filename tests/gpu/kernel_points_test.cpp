// SPDX-License-Identifier: Apache-2.0
// Kernel files from points that a calibration left. No device is needed.
#include "studies/kernel_points.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "base/error.h"
#include "base/output_files.h"
#include "simulator/kernel.h"
#include "simulator/machine.h"
#include "studies/calibrate_cuda.h"

namespace splitwave::studies {
namespace {

CalibrationPoint point(const char* benchmark, std::int32_t ctas, std::int64_t bytes_in_flight, double value) {
  CalibrationPoint point;
  point.benchmark = benchmark;
  point.ctas = ctas;
  point.bytes_in_flight = bytes_in_flight;
  point.value = value;
  return point;
}

/// What probe_base() asks for: a lone ring of 430 ns and others.
std::vector<CalibrationPoint> base_points() {
  return {point("node_first", 1, 0, 600), point("ring", 1, 16384, 38.1), point("ring", 64, 16384, 2290),
          point("ring_l2", 1, 16384, 88), point("ring_l2", 1, 65536, 246)};
}

TEST(KernelPoints, NamesAreReadAsTheyAreWritten) {
  for (const char* name : {"r1w4s4t16c1_d64_item_any", "r8g4s2t16c1_d128_paged_masked_short_items_any",
                           "r2w4s1t16c8_d256_waves_single", "r8m8s2t8c1_d576_masked_queries_any"}) {
    const std::vector<gpu::KernelProbe> probes = probes_of({point(name, 6, 0, 1234)});
    ASSERT_EQ(probes.size(), 1U) << name;
    EXPECT_EQ(point_name(probes[0]), name);
    EXPECT_EQ(probes[0].count, 6);
    EXPECT_DOUBLE_EQ(probes[0].seconds, 1234e-9);
  }
}

/// None is lost on the way to a file and back: until 2026-11-29 boxes were.
TEST(KernelPoints, EveryKindIsReadAsItIsWritten) {
  for (int kind = 0; kind <= static_cast<int>(gpu::kLastProbeKind); ++kind) {
    for (const bool waits : {false, true}) {
      gpu::KernelProbe probe;
      probe.geometry.head_dim = 128;
      probe.kind = static_cast<gpu::ProbeKind>(kind);
      probe.any_plan = true;
      probe.waits = waits;
      const std::string name = point_name(probe);
      const std::vector<gpu::KernelProbe> probes = probes_of({point(name.c_str(), 2, 0, 1)});
      ASSERT_EQ(probes.size(), 1U) << name;
      EXPECT_EQ(probes[0].kind, probe.kind) << name;
      EXPECT_EQ(probes[0].waits, waits) << name;
      EXPECT_TRUE(probes[0].any_plan) << name;
    }
  }
}

TEST(KernelPoints, OtherPointsAreNoProbes) {
  EXPECT_TRUE(probes_of(base_points()).empty());
  EXPECT_TRUE(probes_of({point("ring_rows", 0, 65536, 2646), point("r1w4s4t16c1_d64_nothing_any", 1, 0, 1),
                         point("r1w4s4t16c1_d64_item_both", 1, 0, 1), point("", 1, 0, 1)})
                  .empty());
}

TEST(KernelPoints, TheBaseIsOfRingsAndLaunches) {
  const simulator::Machine machine = simulator::load_machine("h200");
  const ProbeBase base = probe_base(base_points(), machine, "a test");
  EXPECT_NEAR(base.latency_scale * machine.dram_latency_seconds, 16384 / 38.1e9, 1e-12);
  EXPECT_DOUBLE_EQ(base.ring_l2_bytes_per_second, 246e9);
  EXPECT_DOUBLE_EQ(base.launch_seconds, 600e-9);
  EXPECT_GT(base.queue_scale, 0);
  std::vector<CalibrationPoint> fewer = base_points();
  fewer.erase(fewer.begin());
  EXPECT_THROW(probe_base(fewer, machine, "a test"), base::InputError);
}

TEST(KernelPoints, AConfigThatTheFileDoesNotHaveIsRefused) {
  std::vector<CalibrationPoint> points = base_points();
  points.push_back(point("r1w4s5t16c1_d64_item_any", 64, 0, 3000));
  EXPECT_THROW(recalibrated_kernels(points, simulator::load_machine("h200"), "a test",
                                    simulator::kernel_text(std::string(simulator::kOwnKernel))),
               base::InputError);
}

/// The shipped constants are what the rules make of the points that are checked in.
TEST(KernelPoints, TheShippedConstantsAreOfThePointsBesideThem) {
  for (const auto& [points, machine, kernels] :
       {std::tuple{"h200", "h200-calibrated", "splitwave"}, {"h100", "h100-sxm-calibrated", "splitwave-h100"}}) {
    const std::string again =
        recalibrate_cuda(fmt::format(SPLITWAVE_SOURCE_DIR "/docs/gpu/{}_microbenchmarks.csv", points), machine);
    EXPECT_TRUE(again == simulator::kernel_text(kernels))
        << kernels << ".json is not what 'splitwave calibrate --executor cuda --from-points' makes now";
  }
}

/// A config's profile, of heads of 128 elements, by the shipped points, of which the benchmark's are more: those of
/// `count` only, if it is not 0.
simulator::KernelProfile profile_by(const std::string& config, bool masked, const std::string& benchmark,
                                    std::int32_t count, double more_ns) {
  std::vector<CalibrationPoint> points = read_points(SPLITWAVE_SOURCE_DIR "/docs/gpu/h200_microbenchmarks.csv");
  for (CalibrationPoint& point : points) {
    if (point.benchmark == benchmark && (count == 0 || point.ctas == count)) point.value += more_ns;
  }
  const simulator::KernelFamily family =
      simulator::parse_kernel(recalibrated_kernels(points, simulator::load_machine("h200-calibrated"), "a test",
                                                   simulator::kernel_text(std::string(simulator::kOwnKernel))),
                              "file");
  for (const simulator::KernelVariant& variant : family.variants) {
    const simulator::KernelProfile& kernel = variant.kernel;
    if (kernel.config == config && variant.head_dim_least == 128 && kernel.masked == masked) return kernel;
  }
  ADD_FAILURE() << config;
  return {};
}

/// What the probes of full SMs take beyond what the other constants predict is their constant, if it is more.
TEST(KernelPoints, FullSmsSayWhatStartsTakeLonger) {
  const auto full_sm = [&](double more_ns) {
    return profile_by("r8g4s2t16", false, "r8g4s2t16c1_d128_full_any", 0, more_ns).full_sm_seconds;
  };
  const double as_shipped = full_sm(0);
  EXPECT_GT(as_shipped, 500e-9);
  EXPECT_NEAR(full_sm(100), as_shipped + 100e-9, 0.1e-9);
  EXPECT_EQ(full_sm(-2000), 0);
}

/// Of two CTAs on an SM, lists of four items of two chunks each, 14 queries beyond two.
TEST(KernelPoints, QueriesOnFullSmsSayWhatAChunksEdgeTakes) {
  const auto edge = [&](std::int32_t queries, double more_ns) {
    return profile_by("r2w4s2t16", true, "r2w4s2t16c1_d128_masked_full_queries_any", queries, more_ns)
        .edge_chunk_seconds;
  };
  const double as_shipped = edge(16, 0);
  EXPECT_GT(as_shipped, 40e-9);
  EXPECT_NEAR(edge(16, 1120), as_shipped + 5e-9, 0.1e-9);
  EXPECT_NEAR(edge(2, 1120), as_shipped - 5e-9, 0.1e-9);
}

TEST(KernelPoints, ListsInDramSayWhatSecondAndFurtherItemsTake) {
  const std::string benchmark = "r4g4s3t16c1_d128_cold_items_any";
  const simulator::KernelProfile shipped = profile_by("r4g4s3t16", false, benchmark, 2, 0);
  const simulator::KernelProfile six = profile_by("r4g4s3t16", false, benchmark, 6, 400);
  EXPECT_NEAR(six.item_seconds, shipped.item_seconds + 100e-9, 0.2e-9);
  EXPECT_NEAR(six.item_crowded_seconds, shipped.item_crowded_seconds + 100e-9, 0.2e-9);
  EXPECT_NEAR(six.second_item_seconds, shipped.second_item_seconds - 100e-9, 0.2e-9);
  const simulator::KernelProfile two = profile_by("r4g4s3t16", false, benchmark, 2, 100);
  EXPECT_NEAR(two.second_item_seconds, shipped.second_item_seconds + 125e-9, 0.2e-9);
}

/// A calibration of one's own names no kernel file, and has the registers of its kind's.
TEST(KernelPoints, AreOfTheSameResourcesByAMachineOfOnesOwn) {
  std::string machine = simulator::machine_text("h100-sxm-calibrated");
  const std::string line = "  \"own_kernels\": \"splitwave-h100\",\n";
  machine.erase(machine.find(line), line.size());
  const std::string file = ::testing::TempDir() + "my_h100.json";
  base::write_file(file, machine);
  const std::string again = recalibrate_cuda(SPLITWAVE_SOURCE_DIR "/docs/gpu/h100_microbenchmarks.csv", file);
  EXPECT_TRUE(again == simulator::kernel_text("splitwave-h100"));
}

}  // namespace
}  // namespace splitwave::studies
