// SPDX-License-Identifier: Apache-2.0
// Machine files written from measurements are machine files again.
#include "studies/calibrate.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "simulator/machine.h"

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
