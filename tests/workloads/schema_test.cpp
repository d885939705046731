// SPDX-License-Identifier: Apache-2.0
// The JSON Schema and the parser say the same.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>

#include "base/embedded_file.h"
#include "base/error.h"
#include "workloads/data.h"
#include "workloads/format_keys.h"
#include "workloads/generate.h"
#include "workloads/load.h"

namespace splitwave::workloads {
namespace {

using Json = nlohmann::json;

const Json& schema_json() {
  static const Json json = [] {
    std::ifstream file(SPLITWAVE_SOURCE_DIR "/workloads/schema/workload.schema.json");
    return Json::parse(file);
  }();
  return json;
}

bool matches(const Json& document) {
  static const valijson::Schema* schema = [] {
    static valijson::Schema parsed;
    valijson::SchemaParser parser;
    parser.populateSchema(valijson::adapters::NlohmannJsonAdapter(schema_json()), parsed);
    return &parsed;
  }();
  valijson::Validator validator;
  return validator.validate(*schema, valijson::adapters::NlohmannJsonAdapter(document), nullptr);
}

std::set<std::string> properties(const char* definition) {
  std::set<std::string> names;
  for (const auto& item : schema_json()["definitions"][definition]["properties"].items()) names.insert(item.key());
  return names;
}

std::set<std::string> listed(std::span<const std::string_view> names) {
  return {names.begin(), names.end()};
}

std::set<std::string> choices(const char* definition, const char* key) {
  std::set<std::string> names;
  for (const Json& name : schema_json()["definitions"][definition]["properties"][key]["enum"]) names.insert(name);
  return names;
}

TEST(Schema, KeysAreTheParsers) {
  EXPECT_EQ(properties("suite"), listed(kSuiteKeys));
  EXPECT_EQ(properties("workload"), listed(kWorkloadKeys));
  EXPECT_EQ(properties("geometry"), listed(kGeometryKeys));
  EXPECT_EQ(properties("request"), listed(kRequestKeys));
  EXPECT_EQ(properties("storage"), listed(kStorageKeys));
  EXPECT_EQ(properties("range"), listed(kRangeKeys));
  EXPECT_EQ(properties("uniform"), listed(kUniformKeys));
  EXPECT_EQ(properties("ragged"), listed(kRaggedKeys));
  EXPECT_EQ(properties("zipf"), listed(kZipfKeys));
  EXPECT_EQ(properties("one_long"), listed(kOneLongKeys));
  EXPECT_EQ(properties("published"), listed(kPublishedKeys));
}

TEST(Schema, NamesAreTheParsers) {
  EXPECT_EQ(choices("geometry", "kind"), listed(kKindNames));
  EXPECT_EQ(choices("geometry", "dtype"), listed(kDtypeNames));
  EXPECT_EQ(choices("storage", "layout"), listed(kLayoutNames));
  EXPECT_EQ(choices("workload", "distribution"), listed(kDistributionNames));
  std::set<std::string> distributions;
  for (const LengthDistribution& distribution : length_distributions()) distributions.insert(distribution.name);
  EXPECT_EQ(choices("published", "lengths"), distributions);
}

TEST(Schema, NamesAreThoseOfTheEnumerations) {
  for (std::size_t i = 0; i < kKindNames.size(); ++i)
    EXPECT_EQ(to_string(static_cast<AttentionKind>(i)), kKindNames[i]);
  for (std::size_t i = 0; i < kDtypeNames.size(); ++i) EXPECT_EQ(to_string(static_cast<Dtype>(i)), kDtypeNames[i]);
  for (std::size_t i = 0; i < kLayoutNames.size(); ++i) EXPECT_EQ(to_string(static_cast<KvLayout>(i)), kLayoutNames[i]);
  for (std::size_t i = 0; i < kDistributionNames.size(); ++i) {
    EXPECT_EQ(to_string(static_cast<Distribution>(i)), kDistributionNames[i]);
  }
}

TEST(Schema, AcceptsTheShippedSuitesAndWhatIsPrinted) {
  for (const base::EmbeddedFile& suite : suite_files()) EXPECT_TRUE(matches(Json::parse(suite.text))) << suite.name;
  for (const Workload& workload : load("real")) EXPECT_TRUE(matches(Json::parse(to_json(workload)))) << workload.name;
}

// Each was refused by the parser's own test too; here both must agree.
TEST(Schema, RefusesWhatTheParserRefuses) {
  const char* good = R"({"format": 1, "name": "n", "geometry": {"query_heads": 8, "kv_heads": 2, "head_dim": 64},
                         "requests": [{"context_len": 5}]})";
  ASSERT_TRUE(matches(Json::parse(good)));
  const std::pair<const char*, const char*> changes[] = {
      {"/format", "2"},
      {"/name", "\"\""},
      {"/sed", "1"},
      {"/seed", "-1"},
      {"/seed", "1.5"},
      {"/geometry/head_dim", "100"},
      {"/geometry/dtype", "\"fp16\""},
      {"/geometry/query_heads", "0"},
      {"/geometry/hed_dim", "64"},
      {"/requests/0/context_len", "-1"},
      {"/requests/0/context_len", "1073741825"},
      {"/requests/0/count", "0"},
      {"/requests/0", "{}"},
      {"/kv", "{\"layout\": \"sbhd\"}"},
      {"/tensor_parallel", "2"},
      {"/generate", "{\"kind\": \"uniform\", \"batch\": 1, \"context_len\": 1}"},
      {"/sweep", "{\"seed\": 1}"},
      {"/distribution", "\"uniform\""}};
  for (const auto& [place, value] : changes) {
    Json document = Json::parse(good);
    document[Json::json_pointer(place)] = Json::parse(value);
    EXPECT_FALSE(matches(document)) << place << ' ' << value;
    EXPECT_THROW(parse_json(document.dump(), "w.json"), base::InputError) << place << ' ' << value;
  }
}

}  // namespace
}  // namespace splitwave::workloads
