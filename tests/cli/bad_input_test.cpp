// SPDX-License-Identifier: Apache-2.0
// Whatever a user gets wrong ends in one line on standard error and the right status; nothing is computed or written.
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/cli/process.h"
#include "tests/cli/refused.h"

namespace splitwave::tests {
namespace {

constexpr const char* kSmall = "llama-3-8b:1q1s256";

TEST(BadInput, Usage) {
  const std::vector<Refused> cases = {
      {{}, {"no verb is given", "allowed: compare, simulate, plan, run, verify, workload, gpus, schedules"}},
      {{"simulat"}, {"simulat", "did you mean simulate", "allowed: compare"}},
      {{"workload"}, {"allowed: show, validate, import, generate"}},
      {{"workload", "sow"}, {"did you mean show"}},
      {{"--frobnicate"}, {"--frobnicate is not an option"}},
      {{"--versoin"}, {"did you mean --version"}},
      {{"simulate"}, {"--workload", "simulate --help"}},
      {{"simulate", "-w"}, {"--workload"}},
      {{"simulate", "-w", kSmall, "--gpuu", "h200"}, {"--gpuu", "did you mean --gpu"}},
      {{"simulate", "-w", kSmall, "extra"}, {"extra"}},
      {{"plan", "-w", kSmall, "--full"}, {"--full", "--json"}},
      {{"gpus", "--json=maybe"}, {"--json"}},
  };
  for (const Refused& one : cases) {
    expect_refused(one);
  }
}

TEST(BadInput, Numbers) {
  const std::string sms = "an integer from 1 to 65536";
  for (const char* value : {"-3", "0", "1.5", "1e3", "0x10", "4096abc", "nan", "65537", "99999999999999999999", ""}) {
    expect_refused({{"simulate", "-w", kSmall, "--sms", value}, {"--sms", value, sms}});
  }
  for (const char* value : {"-5", "0", "1e-320", "nan", "inf", "1e999", "fast", "1000001"}) {
    expect_refused({{"simulate", "-w", kSmall, "--bandwidth", value}, {"--bandwidth", value, "from 0.001 to 1000000"}});
  }
  for (const char* value : {"-5", "0", "0.0009", "nan", "fast", "100001"}) {
    expect_refused({{"simulate", "-w", kSmall, "--clock", value}, {"--clock", value, "from 0.001 to 100000"}});
  }
  for (const char* value : {"-5", "0", "nan", "60Q", "1.5", "1k,2k", "1:3", "2000G"}) {
    expect_refused({{"simulate", "-w", kSmall, "--l2", value}, {"--l2", value, "bytes from 1"}});
  }
  for (const char* value : {"0", "-1", "65"}) {
    expect_refused({{"simulate", "-w", kSmall, "--ctas-per-sm", value}, {"--ctas-per-sm", value, "1 to 64"}});
  }
  for (const char* value : {"0", "-1", "1025", "two"}) {
    expect_refused({{"run", "-w", kSmall, "--threads", value}, {"--threads", value, "1 to 1024"}});
  }
  expect_refused({{"run", "-w", kSmall, "--samples", "0"}, {"--samples", "0"}});
  for (const std::vector<std::string>& verb :
       {std::vector<std::string>{"simulate", "-w", kSmall},
        {"workload", "import", "trace.csv", "--model", "llama-3-8b"},
        {"workload", "generate", "uniform", "--model", "llama-3-8b", "--batch", "1", "--context-len", "8"}}) {
    std::vector<std::string> arguments = verb;
    arguments.insert(arguments.end(), {"--seed", "-1"});
    expect_refused({arguments, {"--seed", "-1", "2^64 - 1"}});
  }
  // JSON, by which generators are asked, has no such numbers.
  for (const char* value : {"nan", "inf", "1e999", "two"}) {
    expect_refused({{"workload", "generate", "zipf", "--model", "llama-3-8b", "--batch", "2", "--mean-context-len",
                     "100", "--exponent", value},
                    {"--exponent", value, "a finite number"}});
  }
  expect_refused({{"simulate", "-w", kSmall, "--seed", "18446744073709551616"}, {"--seed"}});
}

TEST(BadInput, Names) {
  const std::vector<Refused> cases = {
      {{"simulate", "-w", kSmall, "--gpu", "h20O"}, {"h20O", "h200", "h20"}},
      {{"simulate", "-w", kSmall, "--gpu", ""}, {"gpu"}},
      {{"gpus", "h300"}, {"h300", "h200"}},
      {{"simulate", "-w", kSmall, "--schedule", "leann"}, {"leann", "lean", "allowed: "}},
      {{"simulate", "-w", kSmall, "--schedule", "fixed-split:many"}, {"many"}},
      {{"simulate", "-w", kSmall, "--schedule", "fixed-split:0"}, {"0"}},
      {{"plan", "-w", kSmall, "--gpu", "l40s", "--schedule", "fa3"},
       {"fa3", "l40s", "wgmma", "allowed", "fa2, fixed-split"}},
      {{"simulate", "-w", kSmall, "--gpu", "l40s", "--schedule", "fa3"},
       {"fa3", "l40s", "wgmma", "allowed", "fa2, fixed-split"}},
      {{"simulate", "-w", "llama-3-8c:1q1s256"}, {"llama-3-8c", "llama-3-8b"}},
      {{"simulate", "-w", "reel"}, {"reel", "real"}},
      {{"simulate", "-w", "llama-3-8b:1q1s"}, {"1q1s"}},
      {{"simulate", "-w", "llama-3-8b"}, {"llama-3-8b"}},
      {{"run", "-w", kSmall, "--executor", "gpu"}, {"--executor", "gpu", "cpu"}},
      {{"run", "-w", kSmall, "--executor", "cuda"}, {"cuda", "allowed: cpu"}, 3},
      {{"run", "-w", kSmall, "--algorithm", "flash-atention-2"},
       {"flash-atention-2", "did you mean flash-attention-2"}},
      {{"run", "-w", kSmall, "--algorithm", "flash-decoding:64"}, {"'64'", "block_tokens", "splits", "128x8"}},
      {{"run", "-w", kSmall, "--algorithm", "one-pass:1"}, {"one-pass", "nothing"}},
      {{"run", "-w", kSmall, "--algorithm", "all", "--schedule", "lean"}, {"--algorithm", "--schedule"}},
      {{"run", "-w", kSmall, "--algorithm", "all", "--threads", "2"}, {"--algorithm", "--threads"}},
      {{"run", "-w", kSmall, "--sms", "8"}, {"--sms", "allowed: --executor cuda"}},
      {{"run", "-w", kSmall, "--algorithm", "all", "--trace", "t.json"}, {"--algorithm", "--trace"}},
      {{"run", "-w", kSmall, "--executor", "cuda", "--trace", "t.json"}, {"cuda", "allowed: cpu"}, 3},
      {{"run", "-w", kSmall, "--algorithm", "all", "--executor", "cuda"}, {"--algorithm", "cuda", "allowed: cpu"}},
      {{"compare", "--executor", "cuda"}, {"cuda", "allowed: cpu"}, 3},
      {{"calibrate", "--executor", "cuda"}, {"cuda", "allowed: cpu"}, 3},
      {{"calibrate", "--like", "h200"}, {"--like", "allowed: --executor cuda"}},
      {{"run", "-w", kSmall, "--energy"}, {"--energy", "cpu", "allowed: --executor cuda"}},
      {{"run", "-w", kSmall, "--algorithm", "all", "--energy"}, {"--energy", "cpu", "allowed: --executor cuda"}},
      {{"compare", "-w", kSmall, "--energy"}, {"--energy", "cpu", "allowed: --executor cuda"}},
      {{"calibrate", "--only-energy"}, {"--only-energy", "allowed: --executor cuda"}},
      {{"calibrate", "--executor", "cuda", "--only-energy", "--kernel-out", "kernel.json"},
       {"--kernel-out", "--only-energy"}},
      {{"calibrate", "--executor", "cuda", "--threads", "1"}, {"--threads", "allowed: --executor cpu"}},
      {{"calibrate", "--from-points", "p.csv"}, {"--from-points", "--executor cuda"}},
      {{"calibrate", "--executor", "cuda", "--from-points", "p.csv", "--like", "h200", "--kernel-out", "kernel.json",
        "--json"},
       {"--from-points", "--kernel-out"}},
      {{"calibrate", "--executor", "cuda", "--from-points", "p.csv", "--like", "h200", "--kernel-out", "kernel.json",
        "--threads", "1"},
       {"--from-points", "--kernel-out"}},
      {{"simulate", "-w", kSmall, "--gpu", "cpu", "--sms", "4"}, {"--gpu cpu", "--sms", "--threads"}},
      {{"workload", "generate", "triangle", "--model", "llama-3-8b", "--batch", "2"}, {"triangle", "uniform"}},
      {{"workload", "generate", "uniform", "--model", "llama-3-8c", "--batch", "2", "--context-len", "8"},
       {"llama-3-8c", "llama-3-8b"}},
      {{"workload", "generate", "uniform", "--model", "llama-3-8b", "--batch", "0", "--context-len", "8"}, {"batch"}},
      {{"workload", "generate", "uniform", "--model", "llama-3-8b", "--batch", "2"}, {"context_len"}},
      {{"workload", "generate", "uniform", "--model", "llama-3-8b", "--batch", "2", "--context-len", "8", "--ratio",
        "0.5"},
       {"ratio"}},
  };
  for (const Refused& one : cases) {
    expect_refused(one);
  }
}

// An option that would change nothing, and a name that would be computed and shown twice.
TEST(BadInput, WhatWouldChangeNothing) {
  const TemporaryFolder folder;
  const std::string out = folder.file("out");
  const std::vector<Refused> cases = {
      {{"sweep", "--merge", out, "--axis", "sms=1:3"}, {"--merge", "--axis", "--out, --csv, --plot, --threads"}},
      {{"sweep", "--merge", out, "--resume"}, {"--merge", "--resume"}},
      {{"sweep", "--merge", out, "--shard", "1/2"}, {"--merge", "--shard"}},
      {{"sweep", "--merge", out, "--seed", "1"}, {"--merge", "--seed"}},
      {{"sweep", "--fields", "-w", kSmall}, {"--fields", "--workload", "no other option"}},
      {{"sweep", "--fields", "--json"}, {"--fields", "--json"}},
      {{"advise", "--model", "llama-3-8b", "--format", "csv", "--json"}, {"--json", "--format"}},
      {{"simulate", "-w", kSmall, "--gpu", "h200,h100-sxm,h200"}, {"--gpu", "h200 is given twice", "each name once"}},
      {{"simulate", "-w", kSmall, "--gpu", "h200", "--gpu", "h200"}, {"--gpu", "h200 is given twice"}},
      {{"plan", "-w", kSmall, "--schedule", "fa2,lean,fa2"}, {"--schedule", "fa2 is given twice"}},
  };
  for (const Refused& one : cases) expect_refused(one);
}

TEST(BadInput, Files) {
  const TemporaryFolder folder;
  const std::string good = R"({"format":1,"name":"w","model":"llama-3-8b","requests":[{"context_len":64}]})";
  const std::vector<std::pair<std::string, std::string>> files = {
      {"empty.json", ""},
      {"truncated.json", good.substr(0, 40)},
      {"nul.json", std::string("{\"format\"\0:1}", 13)},
      {"latin1.json", "{\"name\":\"\xe9\"}"},
      {"deep.json", std::string(100000, '[')},
      {"nan.json", R"({"format":1,"name":"w","model":"llama-3-8b","requests":[{"context_len":NaN}]})"},
      {"duplicate.json", R"({"format":1,"format":1})"},
      {"unknown.json", R"({"format":1,"name":"w","modell":"llama-3-8b","requests":[{"context_len":64}]})"},
      {"negative.json", R"({"format":1,"name":"w","model":"llama-3-8b","requests":[{"context_len":-1}]})"},
      {"huge.json", R"({"format":1,"name":"w","model":"llama-3-8b","requests":[{"context_len":99999999999}]})"},
  };
  for (const auto& [name, text] : files) {
    const std::string path = folder.write(name, text);
    expect_refused({{"simulate", "-w", path}, {name}});
    expect_refused({{"workload", "validate", path}, {name}});
    expect_refused({{"simulate", "-w", kSmall, "--gpu", path}, {name}});
    expect_refused({{"workload", "import", path, "--batch", "1q1s8"}, {name}});
  }
  for (const std::vector<std::string>& option : {std::vector<std::string>{"-w"}, {"-w", kSmall, "--gpu"}}) {
    for (const std::string& path : {folder.file("missing.json"), folder.path().string() + "/"}) {
      std::vector<std::string> arguments = {"simulate"};
      arguments.insert(arguments.end(), option.begin(), option.end());
      arguments.push_back(path);
      expect_refused({arguments, {path}});
    }
  }
  if (::getuid() != 0) {  // root reads everything
    const std::string path = folder.write("secret.json", good);
    std::filesystem::permissions(path, std::filesystem::perms::none);
    expect_refused({{"simulate", "-w", path}, {path}});
  }
}

TEST(BadInput, Imports) {
  const TemporaryFolder folder;
  const std::string config = folder.write(
      "config.json",
      R"({"model_type":"llama","num_attention_heads":32,"num_key_value_heads":8,"hidden_size":4096,"num_hidden_layers":32})");
  const std::string trace =
      folder.write("trace.csv", "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:00:00,8,4\n");
  expect_refused({{"workload", "import", config}, {"--batch"}});
  expect_refused({{"workload", "import", config, "--batch", "8x"}, {"--batch", "8x"}});
  expect_refused({{"workload", "import", config, "--batch", "1q1s8", "--model", "llama-3-8b"}, {"--model"}});
  expect_refused({{"workload", "import", config, "--batch", "1q1s8", "--tensor-parallel", "3"}, {"config.json", "3"}});
  expect_refused({{"workload", "import", trace}, {"--model"}});
  expect_refused({{"workload", "import", trace, "--model", "llama-3-8b", "--batch", "1q1s8"}, {"--batch"}});
  expect_refused({{"workload", "import", trace, "--model", "llama-3-8b", "--tensor-parallel", "2"},
                  {"--tensor-parallel", "is a trace", "--model"}});
  for (const char* option : {"--steps", "--max-running", "--step-seconds"}) {
    expect_refused({{"workload", "import", config, "--batch", "1q1s8", option, "2"}, {option, "is a model itself"}});
  }
  expect_refused({{"workload", "import", trace, "--model", "llama-3-8b", "--steps", "10001"},
                  {"--steps", "an integer from 1 to 10000"}});
  expect_refused({{"workload", "import", trace, "--model", "llama-3-8b", "--step-seconds", "0"}, {"--step-seconds"}});
  expect_refused({{"workload", "import", config, "--batch", "q1s2097153k"}, {"--batch: the context length"}});
  const std::string silent = folder.write(
      "silent.csv", "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:00:00,8,0\n2023-11-16 18:00:01,9,0\n");
  expect_refused({{"workload", "import", silent, "--model", "llama-3-8b", "--output", folder.file("none.jsonl")},
                  {"silent.csv", "none of its 2 requests makes output tokens", "allowed"}});
  EXPECT_FALSE(std::filesystem::exists(folder.file("none.jsonl")));
}

TEST(BadInput, PlacesThatCannotBeWritten) {
  const TemporaryFolder folder;
  const std::string file = folder.write("file", "");
  for (const std::string& out : {file, file + "/below", std::string("/proc/splitwave")}) {
    expect_refused({{"simulate", "-w", kSmall, "--out", out}, {out, "cannot write"}});
    // compare asks for the folder first, and names what stands in its way.
    expect_refused({{"compare", "-w", kSmall, "--out", out}, {out.starts_with(file) ? file : out, "cannot write"}});
  }
  expect_refused({{"workload", "generate", "uniform", "--model", "llama-3-8b", "--batch", "1", "--context-len", "8",
                   "--output", folder.file("none/w.jsonl")},
                  {"none/w.jsonl", "cannot write"}});
  // Before anything is computed, which the sizes of these would take long for.
  const std::string there = folder.file("none/x");
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"explain", "-w", "real", "--trace", there},
        {"explain", "-w", "real", "--gantt", there},
        {"run", "-w", "llama-3-8b:64q1s128k", "--trace", there},
        {"run", "-w", "llama-3-8b:64q1s128k", "--trace", there, "--out", folder.file("out")},
        {"verify", "-w", "llama-3-8b:64q1s128k", "--output", file, "--junit", there},
        {"advise", "--model", "llama-3-8b", "--file", there},
        {"calibrate", "--out", there}}) {
    expect_refused({arguments, {"none/x", "No such file or directory"}});
  }
  EXPECT_FALSE(std::filesystem::exists(folder.file("out")));
  EXPECT_EQ(content(file), "");
}

TEST(BadInput, EarlierResultsAreKept) {
  const TemporaryFolder folder;
  folder.write("records.jsonl", "earlier");
  const std::string out = folder.path().string();
  expect_refused({{"simulate", "-w", kSmall, "--out", out}, {"records.jsonl", "exists and is not replaced"}});
  expect_refused({{"compare", "-w", kSmall, "--out", out}, {"records.jsonl", "exists and is not replaced"}});
  EXPECT_EQ(content(folder.file("records.jsonl")), "earlier");
}

// Whatever the verb and the option, and before anything is computed.
TEST(BadInput, FilesThatExistAreNotReplaced) {
  const TemporaryFolder folder;
  const std::string trace =
      folder.write("trace.csv", "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:00:00,8,4\n");
  const std::string file = folder.write("file", "earlier");
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"workload", "import", trace, "--model", "llama-3-8b", "--output"},
        {"workload", "generate", "uniform", "--model", "llama-3-8b", "--batch", "1", "--context-len", "8", "--output"},
        {"advise", "--model", "llama-3-8b", "--batch", "1", "--context", "1k", "--file"},
        {"explain", "-w", kSmall, "--trace"},
        {"explain", "-w", kSmall, "--gantt"},
        {"run", "-w", kSmall, "--trace"},
        {"calibrate", "--out"},
        {"calibrate", "--points"}}) {
    std::vector<std::string> with_file = arguments;
    with_file.push_back(file);
    expect_refused({with_file, {arguments.back(), "file: exists and is not replaced; allowed: another name"}});
  }
  for (const char* name : {"records.csv", "report.md", "report.html"}) {
    const TemporaryFolder out;
    const std::string kept = out.write(name, "earlier");
    expect_refused({{"compare", "-w", kSmall, "--out", out.path().string()}, {name, "exists and is not replaced"}});
    EXPECT_EQ(content(kept), "earlier");
    EXPECT_FALSE(std::filesystem::exists(out.file("records.jsonl.partial")));
  }
  EXPECT_EQ(content(file), "earlier");
}

TEST(BadInput, FullStandardOutputIsToldAndNotSuccess) {
  RunOptions options;
  options.standard_output = "/dev/full";
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"gpus"},
                                                    {"schedules", "--json"},
                                                    {"--help"},
                                                    {"plan", "-w", kSmall},
                                                    {"simulate", "-w", kSmall, "--json"},
                                                    {"workload", "show", "-w", kSmall}}) {
    expect_refused({arguments, {"standard output", "No space left on device"}}, options);
  }
}

TEST(BadInput, ErrorsThatNobodyCanReadKeepTheirStatus) {
  const TemporaryFolder folder;
  for (const char* where : {"/dev/full", "closed"}) {
    RunOptions options;
    options.standard_error = where;
    EXPECT_EQ(splitwave({"simulate", "-w", "no such"}, options).status, 2) << where;
    EXPECT_EQ(splitwave({"--no-such"}, options).status, 2) << where;
    const std::string out = folder.file(where[0] == 'c' ? "one" : "two");
    EXPECT_EQ(splitwave({"run", "-w", kSmall, "--schedule", "fa2", "--out", out}, options).status, 0) << where;
    EXPECT_EQ(content(out + "/records.jsonl").front(), '{') << "no message in a file that took the stream's place";
  }
}

TEST(BadInput, PlacesThatTheSystemRefusesAreNamed) {
  const TemporaryFolder folder;
  std::filesystem::create_symlink("loop", folder.path() / "loop");
  const std::string loop = folder.file("loop/file");
  const std::string endless(300, 'x');
  for (const std::string& place : {loop, folder.file(endless)}) {
    const std::string said = place == loop ? "Too many levels of symbolic links" : "File name too long";
    expect_refused({{"explain", "-w", kSmall, "--gantt", place}, {"--gantt", said}});
    expect_refused({{"explain", "-w", kSmall, "--trace", place}, {"--trace", said}});
    expect_refused({{"advise", "--model", "llama-3-8b", "--gpu", "h200", "--file", place}, {"--file", said}});
    expect_refused({{"simulate", "-w", kSmall, "--out", place}, {place, said}});
    expect_refused({{"simulate", "-w", kSmall, "--gpu", place + ".json"}, {"cannot be read"}});
    expect_refused({{"sweep", "-w", kSmall, "--axis", "sms=1:3", "--out", place}, {place, said}});
    expect_refused({{"sweep", "--merge", place}, {"cannot be read"}});
  }
}

TEST(BadInput, CacheThatIsAFolderIsMeasuredAroundAndSpared) {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder.path() / "splitwave" / "cpu.json" / "kept");
  RunOptions options;
  options.environment = {"XDG_CACHE_HOME=" + folder.path().string()};
  const Outcome outcome = splitwave({"simulate", "-w", kSmall, "--gpu", "cpu", "--schedule", "fa2"}, options);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "splitwave" / "cpu.json" / "kept"));
}

}  // namespace
}  // namespace splitwave::tests
