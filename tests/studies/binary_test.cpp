// SPDX-License-Identifier: Apache-2.0
// The verbs sweep, explain and advise as a user runs them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "tests/cli/process.h"

namespace splitwave::tests {
namespace {

namespace fs = std::filesystem;
using Arguments = std::vector<std::string>;

Arguments operator+(Arguments first, const Arguments& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

/// 320 points, half of them infeasible.
const Arguments kSweep = {"sweep",        "-w",     "llama-3-8b:2q1s1k", "--gpu",  "h200,a100",     "--schedule",
                          "fa2,lean",     "--axis", "context=256..4kx2", "--axis", "batch=1,2,3,4", "--axis",
                          "kv_heads=8,3", "--axis", "sms=64,108"};

Arguments to(const fs::path& folder) {
  return {"--out", folder.string()};
}

const std::string& whole_sweep() {
  static const std::string records = [] {
    const TemporaryFolder folder;
    const Outcome outcome = splitwave(kSweep + to(folder.path() / "s") + Arguments{"--threads", "2", "--chunk", "100"});
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_NE(outcome.out.find("320 points, 160 of them infeasible"), std::string::npos) << outcome.out;
    EXPECT_FALSE(fs::exists(folder.path() / "s" / "chunks")) << "the records are complete: no chunk is left over";
    return content(folder.path() / "s" / "records.jsonl");
  }();
  return records;
}

TEST(SweepBinary, ShardsAndTheirMergeAreTheWhole) {
  const TemporaryFolder folder;
  Arguments merge = {"sweep", "--merge"};
  for (int shard = 1; shard <= 3; ++shard) {
    const fs::path part = folder.path() / std::to_string(shard);
    const Outcome outcome = splitwave(
        kSweep + to(part) + Arguments{"--shard", fmt::format("{}/3", shard), "--threads", "1", "--chunk", "16"});
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    merge.push_back(part.string());
  }
  const Outcome merged = splitwave(merge + to(folder.path() / "all") + Arguments{"--json"});
  EXPECT_EQ(merged.status, 0) << merged.err;
  EXPECT_NE(merged.out.find("\"points\":320,\"infeasible\":160"), std::string::npos) << merged.out;
  EXPECT_EQ(content(folder.path() / "all" / "records.jsonl"), whole_sweep());
}

TEST(SweepBinary, ShardsMayShareAFolder) {
  const TemporaryFolder folder;
  for (int shard = 1; shard <= 2; ++shard) {
    EXPECT_EQ(splitwave(kSweep + to(folder.path()) + Arguments{"--shard", fmt::format("{}/2", shard), "--chunk", "50"})
                  .status,
              0);
  }
  EXPECT_EQ(splitwave({"sweep", "--merge", folder.path().string()}).status, 0);
  EXPECT_EQ(content(folder.path() / "records.jsonl"), whole_sweep());
}

std::size_t chunks_in(const fs::path& folder) {
  if (!fs::is_directory(folder / "chunks")) return 0;
  return static_cast<std::size_t>(
      std::count_if(fs::directory_iterator(folder / "chunks"), fs::directory_iterator(),
                    [](const fs::directory_entry& entry) { return entry.path().extension() == ".jsonl"; }));
}

TEST(SweepBinary, SurvivesKillNineInTheMiddle) {
  const TemporaryFolder folder;
  const fs::path out = folder.path() / "s";
  const Arguments slow = kSweep + to(out) + Arguments{"--threads", "1", "--chunk", "2", "--resume"};
  std::size_t before = 0;
  int kills = 0;
  for (; kills < 5 && !fs::exists(out / "records.jsonl"); ++kills) {
    Process process(slow);
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (chunks_in(out) < before + 2 && !fs::exists(out / "records.jsonl") &&
           std::chrono::steady_clock::now() < give_up) {
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    process.send(SIGKILL);
    process.wait();
    if (fs::exists(out / "records.jsonl")) break;
    EXPECT_GE(chunks_in(out), before + 2) << "what was complete stays";
    before = chunks_in(out);
  }
  EXPECT_GE(kills, 1) << "at least one kill came in the middle";
  const Outcome outcome = splitwave(slow);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(content(out / "records.jsonl"), whole_sweep());
  EXPECT_EQ(splitwave(slow).status, 0) << "resuming what is complete is no error";
  EXPECT_EQ(content(out / "records.jsonl"), whole_sweep());
}

TEST(SweepBinary, TwoAtOnceInOneFolderDisturbNothing) {
  const TemporaryFolder folder;
  const fs::path out = folder.path() / "s";
  const Arguments sweep = kSweep + to(out) + Arguments{"--chunk", "2"};
  Process first(sweep);
  Process second(sweep);
  const Outcome one = first.wait();
  const Outcome other = second.wait();
  EXPECT_EQ(one.status + other.status, 2) << one.err << other.err;
  EXPECT_EQ(content(out / "records.jsonl"), whole_sweep());
}

TEST(SweepBinary, AStopLeavesAGoodState) {
  const TemporaryFolder folder;
  const fs::path out = folder.path() / "s";
  {
    Process process(kSweep + to(out) + Arguments{"--chunk", "2"});
    while (chunks_in(out) < 1 && !fs::exists(out / "records.jsonl")) {
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    process.send(SIGTERM);
    const Outcome stopped = process.wait();
    EXPECT_TRUE(stopped.status == 128 + SIGTERM || stopped.status == 0) << stopped.err;
  }
  EXPECT_EQ(splitwave(kSweep + to(out) + Arguments{"--chunk", "2", "--resume"}).status, 0);
  EXPECT_EQ(content(out / "records.jsonl"), whole_sweep());
}

#ifdef SPLITWAVE_MPI_BINARY
TEST(SweepBinary, MpiProcessesWriteWhatOneDoes) {
  const TemporaryFolder folder;
  const fs::path out = folder.path() / "s";
  // Open MPI leaks memory of its own at its end.
  std::string command =
      "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 ASAN_OPTIONS=detect_leaks=0 '" SPLITWAVE_MPIRUN
      "' --oversubscribe -n 4 '" SPLITWAVE_MPI_BINARY "'";
  for (const std::string& word : kSweep + to(out) + Arguments{"--threads", "1", "--chunk", "8"})
    command += " '" + word + "'";
  ASSERT_EQ(std::system((command + " > /dev/null").c_str()), 0);
  EXPECT_EQ(content(out / "records.jsonl"), whole_sweep());
  EXPECT_NE(std::system((command + " > /dev/null 2> '" + folder.file("err") + "'").c_str()), 0) << "results are there";
  const std::string said = content(folder.file("err"));
  EXPECT_NE(said.find("--resume"), std::string::npos) << said;
  EXPECT_EQ(said.find("holds results"), said.rfind("holds results")) << "one process speaks: " << said;
}
#endif

#ifndef SPLITWAVE_BINARY_HAS_MPI
TEST(SweepBinary, MpiIsMissedByNameWhenItIsNotBuiltIn) {
  const TemporaryFolder folder;
  RunOptions options;
  options.environment = {"OMPI_COMM_WORLD_SIZE=4"};
  const Outcome outcome = splitwave(kSweep + to(folder.path() / "s"), options);
  EXPECT_EQ(outcome.status, 3);
  EXPECT_NE(outcome.err.find("SPLITWAVE_MPI"), std::string::npos) << outcome.err;
  EXPECT_FALSE(fs::exists(folder.path() / "s"));
}
#endif

TEST(SweepBinary, ListsItsFields) {
  const Outcome outcome = splitwave({"sweep", "--fields"});
  EXPECT_EQ(outcome.status, 0);
  for (const char* field : {"context", "sms", "kernel.threads", "schedule_argument"}) {
    EXPECT_NE(outcome.out.find(field), std::string::npos) << field;
  }
}

struct Refused {
  Arguments arguments;
  std::string said;
};

TEST(BadInput, IsOneLineAndStatusTwoAndWritesNothing) {
  const TemporaryFolder folder;
  const std::string out = (folder.path() / "s").string();
  const Arguments sweep = {"sweep", "-w", "llama-3-8b:1q1s1k", "--out", out};
  const Arguments advise = {"advise", "--model", "llama-3-8b"};
  const std::vector<Refused> cases = {
      {sweep + Arguments{"--axis", "context"}, "KEY=VALUES"},
      {sweep + Arguments{"--axis", "context=1:0"}, "context"},
      {sweep + Arguments{"--axis", "context=1..1Mx1"}, "factor"},
      {sweep + Arguments{"--axis", "context=1:1G"}, "at most"},
      {sweep + Arguments{"--axis", "sms=0"}, "from 1"},
      {sweep + Arguments{"--axis", "sms=nan"}, "sms"},
      {sweep + Arguments{"--axis", "sns=1"}, "did you mean sms"},
      {sweep + Arguments{"--axis", "dtype=f8"}, "dtype"},
      {sweep + Arguments{"--axis", "kernel.threads=1", "--schedule", "auto"}, "auto"},
      {sweep + Arguments{"--axis", "sms=1", "--axis", "sms=2"}, "two axes"},
      {sweep + Arguments{"--axis", "context=\x01\n"}, "context"},
      {sweep + Arguments{"--shard", "0/4"}, "--shard"},
      {sweep + Arguments{"--shard", "5/4"}, "--shard"},
      {sweep + Arguments{"--chunk", "0"}, "--chunk"},
      {sweep + Arguments{"--gpu", "h20000"}, "h20000"},
      {{"sweep", "-w", "llama-3-8b:1q1s1k"}, "--out"},
      {{"sweep", "--out", out}, "--workload"},
      {{"sweep", "--merge", folder.path().string()}, "sweep.json"},
      {{"explain", "-w", "llama-3-8b:1q1s1k", "--schedule", "fa5"}, "fa5"},
      {{"explain", "-w", "llama-3-8b:1q1s1k", "--gantt", (folder.path() / "no" / "x.svg").string(), "--json"}, "x.svg"},
      {advise + Arguments{"--batch", "0"}, "--batch"},
      {advise + Arguments{"--batch", "1:100000", "--context", "1:100"}, "at most"},
      {advise + Arguments{"--context", "x"}, "--context"},
      {advise + Arguments{"--format", "xml"}, "cpp"},
      {advise + Arguments{"--gpu", "h200,a100"}, "--gpu"},
      {{"advise", "--model", "lama-3-8b"}, "llama-3-8b"},
      {{"advise"}, "--model"},
  };
  for (const Refused& one : cases) {
    const Outcome outcome = splitwave(one.arguments);
    const std::string what = fmt::format("{}", fmt::join(one.arguments, " "));
    EXPECT_EQ(outcome.status, 2) << what << "\n" << outcome.err;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << what << "\n" << outcome.err;
    EXPECT_NE(outcome.err.find(one.said), std::string::npos) << what << "\nlacks " << one.said << "\n" << outcome.err;
    EXPECT_FALSE(fs::exists(out)) << what;
  }
}

TEST(ExplainBinary, WritesItsPictures) {
  const TemporaryFolder folder;
  const Outcome outcome = splitwave({"explain", "-w", "h=2/2,d=64:1q1s640", "--gpu", "h200", "--sms", "5", "--schedule",
                                     "fa2,lean", "--gantt", folder.file("g.svg"), "--trace", folder.file("t.json")});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(content(folder.file("g.svg")).rfind("<svg", 0), 0U);
  const std::string check = "'" SPLITWAVE_PYTHON
                            "' -c 'import json, sys, xml.dom.minidom; "
                            "xml.dom.minidom.parse(sys.argv[1]); json.load(open(sys.argv[2]))' '" +
                            folder.file("g.svg") + "' '" + folder.file("t.json") + "'";
  EXPECT_EQ(std::system(check.c_str()), 0) << "the picture is XML and the trace is JSON";
}

TEST(AdviseBinary, MakesTheSameFileAgainByItsOwnCommand) {
  const TemporaryFolder folder;
  const Arguments arguments = {"advise",  "--model",  "h=8/2,d=128", "--gpu",     "a100",
                               "--batch", "1,4",      "--context",   "1k..4k x2", "--sms",
                               "50",      "--format", "cpp",         "--file",    folder.file("first.h")};
  ASSERT_EQ(splitwave(arguments).status, 0);
  const std::string first = content(folder.file("first.h"));
  const std::size_t at = first.find("splitwave advise ");
  ASSERT_NE(at, std::string::npos) << first;
  const std::string command = first.substr(at + std::string("splitwave").size(), first.find('\n', at) - at - 9);
  const std::string run = "'" SPLITWAVE_BINARY "'" + command + " > '" + folder.file("second.h") + "'";
  ASSERT_EQ(std::system(run.c_str()), 0) << run;
  EXPECT_EQ(content(folder.file("second.h")), first);
}

}  // namespace
}  // namespace splitwave::tests
