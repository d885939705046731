// SPDX-License-Identifier: Apache-2.0
// workload tensors and verify, as a user runs them.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/cli/process.h"

namespace splitwave::tests {
namespace {

constexpr const char* kWorkload = "h=4/2,d=64:2q1s100";

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

class VerifyVerb : public ::testing::Test {
 protected:
  /// Writes a workload's tensors and returns the folder.
  std::string exported(const std::string& name, const std::string& spec = kWorkload,
                       const std::string& format = "npy") {
    const std::string path = folder_.file(name);
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    const Outcome outcome = splitwave({"workload", "tensors", "-w", spec, "--out", path, "--format", format});
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return path;
  }
  /// A copy of an npy file whose last element is another number.
  std::string spoiled(const std::string& path) {
    std::string bytes = bytes_of(path);
    bytes[bytes.size() - 1] = '\x40';  // of f16: 2 and more
    return folder_.write("spoiled.npy", bytes);
  }
  TemporaryFolder folder_;
};

TEST_F(VerifyVerb, TheOraclesOutputPassesBothWays) {
  const std::string a = exported("a");
  EXPECT_EQ(splitwave({"verify", "-w", kWorkload, "--output", a + "/output.npy", "--lse", a + "/lse.npy"}).status, 0);
  const Outcome outcome = splitwave({"verify", "--tensors", a, "--json"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  const nlohmann::json verdict = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(verdict["passed"], true);
  EXPECT_EQ(verdict["rows"], 8);
  EXPECT_EQ(verdict["heads"].size(), 4U);
  EXPECT_EQ(verdict["requests"].size(), 2U);
  EXPECT_LT(verdict["output"]["worst_bound_ratio"], 1);
}

TEST_F(VerifyVerb, ASampleIsJudgedWithoutTheRest) {
  const std::string spec = "h=8/4,d=64:5q2s50";
  const std::string a = exported("sampled", spec);
  const auto judge = [&](const std::string& output, const char* groups) {
    return splitwave({"verify", "-w", spec, "--output", output, "--lse", a + "/lse.npy", "--sample", groups, "--json"});
  };
  const Outcome good = judge(a + "/output.npy", "3");
  EXPECT_EQ(good.status, 0) << good.err;
  EXPECT_EQ(nlohmann::json::parse(good.out)["rows"], 3 * 2 * 2);
  // The last element of all is in every sample, and nothing before it is.
  const Outcome bad = judge(spoiled(a + "/output.npy"), "1");
  EXPECT_EQ(bad.status, 1) << bad.err;
  const nlohmann::json worst = nlohmann::json::parse(bad.out)["worst"];
  EXPECT_EQ(worst["request"], 4);
  EXPECT_EQ(worst["query"], 1);
  EXPECT_EQ(worst["head"], 7);
  EXPECT_EQ(worst["element"], 63);
  EXPECT_EQ(judge(a + "/lse.npy", "1").status, 2);
  EXPECT_EQ(splitwave({"verify", "--tensors", a, "--sample", "1"}).status, 2);
}

TEST_F(VerifyVerb, EveryLayoutAndDtypeRoundTrips) {
  const std::string base =
      R"({"format":1,"name":"w","geometry":{"kind":"gqa","query_heads":4,"kv_heads":2,"head_dim":32,)"
      R"("value_dim":32,"dtype":"DTYPE","causal":true},"requests":[{"query_len":2,"context_len":40},)"
      R"({"query_len":2,"context_len":40}],"kv":{LAYOUT}})";
  int count = 0;
  for (const std::string dtype : {"f16", "bf16", "f32"}) {
    for (const std::string layout :
         {R"("layout":"bshd")", R"("layout":"bhsd")", R"("layout":"paged","page_size":16)"}) {
      std::string text = base;
      text.replace(text.find("DTYPE"), 5, dtype);
      text.replace(text.find("LAYOUT"), 6, layout);
      const std::string file = folder_.write("w" + std::to_string(count) + ".json", text);
      for (const std::string format : {"npy", "safetensors"}) {
        const std::string path = exported("case" + std::to_string(count++), file, format);
        const Outcome outcome = splitwave({"verify", "--tensors", path});
        EXPECT_EQ(outcome.status, 0) << dtype << layout << format << outcome.out << outcome.err;
      }
    }
  }
}

// A head-major array takes its extent from the first request, which an empty batch has not.
TEST_F(VerifyVerb, TensorsOfAnEmptyBatchAreWritten) {
  for (const std::string layout : {R"("layout":"bshd")", R"("layout":"bhsd")", R"("layout":"paged","page_size":16)"}) {
    const std::string file = folder_.write(
        "empty.json",
        R"({"format":1,"name":"a","geometry":{"query_heads":8,"kv_heads":8,"head_dim":64,"value_dim":64},)"
        R"("requests":[],"kv":{)" +
            layout + "}}");
    for (const std::string format : {"npy", "safetensors"}) {
      const std::string path = exported(layout.substr(10, 4) + format, file, format);
      EXPECT_TRUE(std::filesystem::exists(path + "/case.json")) << layout << format;
    }
  }
}

TEST_F(VerifyVerb, CumulativeLengthsBeyondThirtyTwoBitsAreRefused) {
  const Outcome outcome =
      splitwave({"workload", "tensors", "-w", "h=1/1,d=8:2048q1s1024k", "--out", folder_.file("large")});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_NE(outcome.err.find("contexts have 2147483648 tokens"), std::string::npos) << outcome.err;
  EXPECT_FALSE(std::filesystem::exists(folder_.file("large")));
}

TEST_F(VerifyVerb, AWrongElementFailsAndIsNamed) {
  const std::string a = exported("a");
  const Outcome outcome = splitwave({"verify", "--tensors", a, "--output", spoiled(a + "/output.npy")});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_NE(outcome.out.find("FAIL"), std::string::npos);
  EXPECT_NE(outcome.out.find("request 1, query 0, head 3, element 63"), std::string::npos) << outcome.out;
}

TEST_F(VerifyVerb, AFaultIsNamed) {
  const std::string a = exported("a", "h=4/2,d=64:1q4s100");
  const Outcome outcome = splitwave({"verify", "--tensors", a, "--scale", "0.25", "--json"});
  EXPECT_EQ(outcome.status, 1);
  const nlohmann::json verdict = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(verdict["findings"][0]["fault"], "softmax_scale");
  const Outcome causal = splitwave({"verify", "--tensors", a, "--no-causal", "--json"});
  EXPECT_EQ(nlohmann::json::parse(causal.out)["findings"][0]["fault"], "causal_alignment");
  EXPECT_EQ(splitwave({"verify", "--tensors", a, "--no-causal", "--no-diagnosis"}).status, 1);
}

TEST_F(VerifyVerb, RawFilesWithStatedTypesAreRead) {
  const std::string a = exported("a");
  const std::string raw = folder_.write("o.bin", bytes_of(a + "/output.npy").substr(128));
  EXPECT_EQ(splitwave({"verify", "-w", kWorkload, "--output", raw + ",f16,2x4x64"}).status, 0);
  EXPECT_EQ(splitwave({"verify", "--tensors", a, "--array", "output=" + raw + ",f16,2x4x64"}).status, 0);
  const Outcome wrong = splitwave({"verify", "-w", kWorkload, "--output", raw + ",f32,2x4x64"});
  EXPECT_EQ(wrong.status, 2);
  EXPECT_NE(wrong.err.find("takes 2048 bytes, but 1024 are there"), std::string::npos) << wrong.err;
}

TEST_F(VerifyVerb, AFolderOfCasesIsSummedUp) {
  exported("cases/good");
  const std::string bad = exported("cases/bad");
  std::filesystem::copy_file(spoiled(bad + "/output.npy"), bad + "/output.npy",
                             std::filesystem::copy_options::overwrite_existing);
  const std::string broken = exported("cases/broken<&");
  std::filesystem::remove(broken + "/k.npy");
  const std::string junit = folder_.file("j.xml");
  const Outcome outcome = splitwave({"verify", "--tensors", folder_.file("cases"), "--junit", junit});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_NE(outcome.out.find("3 cases: 1 passed, 1 failed, 1 could not be judged"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.err.find("k is missing"), std::string::npos) << outcome.err;
  const std::string xml = bytes_of(junit);
  EXPECT_NE(xml.find("tests=\"3\" failures=\"1\" errors=\"1\""), std::string::npos) << xml;
  EXPECT_NE(xml.find("broken&lt;&amp;"), std::string::npos) << xml;
  EXPECT_EQ(splitwave({"verify", "--tensors", folder_.file("cases"), "--junit", junit}).status, 2);
}

TEST_F(VerifyVerb, SeveralWorkloadsHaveAFolderOfOutputs) {
  const std::string suite =
      folder_.write("suite.jsonl", splitwave({"workload", "show", "--json", "-w", kWorkload}).out +
                                       splitwave({"workload", "show", "--json", "-w", "h=2/1,d=32:1q1s50"}).out +
                                       splitwave({"workload", "show", "--json", "-w", "h=2/1,d=32:1q1s60"}).out);
  const std::string cases = exported("cases", suite);
  const Outcome good = splitwave({"verify", "-w", suite, "--output", cases});
  EXPECT_EQ(good.status, 0) << good.err;
  EXPECT_NE(good.out.find("3 cases: 3 passed, 0 failed, 0 could not be judged"), std::string::npos) << good.out;
  std::filesystem::copy_file(spoiled(cases + "/001/output.npy"), cases + "/001/output.npy",
                             std::filesystem::copy_options::overwrite_existing);
  std::filesystem::remove(cases + "/002/output.npy");
  std::filesystem::remove(cases + "/000/lse.npy");
  const Outcome bad = splitwave({"verify", "-w", suite, "--output", cases});
  EXPECT_EQ(bad.status, 1);
  EXPECT_NE(bad.out.find("PASS " + std::string(kWorkload)), std::string::npos) << bad.out;
  EXPECT_NE(bad.out.find("FAIL h=2/1,d=32:1q1s50"), std::string::npos) << bad.out;
  EXPECT_NE(bad.out.find("3 cases: 1 passed, 1 failed, 1 could not be judged"), std::string::npos) << bad.out;
  EXPECT_NE(bad.err.find("002/output.npy"), std::string::npos) << bad.err;
  EXPECT_EQ(splitwave({"verify", "-w", suite, "--output", cases, "--lse", cases + "/000/output.npy"}).status, 2);
}

TEST_F(VerifyVerb, BadInputIsOneLine) {
  const std::string a = exported("a");
  const struct {
    std::vector<std::string> arguments;
    std::string message;
  } cases[] = {
      {{"verify"}, "either -w WORKLOAD with --output FILE, or --tensors PATH"},
      {{"verify", "-w", kWorkload}, "--output is missing"},
      {{"verify", "-w", kWorkload, "--output", folder_.file("none.npy")}, "cannot be read"},
      {{"verify", "-w", "real", "--output", a + "/output.npy"}, "allowed: one, whose output is judged"},
      {{"verify", "-w", kWorkload, "--output", a + "/q.npy", "--lse", a + "/q.npy"}, "lse: shape is (2, 4, 64)"},
      {{"verify", "--tensors", folder_.file("nothing")}, "cannot be read"},
      {{"verify", "--tensors", a, "--window", "0"}, "an integer from 1"},
      {{"verify", "--tensors", a, "--weights", "f8"}, "f8 is not allowed; allowed: f16, bf16"},
      {{"verify", "--tensors", a, "--array", "output"}, "NAME=FILE.npy"},
      {{"verify", "--tensors", a, "--array", "ouput=" + a + "/q.npy"}, "tensor ouput is unknown; did you mean output"},
      {{"workload", "tensors", "-w", kWorkload, "--out", a}, "exists and is not replaced"},
  };
  for (const auto& each : cases) {
    const Outcome outcome = splitwave(each.arguments);
    EXPECT_EQ(outcome.status, 2) << each.message << outcome.out;
    EXPECT_NE(outcome.err.find(each.message), std::string::npos) << outcome.err;
    EXPECT_EQ(outcome.err.find('\n'), outcome.err.size() - 1) << outcome.err;
  }
}

// A workload says itself what its kernel was asked for, and a case has no seed.
TEST_F(VerifyVerb, OptionsOfTheOtherKindOfCaseAreRefused) {
  const std::string a = exported("a");
  for (const std::vector<std::string>& option : {std::vector<std::string>{"--array", "k=" + a + "/k.npy"},
                                                 {"--causal"},
                                                 {"--no-causal"},
                                                 {"--window", "8"},
                                                 {"--scale", "1"},
                                                 {"--layout", "head"},
                                                 {"--kv-layout", "head"}}) {
    std::vector<std::string> arguments = {"verify", "-w", kWorkload, "--output", a + "/output.npy"};
    arguments.insert(arguments.end(), option.begin(), option.end());
    const Outcome outcome = splitwave(arguments);
    EXPECT_EQ(outcome.status, 2) << option.front() << outcome.out;
    EXPECT_NE(outcome.err.find(option.front() + " requires --tensors"), std::string::npos) << outcome.err;
  }
  const Outcome seed = splitwave({"verify", "--tensors", a, "--seed", "3"});
  EXPECT_EQ(seed.status, 2);
  EXPECT_NE(seed.err.find("--seed"), std::string::npos) << seed.err;
  EXPECT_EQ(splitwave({"verify", "--tensors", a, "--scale", "nan"}).status, 2);
}

TEST_F(VerifyVerb, CaseJsonIsReadStrictly) {
  const std::string a = exported("a");
  for (const auto& [text, message] :
       {std::pair<std::string, std::string>{R"({"casual": true})", "casual"},
        {R"({"causal": 1})", "causal"},
        {R"({"lse_base": "10"})", "lse_base"},
        {R"({"arrays": {"q": {"file": "../q.npy", "dtype": "f16", "shape": [1]}}})", "own folder"},
        {"", "is empty"}}) {
    std::ofstream(a + "/case.json") << text;
    const Outcome outcome = splitwave({"verify", "--tensors", a});
    EXPECT_EQ(outcome.status, 2) << text;
    EXPECT_NE(outcome.err.find(message), std::string::npos) << outcome.err;
  }
}

constexpr const char* kRagged = "h=4/2,d=64:1q1s3000_2q1s300";

std::vector<std::string> invariance(const std::string& schedules, const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments = {"verify", "--batch-invariance", "-w", kRagged, "--threads", "2"};
  if (!schedules.empty()) arguments.insert(arguments.end(), {"--schedule", schedules});
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

TEST(VerifyInvariance, NamedSchedulesDecideTheStatus) {
  const Outcome good = splitwave(invariance("fixed-size:256,fa2"));
  EXPECT_EQ(good.status, 0) << good.err;
  EXPECT_NE(good.out.find("same in "), std::string::npos) << good.out;
  EXPECT_EQ(good.out.find("cut alone"), std::string::npos) << good.out;
  const Outcome bad = splitwave(invariance("fixed-size:256,lean", {"--sms", "8"}));
  EXPECT_EQ(bad.status, 1) << bad.err;
  for (const char* part : {"lean on h=4/2,d=64:1q1s3000_2q1s300: request ", "cut alone:    0|", "cut in batch: 0|",
                           "first bit that differs: output of request "}) {
    EXPECT_NE(bad.out.find(part), std::string::npos) << part << bad.out;
  }
}

TEST(VerifyInvariance, EveryScheduleIsAskedWhereNoneIsNamed) {
  const Outcome outcome = splitwave(invariance("", {"--sms", "8", "--json"}));
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  std::map<std::string, nlohmann::json> answers;
  std::istringstream lines(outcome.out);
  for (std::string line; std::getline(lines, line);) {
    const nlohmann::json answer = nlohmann::json::parse(line);
    answers[answer["schedule"]] = answer;
    if (answer.contains("failure")) continue;
    EXPECT_EQ(answer["executor"], "cpu");
    EXPECT_EQ(answer["broken"], 0) << line;
    EXPECT_EQ(answer["lucky"], 0) << line;
    EXPECT_GT(answer["ran"], 20) << line;
  }
  EXPECT_EQ(answers.at("fa2")["invariant"], true);
  EXPECT_EQ(answers.at("fixed-size:1024")["invariant"], true);
  EXPECT_EQ(answers.at("fixed-split:fa2")["invariant"], false);
  EXPECT_EQ(answers.at("lean")["invariant"], false);
  EXPECT_EQ(answers.at("lean")["machine"], "h200 (sms=8)");
  EXPECT_TRUE(answers.at("lean")["example"].contains("difference"));
  EXPECT_TRUE(answers.at("fa4").contains("failure"));
}

TEST(VerifyInvariance, MachinesAndWhatIfArePlannedFor) {
  const Outcome outcome = splitwave(invariance("lean", {"--gpu", "h100-sxm,h200", "--sms", "1", "--json"}));
  EXPECT_NE(outcome.out.find("h100-sxm (sms=1)"), std::string::npos) << outcome.out << outcome.err;
  EXPECT_NE(outcome.out.find("h200 (sms=1)"), std::string::npos);
}

TEST(VerifyInvariance, BadInputIsOneLine) {
  const struct {
    std::vector<std::string> arguments;
    std::string message;
  } cases[] = {
      {{"verify", "--batch-invariance"}, "allowed: with -w WORKLOAD"},
      {{"verify", "--batch-invariance", "-w", kRagged, "--output", "o.npy"}, "--output"},
      {{"verify", "-w", kRagged, "--schedule", "lean"}, "--batch-invariance"},
      {{"verify", "-w", kRagged, "--output", "o.npy", "--gpu", "h200"}, "--batch-invariance"},
      {invariance("leen"), "did you mean lean"},
      {invariance("fa4"), "tcgen05"},
      {invariance("lean", {"--gpu", "h20O"}), "did you mean"},
      {invariance("lean", {"--gpu", "h200", "--executor", "cuda"}), "--gpu and what if with --executor cuda"},
  };
  for (const auto& each : cases) {
    const Outcome outcome = splitwave(each.arguments);
    EXPECT_EQ(outcome.status, 2) << each.message << outcome.out << outcome.err;
    EXPECT_NE(outcome.err.find(each.message), std::string::npos) << outcome.err;
    EXPECT_EQ(outcome.err.find('\n'), outcome.err.size() - 1) << outcome.err;
  }
}

}  // namespace
}  // namespace splitwave::tests
