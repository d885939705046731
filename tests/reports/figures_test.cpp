// SPDX-License-Identifier: Apache-2.0
#include "reports/figures.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/lock.h"
#include "reports/draw_figures.h"
#include "tests/reports/figure_records.h"
#include "tests/reports/golden.h"
#include "tests/reports/sample_records.h"
#include "tests/support/full_disk.h"

namespace splitwave::reports {
namespace {

namespace fs = std::filesystem;

std::vector<Figure> charts() {
  const Chart chart{"chart",  "it's a title",
                    "tokens", "error",
                    {},       {{"fa_3", {{256, 2e-5, 2.5e-5}, {512, 1e-5, 1.25e-5}}}, {"`f32`", {{256, 3e-8, 3e-8}}}}};
  Chart named = chart;
  named.name = "named_chart";
  named.x_names = {"normal", "it's flat"};
  named.series = {{"fa_3", {{0, 2e-5, 2.5e-5}, {1, 1e-5, 1.25e-5}}}};
  return {chart_figure(chart, "a caption"), chart_figure(named, "a caption")};
}

std::vector<Figure> figures(const std::vector<Record>& records = tests::comparison()) {
  std::vector<Figure> all =
      figures_of(dataset_of(records, Shapes()), {"fixed-split:fa2", {}, {}, "splitwave report r.jsonl"}).figures;
  for (Figure& figure : charts()) all.push_back(std::move(figure));
  return all;
}

std::string content(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

class Draw : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "splitwave it's-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }
  /// What is drawn depends on the build and on the machine: tests of drawing need both.
  static bool can_draw() {
    return !page_program().empty() && std::system("node --version > /dev/null 2>&1") == 0 &&
           std::system("rsvg-convert --version > /dev/null 2>&1") == 0;
  }
  fs::path folder_;
};

TEST(Figures, NumbersAreAsApproved) {
  for (const Figure& figure : figures()) tests::expect_golden(figure.name + ".csv", figure.csv);
}

TEST(Figures, SpecificationsAreAsApproved) {
  for (const Figure& figure : figures()) {
    tests::expect_golden(figure.name + ".vl.json", nlohmann::ordered_json::parse(figure.spec).dump(1) + "\n");
  }
}

/// Each figure of records with its title, note and numbers.
TEST(Figures, EveryFiguresNumbersAreAsApproved) {
  const FigureSet set = figures_of(dataset_of(tests::figure_records(), Shapes()), tests::figure_request());
  for (const MissingFigure& missing : set.missing) ADD_FAILURE() << missing.name << " is not among what is approved";
  std::string text;
  for (const Figure& figure : set.figures) {
    text += "# " + figure.name + ": " + figure.title + "\n" + figure.note + "\n" + figure.csv + "\n";
  }
  tests::expect_golden("every_figure.txt", text);
}

TEST(Figures, WhatTheRecordsDoNotAllowIsNamed) {
  const FigureSet set = figures_of(dataset_of({}, Shapes()), {});
  EXPECT_TRUE(set.figures.empty());
  EXPECT_EQ(set.missing.size(), figure_names().size());
}

TEST(Figures, OnlyThoseThatAreAskedForAreMade) {
  const FigureSet set = figures_of(dataset_of(tests::comparison(), Shapes()), {"fixed-split:fa2", {}, {"regret"}, ""});
  ASSERT_EQ(set.figures.size(), 1U);
  EXPECT_EQ(set.figures[0].name, "regret");
  EXPECT_TRUE(set.missing.empty());
}

TEST(Figures, LabelsAreApartAndWithinThePanel) {
  // Four curves that end at one place, the highest: their names must find room below it.
  std::vector<Record> records;
  for (const char* context : {"1k", "2k", "4k"}) {
    const std::string workload = std::string("h=8/2,d=64:1q1s") + context;
    const double slower = *context - '0';
    records.push_back(tests::record(workload, "fixed-split:fa2", "simulator", "h200", 1e-5 * slower));
    for (const char* schedule : {"fa2", "fa3", "lean", "flashinfer"}) {
      records.push_back(tests::record(workload, schedule, "simulator", "h200", 1e-5));
    }
  }
  const FigureSet made =
      figures_of(dataset_of(records, Shapes()), {"fixed-split:fa2", {}, {"speed_up_by_context"}, {}});
  ASSERT_EQ(made.figures.size(), 1U);
  const nlohmann::json spec = nlohmann::json::parse(made.figures.front().spec);
  const nlohmann::json& panel = spec["concat"][0];
  std::vector<double> places;
  for (const nlohmann::json& value : panel["layer"].back()["data"]["values"]) places.push_back(value["at"]);
  std::sort(places.begin(), places.end());
  ASSERT_EQ(places.size(), 4U);
  EXPECT_GE(places.front(), 5.75);
  EXPECT_LE(places.back(), panel["height"].get<double>() - 5.75);
  for (std::size_t i = 1; i < places.size(); ++i) EXPECT_GE(places[i] - places[i - 1], 11.5 - 1e-9);
}

TEST(Figures, APointBeyondTheAxisIsNamed) {
  std::vector<Record> records;
  for (int i = 0; i < 100; ++i) {
    const std::string workload = "h=8/2,d=64:1q1s" + std::to_string(1000 + i);
    records.push_back(tests::record(workload, "lean", "simulator", "h200", i == 7 ? 9e-5 : 1.1e-5));
    records.push_back(tests::record(workload, "lean", "cuda", "h200", 1e-5));
  }
  const FigureSet made = figures_of(dataset_of(records, Shapes()), {"lean", {}, {"error_distribution"}, {}});
  ASSERT_EQ(made.figures.size(), 1U);
  EXPECT_EQ(made.figures.front().note,
            "Share of points whose error is at most that. The farthest point, 800 %, lies beyond the axis.");
}

TEST(Figures, TheCommandIsInTheSpecification) {
  const auto spec = nlohmann::json::parse(figures().front().spec);
  EXPECT_EQ(spec.at("usermeta").at("command"), "splitwave report r.jsonl --figure speed_up");
}

TEST_F(Draw, NodeAndLibrsvgMakeSvgPdfAndPng) {
  if (!can_draw()) GTEST_SKIP() << "needs node, rsvg-convert and a build with npm";
  const DrawnFigures drawn = draw(figures(), folder_ / "figures");
  ASSERT_EQ(drawn.note, "");
  for (const Figure& figure : figures()) {
    const std::string svg = content(folder_ / "figures" / (figure.name + ".svg"));
    EXPECT_NE(svg.find("</svg>"), std::string::npos) << figure.name;
    EXPECT_EQ(drawn.svg.at(figure.name) + "\n", svg);
    EXPECT_EQ(content(folder_ / "figures" / (figure.name + ".png")).substr(1, 3), "PNG") << figure.name;
    EXPECT_EQ(content(folder_ / "figures" / (figure.name + ".pdf")).substr(1, 3), "PDF") << figure.name;
  }
  for (const auto& [name, svg] : drawn.svg) EXPECT_EQ(svg.find(" opacity=\"0"), std::string::npos) << name;
  const std::string chart = drawn.svg.at("chart");
  for (const char* text : {"it's a title", "fa_3", "`f32`", "a caption"}) {
    EXPECT_NE(chart.find(text), std::string::npos) << text;
  }
  EXPECT_NE(drawn.svg.at("named_chart").find("it's flat"), std::string::npos);
  EXPECT_FALSE(fs::exists(folder_ / "figures.partial"));
}

TEST_F(Draw, NamesAreTextAndNothingElse) {
  if (!can_draw()) GTEST_SKIP() << "needs node, rsvg-convert and a build with npm";
  std::vector<Record> records = tests::comparison();
  for (Record& record : records) {
    record.machine += "</text><script>1</script>' datum[\"x\"] ${1}";
    if (record.schedule != "fixed-split:fa2") record.schedule += "'];throw 1//<b>&\\";
  }
  const DrawnFigures drawn = draw(figures(records), folder_ / "figures");
  EXPECT_EQ(drawn.note, "");
  for (const auto& [name, svg] : drawn.svg) EXPECT_EQ(svg.find("<script"), std::string::npos) << name;
  EXPECT_NE(drawn.svg.at("speed_up").find("'];throw 1//&lt;b&gt;&amp;\\"), std::string::npos) << "shown as it is";
}

TEST_F(Draw, WithoutNodeTheSpecificationsAndNumbersAreThereAndOneLineSaysHow) {
  if (page_program().empty()) GTEST_SKIP() << "needs a build with npm";
  const std::string path = std::getenv("PATH");
  ::setenv("PATH", folder_.c_str(), 1);
  const DrawnFigures drawn = draw(figures(), folder_ / "figures");
  ::setenv("PATH", path.c_str(), 1);
  EXPECT_NE(drawn.note.find("nodejs"), std::string::npos) << drawn.note;
  EXPECT_EQ(drawn.note.find('\n'), std::string::npos);
  EXPECT_EQ(content(folder_ / "figures/speed_up.csv"), figures()[0].csv);
  EXPECT_EQ(content(folder_ / "figures/speed_up.vl.json"), figures()[0].spec + "\n");
}

TEST_F(Draw, AFigureThatCannotBeDrawnIsNoCrash) {
  if (!can_draw()) GTEST_SKIP() << "needs node, rsvg-convert and a build with npm";
  const DrawnFigures drawn = draw({Figure{"broken", "a broken picture", "", "{\"mark\": 7}", "", ""}}, folder_ / "f");
  EXPECT_EQ(drawn.note.find("no pictures: node failed"), 0U) << drawn.note;
  EXPECT_TRUE(fs::exists(folder_ / "f/broken.vl.json"));
}

TEST_F(Draw, WhatAKilledRunLeftIsNotAmongTheFigures) {
  fs::create_directories(folder_ / "figures.partial");
  std::ofstream(folder_ / "figures.partial/of_other_records.svg") << "<svg/>";
  std::ofstream(folder_ / "figures.partial/speed_up.csv.C1r7ay") << "to";
  const DrawnFigures drawn = draw({charts().front()}, folder_ / "figures");
  EXPECT_EQ(content(folder_ / "figures/chart.csv"), charts().front().csv);
  EXPECT_FALSE(fs::exists(folder_ / "figures/of_other_records.svg"));
  EXPECT_FALSE(fs::exists(folder_ / "figures/speed_up.csv.C1r7ay"));
}

TEST_F(Draw, OfTwoAtOnceInOneFolderOneIsRefused) {
  const fs::path aside = folder_ / "figures.partial";
  fs::create_directories(aside);
  std::ofstream(aside / "speed_up.svg") << "<svg/>";
  const base::Lock other(aside, base::Lock::Kind::exclusive);
  EXPECT_THROW(draw({charts().front()}, folder_ / "figures"), base::InputError);
  EXPECT_TRUE(fs::exists(aside / "speed_up.svg"));
  EXPECT_FALSE(fs::exists(folder_ / "figures"));
}

TEST_F(Draw, OnAFullDiskThereAreOnlyWholePictures) {
  if (!can_draw()) GTEST_SKIP() << "needs node, rsvg-convert and a build with npm";
  const fs::path folder = folder_ / "full";
  std::vector<Figure> small = {charts().front()};
  std::string note;
  {
    const tests::FullDisk full(static_cast<rlim_t>(page_program().size()) + 1000);
    // The program fits, a picture of two thousand pixels does not.
    std::string wide = small[0].spec;
    wide.replace(wide.find("\"width\":520"), 11, "\"width\":9999");
    wide.replace(wide.find("\"height\":300"), 12, "\"height\":9999");
    small[0].spec = wide;
    note = draw(small, folder).note;
  }
  EXPECT_EQ(note.find("no whole chart.png"), 0U) << note;
  EXPECT_FALSE(fs::exists(folder / "chart.png"));
  EXPECT_NE(content(folder / "chart.svg").find("</svg>"), std::string::npos);
}

}  // namespace
}  // namespace splitwave::reports
