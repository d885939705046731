// SPDX-License-Identifier: Apache-2.0
// Machine files written from measurements are machine files again.
#include "studies/calibrate.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "simulator/machine.h"
#include "tests/cli/process.h"

namespace splitwave::studies {
namespace {

FileConstant constant(const std::string& key, double value, const std::string& unit) {
  return {key, {value}, false, unit, "a test with \"quotes\"", "measured"};
}

TEST(MachineFile, ChangedConstantsAreReadBackAndOthersStay) {
  std::vector<FileConstant> constants = {constant("dram_latency", 801.23456789, "ns"), constant("atomic", 269, "ns")};
  FileConstant order{"dispatch_order", {}, true, "SM", "a test", "measured"};
  for (int sm = 131; sm >= 0; --sm) order.values.push_back(sm);
  constants.push_back(order);
  const std::string text = changed_machine_file(simulator::machine_text("h200"), "h200", "mine", "My H200", constants);
  const simulator::Machine mine = simulator::parse_machine(text, "mine.json");
  const simulator::Machine h200 = simulator::load_machine("h200");
  EXPECT_EQ(mine.name, "mine");
  EXPECT_EQ(mine.title, "My H200");
  EXPECT_NEAR(mine.dram_latency_seconds, 801.23e-9, 1e-15);
  EXPECT_NEAR(mine.atomic_seconds.value(), 269e-9, 1e-15);
  EXPECT_EQ(mine.dispatch_order.front(), 131);
  EXPECT_EQ(mine.dram_bytes_per_second, h200.dram_bytes_per_second);
  EXPECT_EQ(mine.sms_per_gpc, h200.sms_per_gpc);
  EXPECT_EQ(text.find("aliases"), std::string::npos);  // another machine has them
}

TEST(MachineFile, UnchangedItIsTheSameMachine) {
  const std::string text = changed_machine_file(simulator::machine_text("h200"), "h200", "h200", "NVIDIA H200 SXM", {});
  EXPECT_EQ(nlohmann::json::parse(text)["constants"],
            nlohmann::json::parse(simulator::machine_text("h200"))["constants"]);
}

TEST(MachineFile, WhatIsNoMachineIsRefused) {
  EXPECT_THROW(changed_machine_file("[]", "x.json", "a", "b", {}), base::InputError);
  EXPECT_THROW(changed_machine_file("{\"constants\": 3}", "x.json", "a", "b", {}), base::InputError);
  EXPECT_THROW(changed_machine_file("{", "x.json", "a", "b", {}), base::InputError);
}

TEST(Calibrate, PointsHaveARowEach) {
  const std::string csv = points_csv({{"ring", 8, 16384, 0, 321.5, "GB/s", 320, 322, 9}});
  EXPECT_EQ(csv,
            "benchmark,ctas,bytes_in_flight,footprint_bytes,value,unit,p20,p80,samples\n"
            "ring,8,16384,0,321.5,GB/s,320,322,9\n");
}

/// What read_points() says of a file that it refuses; empty if it takes it.
std::string refusal(const std::string& text) {
  const tests::TemporaryFolder folder;
  try {
    read_points(folder.write("points.csv", text));
  } catch (const base::InputError& error) {
    return error.what();
  }
  return "";
}

TEST(Calibrate, PointsAreReadAsTheyAreWritten) {
  const std::string csv =
      points_csv({{"ring", 8, 16384, 0, 321.5, "GB/s", 320, 322, 9}, {"node_first", 1, 0, 0, 600, "ns", 590, 610, 3}});
  std::string with_returns;
  for (const char letter : csv) with_returns += letter == '\n' ? std::string("\r\n") : std::string(1, letter);
  const tests::TemporaryFolder folder;
  EXPECT_EQ(points_csv(read_points(folder.write("points.csv", csv))), csv);
  EXPECT_EQ(points_csv(read_points(folder.write("returns.csv", with_returns))), csv);
}

TEST(Calibrate, FilesThatHoldNoPointsAreRefused) {
  const std::string header = points_csv({});
  EXPECT_EQ(refusal(header), "");
  EXPECT_NE(refusal("").find("points.csv"), std::string::npos);
  EXPECT_NE(refusal("benchmark,ctas\n").find("allowed: a first line benchmark,ctas"), std::string::npos);
  for (const char* line : {"ring,8,16384,0,321.5,GB/s,320,322", "ring,8,16384,0,321.5,GB/s,320,322,9,9",
                           "ring,eight,16384,0,321.5,GB/s,320,322,9", "ring,8,16384,0,inf,GB/s,320,322,9",
                           "ring,8,1e30,0,321.5,GB/s,320,322,9", "ring,8,16384,0,\"321.5,GB/s,320,322,9"}) {
    const std::string said = refusal(header + line + "\n");
    EXPECT_NE(said.find("points.csv:2: "), std::string::npos) << line << ": " << said;
    EXPECT_NE(said.find("allowed: "), std::string::npos) << line << ": " << said;
  }
}

TEST(Calibrate, TheTableSetsMeasuredBesideKnown) {
  Calibration calibration;
  calibration.constants = {constant("dram_latency", 801.2, "ns"), constant("atomic", 269, "ns")};
  const std::string table = calibration_table(calibration, simulator::machine_text("h200"));
  EXPECT_NE(table.find("801.2"), std::string::npos) << table;
  EXPECT_NE(table.find("911.9"), std::string::npos) << table;
  EXPECT_EQ(calibration_table(calibration, "").find("known"), std::string::npos);
}

TEST(Calibrate, TheCpusFileHoldsWhatWasMeasured) {
  const Calibration calibration = calibrate_cpu(1);
  const nlohmann::json file = nlohmann::json::parse(calibration.file);
  EXPECT_EQ(file["name"], "cpu");
  EXPECT_EQ(file["constants"].size(), calibration.constants.size());
  EXPECT_EQ(file["constants"]["read_bandwidth"]["value"].size(), 1U);
  EXPECT_GT(file["constants"]["read_bandwidth"]["value"][0].get<double>(), 0);
  EXPECT_GT(file["constants"]["tile_time"]["value"].get<double>(), 0);
  for (const auto& [key, value] : file["constants"].items()) {
    EXPECT_FALSE(value["source"].get<std::string>().empty()) << key;
  }
}

}  // namespace
}  // namespace splitwave::studies
