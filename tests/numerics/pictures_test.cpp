// SPDX-License-Identifier: Apache-2.0
// The figures of docs/numerics.md show what the CSV files beside them hold.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "benchmarks/numerics/studies.h"
#include "reports/draw_figures.h"

namespace splitwave::numerics_study {
namespace {

const std::filesystem::path kFolder = std::filesystem::path(SPLITWAVE_DOCS_DIR) / "numerics";

std::string content(const std::filesystem::path& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::vector<Point> points(const std::string& name) {
  std::ifstream file(kFolder / (name + ".csv"));
  std::string line;
  std::getline(file, line);
  EXPECT_EQ(line + '\n', to_csv({})) << name;
  std::vector<Point> all;
  while (std::getline(file, line)) {
    std::stringstream cells(line);
    std::vector<std::string> texts;
    for (std::string cell; std::getline(cells, cell, ',');) texts.push_back(cell);
    EXPECT_EQ(texts.size(), 12U) << line;
    if (texts.size() != 12U) continue;
    all.push_back({texts[0], texts[1], std::stoi(texts[2]), std::stoi(texts[3]), std::stoi(texts[4]), texts[5],
                   texts[6], std::stod(texts[7]), std::stod(texts[8]), std::stod(texts[9]), std::stod(texts[10]),
                   std::stod(texts[11])});
  }
  EXPECT_EQ(to_csv(all), content(kFolder / (name + ".csv")));
  return all;
}

/// A picture as its text without numbers, and its numbers.
struct Picture {
  std::string text;
  std::vector<double> numbers;
};

Picture picture(const std::filesystem::path& path) {
  static const std::regex kNumber("[0-9]+(\\.[0-9]+)?");
  const std::string all = content(path);
  Picture result{std::regex_replace(all, kNumber, "#"), {}};
  for (std::sregex_iterator i(all.begin(), all.end(), kNumber); i != std::sregex_iterator(); ++i) {
    result.numbers.push_back(std::stod(i->str()));
  }
  return result;
}

TEST(NumericsPictures, ShowThePointsOfTheirFiles) {
  const std::filesystem::path now = std::filesystem::path(::testing::TempDir()) / "numerics_pictures";
  std::filesystem::remove_all(now);
  const reports::DrawnFigures drawn =
      reports::draw(figures(points("context"), points("splits"), points("distribution")), now);
  if (drawn.svg.empty()) GTEST_SKIP() << drawn.note;
  for (const char* const name : {"context.svg", "splits.svg", "distribution.svg"}) {
    const Picture expected = picture(kFolder / name);
    const Picture again = picture(now / name);
    EXPECT_EQ(again.text, expected.text) << name;
    ASSERT_EQ(again.numbers.size(), expected.numbers.size()) << name;
    // The files have four digits of what was drawn.
    constexpr double kPixels = 0.11;
    for (std::size_t i = 0; i < again.numbers.size(); ++i) {
      ASSERT_NEAR(again.numbers[i], expected.numbers[i], kPixels) << name << ", number " << i;
    }
  }
  std::filesystem::remove_all(now);
}

}  // namespace
}  // namespace splitwave::numerics_study
