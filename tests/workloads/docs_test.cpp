// SPDX-License-Identifier: Apache-2.0
// docs/workloads.md is true: its examples parse, and it names every key, limit, model and distribution.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/text.h"
#include "workloads/format_keys.h"
#include "workloads/generate.h"
#include "workloads/load.h"
#include "workloads/models.h"

namespace splitwave::workloads {
namespace {

const std::string& page() {
  static const std::string text = base::read_text_file(SPLITWAVE_SOURCE_DIR "/docs/workloads.md");
  return text;
}

// The fenced blocks of a language.
std::vector<std::string> blocks(const std::string& language) {
  std::vector<std::string> found;
  const std::string fence = "\n```" + language + "\n";
  for (std::size_t at = page().find(fence); at != std::string::npos; at = page().find(fence, at + 1)) {
    const std::size_t begin = at + fence.size();
    found.push_back(page().substr(begin, page().find("\n```", begin) - begin));
  }
  return found;
}

TEST(Docs, ExamplesOfFilesParse) {
  const std::vector<std::string> json = blocks("json");
  ASSERT_GE(json.size(), 3U);
  for (const std::string& block : json) EXPECT_NO_THROW(parse_json(block, "docs/workloads.md")) << block;
  const std::vector<std::string> lines = blocks("jsonl");
  ASSERT_GE(lines.size(), 1U);
  for (const std::string& block : lines) EXPECT_GE(parse_json(block, "docs/workloads.md").size(), 2U);
}

TEST(Docs, ExamplesOfSpecsParse) {
  std::size_t specs = 0;
  for (std::string block : blocks("spec")) {
    block += '\n';
    for (std::size_t begin = 0; begin < block.size();) {
      const std::size_t end = block.find('\n', begin);
      const std::string line = block.substr(begin, end - begin);
      EXPECT_NO_THROW(parse_spec(line.substr(0, line.find(' ')))) << line;
      begin = end + 1;
      ++specs;
    }
  }
  EXPECT_GE(specs, 5U);
}

TEST(Docs, EveryNameIsThere) {
  const auto named = [](std::string_view name) {
    EXPECT_NE(page().find("`" + std::string(name) + "`"), std::string::npos) << name;
  };
  for (const auto key : kSuiteKeys) named(key);
  for (const auto key : kWorkloadKeys) named(key);
  for (const auto key : kGeometryKeys) named(key);
  for (const auto key : kRequestKeys) named(key);
  for (const auto key : kStorageKeys) named(key);
  for (const auto key : kRangeKeys) named(key);
  for (const auto name : kGeneratorNames) named(name);
  for (const auto key : kRaggedKeys) named(key);
  for (const auto key : kZipfKeys) named(key);
  for (const auto key : kOneLongKeys) named(key);
  for (const auto key : kPublishedKeys) named(key);
  for (const auto name : kDtypeNames) named(name);
  for (const auto name : kLayoutNames) named(name);
  for (const auto name : kDistributionNames) named(name);
  for (const LengthDistribution& distribution : length_distributions()) named(distribution.name);
  for (const Model& model : models()) {
    if (model.name.find("-local") == std::string::npos) named(model.name);
  }
}

}  // namespace
}  // namespace splitwave::workloads
