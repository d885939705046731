// SPDX-License-Identifier: Apache-2.0
// The papers' claims as figures: all of them, and nothing that no paper states.
#include "studies/reproduction/pictures.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "studies/reproduction/measured.h"

namespace splitwave::reproduction {
namespace {

class Pictures : public testing::Test {
 protected:
  static const std::vector<PredictedFigure>& predicted() {
    static const std::vector<PredictedFigure> all = predict_all();
    return all;
  }
  static const std::vector<reports::Figure>& figures() {
    static const std::vector<reports::Figure> all = pictures(predicted());
    return all;
  }
  static std::string name_of(const Figure& figure) {
    std::string name = figure.id;
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
  }
  static const reports::Figure& named(const std::string& name) {
    return *std::find_if(figures().begin(), figures().end(), [&](const auto& one) { return one.name == name; });
  }
};

TEST_F(Pictures, EveryClaimHasItsRow) {
  std::size_t claims = 0;
  for (const PredictedFigure& one : predicted()) claims += one.figure->claims.size();
  const std::string& csv = figures().front().csv;
  EXPECT_EQ(figures().front().name, "claims");
  EXPECT_EQ(static_cast<std::size_t>(std::count(csv.begin(), csv.end(), '\n')), claims + 1);
}

TEST_F(Pictures, EveryFigureOfThePapersIsThereUnderANameOfItsOwn) {
  std::set<std::string> names;
  for (const reports::Figure& figure : figures()) EXPECT_TRUE(names.insert(figure.name).second) << figure.name;
  for (const PredictedFigure& one : predicted()) EXPECT_TRUE(names.contains(name_of(*one.figure))) << one.figure->id;
}

TEST_F(Pictures, NoPointIsDrawnThatNoPaperPrintsAndNobodyMeasured) {
  for (const PredictedFigure& one : predicted()) {
    if (!one.figure->cells.empty()) continue;
    EXPECT_EQ(named(name_of(*one.figure)).csv.find(",measured,"), std::string::npos) << one.figure->id;
  }
}

TEST_F(Pictures, StatedNumbersAreTheClaims) {
  const auto spec = nlohmann::json::parse(named("lean_7a").spec);
  std::multiset<double> drawn;
  for (const auto& layer : spec.at("layer")) {
    if (!layer.contains("layer") || !layer.contains("data")) continue;
    for (const auto& row : layer.at("data").at("values")) {
      if (row.contains("to")) drawn.insert(row.at("y").get<double>());
    }
  }
  EXPECT_EQ(drawn, (std::multiset<double>{2, 2.18, 1.46}));
}

TEST_F(Pictures, WhatWasMeasuredIsInThem) {
  const auto shares = measured_merge_shares();
  ASSERT_FALSE(shares.empty());
  EXPECT_EQ(shares[0].workload, "llama-3-8b:1q1s4k");
  EXPECT_DOUBLE_EQ(shares[0].measured, 0.1091);
  EXPECT_NE(named("lean_table_2").csv.find("\"H200, llama-3-8b:1q1s4k\",measured,,2,10.91"), std::string::npos)
      << named("lean_table_2").csv;
  const auto energies = measured_energies();
  ASSERT_FALSE(energies.empty());
  EXPECT_TRUE(std::none_of(energies.begin(), energies.end(),
                           [](const auto& one) { return one.schedule == "fixed-split:fa2"; }));
  EXPECT_NE(named("lean_figure_13_h200").csv.find(",lean,measured,"), std::string::npos);
}

}  // namespace
}  // namespace splitwave::reproduction
