// SPDX-License-Identifier: Apache-2.0
#include "reports/figures.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "tests/reports/golden.h"
#include "tests/reports/sample_records.h"
#include "tests/support/full_disk.h"

namespace splitwave::reports {
namespace {

namespace fs = std::filesystem;

const std::string kCaption = "a cpu's caption, commit 0123456789ab";

std::vector<Figure> figures() {
  const std::vector<Record> records = tests::comparison();
  const Chart chart{"chart",  "it's a title",
                    "tokens", "error",
                    {},       {{"fa_3", {{256, 2e-5, 2.5e-5}, {512, 1e-5, 1.25e-5}}}, {"`f32`", {{256, 3e-8, 3e-8}}}}};
  Chart named = chart;
  named.name = "named_chart";
  named.x_names = {"normal", "it's flat"};
  named.series = {{"fa_3", {{0, 2e-5, 2.5e-5}, {1, 1e-5, 1.25e-5}}}};
  return {speed_up_figure(records, "fixed-split:fa2", kCaption), predicted_measured_figure(records, kCaption),
          chart_figure(chart, kCaption), chart_figure(named, kCaption)};
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
  fs::path folder_;
};

TEST(Figures, DataAndScriptsAreAsApproved) {
  for (const Figure& figure : figures()) {
    tests::expect_golden(figure.name + ".dat", figure.data);
    tests::expect_golden(figure.name + ".gnuplot", figure.script);
  }
}

TEST_F(Draw, GnuplotMakesSvgAndPng) {
  ASSERT_EQ(draw(figures(), folder_ / "figures"), "");
  for (const char* name : {"speed_up", "predicted_measured"}) {
    const std::string svg = content(folder_ / "figures" / (std::string(name) + ".svg"));
    EXPECT_NE(svg.find("</svg>"), std::string::npos) << name;
    EXPECT_NE(svg.find("commit 0123456789ab"), std::string::npos) << name;
    EXPECT_NE(svg.find("fixed-split:fa2"), std::string::npos) << name;
    EXPECT_EQ(content(folder_ / "figures" / (std::string(name) + ".png")).substr(1, 3), "PNG") << name;
  }
  const std::string chart = content(folder_ / "figures/chart.svg");
  for (const char* text : {"it's a title", "fa_3", "`f32`", "commit 0123456789ab"}) {
    EXPECT_NE(chart.find(text), std::string::npos) << text;
  }
  EXPECT_NE(content(folder_ / "figures/named_chart.svg").find("it's flat"), std::string::npos);
  EXPECT_FALSE(fs::exists(folder_ / "figures.partial"));
}

TEST_F(Draw, NamesAreNoCommands) {
  const fs::path made = folder_ / "figures/made";
  std::vector<Record> records = tests::comparison();
  for (Record& record : records) {
    record.machine += "`touch made`\"; system 'touch made'; \"@curves $HOME";
    record.schedule += "`touch made`'; system \"touch made\"; '";
  }
  const std::string baseline = records.front().schedule;
  const std::vector<Figure> drawn = {speed_up_figure(records, baseline, "`touch made`"),
                                     predicted_measured_figure(records, "`touch made`")};
  EXPECT_EQ(draw(drawn, folder_ / "figures"), "");
  EXPECT_FALSE(fs::exists(made));
  EXPECT_FALSE(fs::exists("made"));
  EXPECT_NE(content(folder_ / "figures/speed_up.svg").find("`touch made`"), std::string::npos) << "shown as it is";
}

TEST_F(Draw, WithoutGnuplotTheNumbersAreThereAndOneLineSaysHow) {
  const std::string path = std::getenv("PATH");
  ::setenv("PATH", folder_.c_str(), 1);
  const std::string note = draw(figures(), folder_ / "figures");
  ::setenv("PATH", path.c_str(), 1);
  EXPECT_NE(note.find("gnuplot-nox"), std::string::npos) << note;
  EXPECT_EQ(note.find('\n'), std::string::npos);
  EXPECT_EQ(content(folder_ / "figures/speed_up.dat"), figures()[0].data);
}

TEST_F(Draw, AFailingScriptIsNamed) {
  const std::string note = draw({Figure{"broken", "a broken picture", "", "plot nothing at all\n"}}, folder_ / "f");
  EXPECT_NE(note.find("run gnuplot broken.gnuplot in"), std::string::npos) << note;
}

TEST_F(Draw, OnAFullDiskThereAreOnlyWholePictures) {
  for (const rlim_t bytes : {3000, 12000}) {
    const fs::path folder = folder_ / std::to_string(bytes);
    std::string note;
    {
      const tests::FullDisk full(bytes);
      note = draw(figures(), folder);
    }
    EXPECT_EQ(note.find("no pictures: gnuplot "), 0U) << note;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
      const std::string text = content(entry.path());
      const fs::path kind = entry.path().extension();
      const std::string end = kind == ".svg" ? "</svg>" : kind == ".png" ? "IEND" : "\n";
      EXPECT_NE(text.rfind(end), std::string::npos) << bytes << " " << entry.path();
    }
    EXPECT_EQ(content(folder / "speed_up.dat"), figures()[0].data);
  }
}

}  // namespace
}  // namespace splitwave::reports
