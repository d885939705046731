// SPDX-License-Identifier: Apache-2.0
// A run that does not reach its end leaves no result that looks whole, and keeps what it had computed.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <functional>
#include <thread>

#include "reports/record.h"
#include "tests/cli/process.h"

namespace splitwave::tests {
namespace {

namespace fs = std::filesystem;

/// Arguments of a run that takes far longer than a test may.
std::vector<std::string> long_run(const fs::path& out) {
  return {"run",       "-w",     "llama-3-8b:1q1s64", "--schedule", "fa2,lean,fixed-split:2",
          "--samples", "100000", "--threads",         "2",          "--out",
          out.string()};
}

/// A suite of so many workloads that predicting it takes long.
std::string many_workloads(const TemporaryFolder& folder) {
  return folder.write("many.json", R"({"format":1,"suite":"many","workloads":[{"name":"w","model":"llama-3-8b",
    "requests":[{"context_len":1024,"count":200}],"sweep":{"requests[0].context_len":{"from":1024,"to":9000,"step":1}}}]})");
}

/// Gives up after five minutes, so that a test ends: sanitizers on a busy computer take more than half of one.
bool wait_for(const std::function<bool()>& condition) {
  for (int i = 0; i < 30000; ++i) {
    if (condition()) {
      return true;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

void expect_only_partial(const fs::path& out) {
  EXPECT_FALSE(fs::exists(out / "records.jsonl"));
  EXPECT_FALSE(fs::exists(out / "records.csv"));
  EXPECT_FALSE(fs::exists(out / "report.md"));
}

TEST(Interruption, SignalsEndARunCleanlyAndKeepWhatIsDone) {
  for (const int signal : {SIGINT, SIGTERM}) {
    const TemporaryFolder folder;
    const fs::path out = folder.path() / "out";
    Process process({"simulate", "-w", many_workloads(folder), "--out", out.string()});
    const fs::path partial = out / "records.jsonl.partial";
    ASSERT_TRUE(wait_for([&] { return fs::exists(partial) && fs::file_size(partial) > 2000; }));
    process.send(signal);
    const Outcome outcome = process.wait();
    EXPECT_EQ(outcome.status, 128 + signal) << outcome.err;
    EXPECT_NE(outcome.err.find("records are kept in " + partial.string()), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find("stopped by"), std::string::npos) << outcome.err;
    EXPECT_GE(reports::parse_records(content(partial), "partial").size(), 2U);
    expect_only_partial(out);
  }
}

TEST(Interruption, SignalsEndWhatIsComputed) {
  const TemporaryFolder folder;
  std::string requests;
  for (int i = 0; i < 60000; ++i) requests += "{\"context_len\":" + std::to_string(1000 + i % 7919) + "},";
  requests.back() = ']';
  const std::string many =
      folder.write("many.json", R"({"format":1,"name":"many","model":"llama-3-8b","requests":[)" + requests + "}");
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"explain", "-w", many, "--schedule", "fa2,lean,fixed-split:2"},
        {"simulate", "-w", many, "--schedule", "fixed-split:16,fixed-split:17,fixed-split:18,fixed-split:19"},
        {"run", "-w", "llama-3-8b:16q1s32k", "--schedule", "fa2"},
        {"run", "-w", "llama-3-8b:1q1s64k", "--algorithm", "standard"},
        {"run", "-w", "llama-3-8b:1q1s256k", "--schedule", "fixed-split:1", "--rounding", "standard"}}) {
    Process process(arguments);
    ASSERT_TRUE(wait_for([&] { return process.catches(SIGINT); })) << arguments.front();
    process.send(SIGINT);
    const Outcome outcome = process.wait();
    EXPECT_EQ(outcome.status, 128 + SIGINT) << arguments.front() << outcome.err;
    EXPECT_EQ(outcome.out, "") << arguments.front();
    EXPECT_EQ(outcome.err, "splitwave: stopped by Ctrl-C\n") << arguments.front();
  }
}

TEST(Interruption, KilledHalfWayLeavesOnlyPartialFiles) {
  const TemporaryFolder folder;
  const fs::path out = folder.path() / "out";
  Process process(long_run(out));
  ASSERT_TRUE(wait_for([&] { return fs::exists(out / "records.jsonl.partial"); }));
  process.send(SIGKILL);
  EXPECT_EQ(process.wait().status, 128 + SIGKILL);
  expect_only_partial(out);
}

TEST(Interruption, KilledAtAnyTimeEveryLineIsWhole) {
  const TemporaryFolder folder;
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"simulate", "-w", many_workloads(folder)},
        {"run", "-w", "real", "--schedule", "fa2", "--samples", "1", "--threads", "1"},
        {"compare", "-w", "llama-3-8b:1q1s256", "--schedule", "fa2,lean", "--samples", "100000"}}) {
    const fs::path out = folder.path() / arguments.front();
    std::vector<std::string> words = arguments;
    words.insert(words.end(), {"--out", out.string()});
    Process process(words);
    const fs::path partial = out / "records.jsonl.partial";
    ASSERT_TRUE(wait_for([&] { return fs::exists(partial) && fs::file_size(partial) > 600; })) << arguments.front();
    process.send(SIGKILL);
    EXPECT_EQ(process.wait().status, 128 + SIGKILL) << arguments.front();
    const std::string kept = content(partial);
    EXPECT_EQ(kept.back(), '\n') << arguments.front();
    EXPECT_GE(reports::parse_records(kept, "partial").size(), 1U) << arguments.front();
    expect_only_partial(out);
  }
}

TEST(Interruption, AKilledReportLeavesWholeFilesOrNone) {
  const TemporaryFolder folder;
  std::string records;
  for (const char* context : {"1k", "2k", "3k", "4k", "6k", "8k"}) {
    const std::string workload = std::string("llama-3-8b:1q1s") + context;
    records += splitwave({"simulate", "-w", workload, "--schedule", "fa2,fixed-split:fa2,lean", "--json"}).out;
  }
  const std::string file = folder.write("records.jsonl", records);
  const fs::path usual = folder.path() / "usual";
  splitwave({"report", file, "--out", usual.string()});
  ASSERT_TRUE(fs::exists(usual / "report.html"));
  int killed = 0;
  for (const int milliseconds : {5, 60, 250, 1000}) {
    const fs::path out = folder.path() / std::to_string(milliseconds);
    Process process({"report", file, "--out", out.string()});
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    process.send(SIGKILL);
    killed += process.wait().status == 128 + SIGKILL ? 1 : 0;
    EXPECT_TRUE(!fs::exists(out / "report.html") || fs::exists(out / "figures")) << milliseconds;
    if (fs::exists(out / "figures")) continue;  // whole, and not replaced
    splitwave({"report", file, "--out", out.string()});
    for (const auto& entry : fs::recursive_directory_iterator(out)) {
      const fs::path name = fs::relative(entry.path(), out);
      EXPECT_TRUE(fs::exists(usual / name)) << milliseconds << ": a killed report's " << name;
    }
    for (const auto& entry : fs::recursive_directory_iterator(usual)) {
      EXPECT_TRUE(fs::exists(out / fs::relative(entry.path(), usual))) << milliseconds << ": " << entry.path();
    }
  }
  EXPECT_GE(killed, 1);
}

TEST(Interruption, AKilledVerifyHasToldItsVerdicts) {
  const TemporaryFolder folder;
  const std::string cases = folder.file("cases");
  ASSERT_EQ(splitwave({"workload", "tensors", "-w", "h=2/2,d=64:1q1s64", "--out", cases + "/000"}).status, 0);
  for (int i = 1; i < 400; ++i) {
    char name[8];
    std::snprintf(name, sizeof name, "/%03d", i);
    fs::copy(cases + "/000", cases + name, fs::copy_options::recursive);
  }
  RunOptions options;
  options.standard_output = folder.file("out");
  Process process({"verify", "--tensors", cases, "--junit", folder.file("verdicts.xml")}, options);
  ASSERT_TRUE(wait_for([&] { return content(folder.file("out")).find("PASS") != std::string::npos; }));
  process.send(SIGKILL);
  EXPECT_EQ(process.wait().status, 128 + SIGKILL);
  const std::string told = content(folder.file("out"));
  EXPECT_EQ(told.back(), '\n');
  EXPECT_EQ(told.find("FAIL"), std::string::npos);
  EXPECT_FALSE(fs::exists(folder.file("verdicts.xml")));
}

TEST(Interruption, OfTwoRunsInOneFolderOneIsRefused) {
  const TemporaryFolder folder;
  const fs::path out = folder.path() / "out";
  const std::vector<std::string> run = {"run", "-w",    "llama-3-8b:1q1s256", "--schedule", "fa2", "--samples",
                                        "20",  "--out", out.string()};
  Process first(run);
  Process second(run);
  const Outcome one = first.wait();
  const Outcome other = second.wait();
  EXPECT_EQ(one.status + other.status, 2) << one.err << other.err;
  EXPECT_NE((one.err + other.err).find("exists and is not replaced"), std::string::npos) << one.err << other.err;
  EXPECT_EQ(reports::parse_records(content(out / "records.jsonl"), "records").size(), 1U);
}

TEST(Interruption, OddSurroundingsChangeNothing) {
  const std::vector<std::string> simulate = {"simulate", "-w", "llama-3-8b:1q1s512", "--json"};
  const std::string usual = splitwave(simulate).out;
  for (const char* odd : {"LC_ALL=de_DE.UTF-8", "LC_ALL=tr_TR.UTF-8", "LC_ALL=none", "TERM=", "HOME=", "HOME=/dev/null",
                          "COLUMNS=-1", "TMPDIR=/nowhere"}) {
    RunOptions options;
    options.environment = {odd};
    EXPECT_EQ(splitwave(simulate, options).out, usual) << odd;
  }
  RunOptions no_cache;
  no_cache.environment = {"XDG_CACHE_HOME=relative", "HOME=relative"};
  EXPECT_EQ(splitwave({"simulate", "-w", "llama-3-8b:1q1s512", "--gpu", "cpu"}, no_cache).status, 0);
}

TEST(Interruption, FullDiskKeepsTheWholeLinesBefore) {
  const TemporaryFolder folder;
  const fs::path out = folder.path() / "out";
  RunOptions options;
  options.largest_file_bytes = 4096;
  const Outcome outcome = splitwave({"simulate", "-w", "real", "--out", out.string()}, options);
  EXPECT_EQ(outcome.status, 2) << outcome.err;
  EXPECT_NE(outcome.err.find("records.jsonl.partial: cannot write: File too large"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("records are kept in"), std::string::npos) << outcome.err;
  EXPECT_GE(reports::parse_records(content(out / "records.jsonl.partial"), "partial").size(), 2U);
  expect_only_partial(out);
}

TEST(Interruption, ClosedPipeEndsQuietly) {
  const TemporaryFolder folder;
  const std::string script =
      folder.write("pipe.bash", "'" SPLITWAVE_BINARY "' simulate -w '" + many_workloads(folder) + "' --json 2>'" +
                                    folder.file("err") + "' | head -n 1 | wc -l; echo ${PIPESTATUS[0]}");
  FILE* pipe = ::popen(("bash '" + script + "'").c_str(), "r");
  char text[64] = {};
  const std::size_t length = std::fread(text, 1, sizeof text - 1, pipe);
  EXPECT_EQ(::pclose(pipe), 0);
  EXPECT_EQ(std::string(text, length), "1\n141\n");
  EXPECT_EQ(content(folder.file("err")), "");
}

}  // namespace
}  // namespace splitwave::tests
