// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "base/text.h"
#include "tests/workloads/refused.h"
#include "workloads/import.h"
#include "workloads/load.h"

namespace splitwave::workloads {
namespace {

const std::string kData = SPLITWAVE_SOURCE_DIR "/tests/workloads/data/";

TEST(ImportTrace, AzuresColumns) {
  const std::vector<TraceRequest> trace = import_trace(base::read_text_file(kData + "azure.csv"), "azure.csv");
  ASSERT_EQ(trace.size(), 4U);
  EXPECT_EQ(trace[0], (TraceRequest{0, 4808, 10}));
  EXPECT_EQ(trace[1].prompt_tokens, 3180);
  EXPECT_NEAR(trace[1].arrival_seconds, 0.052, 1e-6);
  EXPECT_NEAR(trace[2].arrival_seconds, 60 - 0.97996, 1e-6);     // the next minute
  EXPECT_NEAR(trace[3].arrival_seconds, 86400 - 3.97996, 1e-5);  // the next day, with a zone, out of order in the file
}

TEST(ImportTrace, ArrivalsCrossHoursDaysAndYears) {
  const std::vector<TraceRequest> trace = import_trace(
      "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-12-31 18:59:59.5,1,1\n2023-12-31 19:00:00.25,1,1\n"
      "2023-12-31 23:00:00,1,1\n2024-01-01 00:00:00,1,1\n",
      "t.csv");
  ASSERT_EQ(trace.size(), 4U);
  EXPECT_NEAR(trace[1].arrival_seconds, 0.75, 1e-6);
  EXPECT_NEAR(trace[2].arrival_seconds, 4 * 3600 + 0.5, 1e-6);
  EXPECT_NEAR(trace[3].arrival_seconds, 5 * 3600 + 0.5, 1e-6);
}

TEST(ImportTrace, MooncakesKeys) {
  const std::vector<TraceRequest> trace =
      import_trace(base::read_text_file(kData + "mooncake.jsonl"), "mooncake.jsonl");
  EXPECT_EQ(trace, (std::vector<TraceRequest>{{0, 6758, 500}, {0, 7322, 490}, {3.5, 100, 1}}));
}

TEST(ImportTrace, FormatsAreToldApart) {
  EXPECT_EQ(detect_format("TIMESTAMP,ContextTokens,GeneratedTokens\n", "f"), ForeignFormat::azure_trace);
  EXPECT_EQ(detect_format("\xef\xbb\xbfTIMESTAMP,", "f"), ForeignFormat::azure_trace);
  EXPECT_EQ(detect_format("{\"timestamp\": 0, \"input_length\": 1}", "f"), ForeignFormat::mooncake_trace);
  EXPECT_EQ(detect_format("{\n \"num_attention_heads\": 8}", "f"), ForeignFormat::hugging_face_config);
  tests::expect_refused([] { detect_format("%PDF-1.4", "f.pdf"); }, {"f.pdf: begins with \"%PDF-1.4\""});
  tests::expect_refused([] { detect_format("", "f"); }, {"f: begins with \"\""});
  tests::expect_refused([] { import_trace("{}", "f"); }, {"f: is a Hugging Face config"});
}

TEST(ImportTrace, AzureRefusals) {
  const auto refused = [](const std::string& rows, std::initializer_list<const char*> parts) {
    tests::expect_refused([&] { import_azure_trace("TIMESTAMP,ContextTokens,GeneratedTokens\n" + rows, "t.csv"); },
                          parts);
  };
  refused("", {"t.csv: holds no requests"});
  refused("2023-11-16 18:17:03.9,1,2\n\n2023-11-16 18:17:03.9,1", {"t.csv:4: ", "is no row of"});
  refused("2023-11-16 18:17:03.9,1,2,3", {"t.csv:2: GeneratedTokens is \"2,3\""});
  for (const char* stamp : {"", "yesterday", "2023-11-16", "2023-13-16 18:17:03", "2023-02-30 18:17:03",
                            "2023-11-16 24:17:03", "2023-11-16 18:60:03", "2023-11-16 18:17:61", "2023-11-16 18:17:nan",
                            "2023-11-16T18:17:03", "2023-11-16 18:17:03 ", "2023-11-16 18:17:03+01:00"}) {
    refused(std::string(stamp) + ",1,2", {"t.csv:2: TIMESTAMP is ", "YYYY-MM-DD HH:MM:SS"});
  }
  for (const char* tokens : {"", "-1", "1.5", "1e3", "0x10", " 5", "9999999999", "99999999999999999999"}) {
    refused("2023-11-16 18:17:03," + std::string(tokens) + ",2", {"ContextTokens is ", "an integer from 0"});
    refused("2023-11-16 18:17:03,2," + std::string(tokens), {"GeneratedTokens is ", "an integer from 0 to 1048576"});
  }
  tests::expect_refused([] { import_azure_trace("TIMESTAMP,Context\n", "t.csv"); }, {"t.csv: the first line is"});
}

TEST(ImportTrace, MooncakeRefusals) {
  const auto refused = [](const std::string& text, std::initializer_list<const char*> parts) {
    tests::expect_refused([&] { import_mooncake_trace(text, "t.jsonl"); }, parts);
  };
  const std::string good = "{\"timestamp\": 0, \"input_length\": 1, \"output_length\": 1}\n";
  refused("", {"t.jsonl: holds no requests"});
  refused(good + "{\"timestamp\": 0", {"t.jsonl:2: no valid JSON"});
  refused(good + "[]", {"t.jsonl:2: the document is an array"});
  refused("{\"timestamp\": 0, \"input_length\": 1}", {"t.jsonl:1: output_length is missing"});
  refused("{\"timestamp\": -1, \"input_length\": 1, \"output_length\": 1}", {"timestamp is -1"});
  refused("{\"timestamp\": 1e300, \"input_length\": 1, \"output_length\": 1}", {"timestamp is 1e300"});
  refused("{\"timestamp\": 0, \"input_length\": 2147483648, \"output_length\": 1}", {"input_length is 2147483648"});
  refused("{\"timestamp\": 0, \"input_length\": 1, \"output_length\": 1.5}", {"output_length is 1.5"});
}

}  // namespace
}  // namespace splitwave::workloads
