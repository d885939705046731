// SPDX-License-Identifier: Apache-2.0
// Memory that ends is told in one line, whatever was being done.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "tests/cli/process.h"
#include "tests/cli/refused.h"

namespace splitwave::tests {
namespace {

constexpr const char* kShort = "llama-3-8b:1q1s256";

TEST(BadInput, LimitsOnMemoryAreToldInOneLine) {
  if (std::string(SPLITWAVE_SANITIZED) != "") GTEST_SKIP() << "a sanitizer needs terabytes of addresses";
  const TemporaryFolder folder;
  RunOptions options;
  options.environment = {"OMP_NUM_THREADS=2"};
  const auto limit = [](std::int64_t megabytes) {  // beside the program, which the kernels of many GPUs may be part of
    return (megabytes << 20) + static_cast<std::int64_t>(std::filesystem::file_size(SPLITWAVE_BINARY));
  };
  const auto refused = [&](std::int64_t megabytes, const Refused& one) {
    options.memory_bytes = limit(megabytes);
    expect_refused(one, options);
  };
  constexpr int kMissing = 3;
  refused(40, {{"run", "-w", kShort, "--threads", "1"}, {"to flush its caches; allowed: at most"}, kMissing});
  options.memory_bytes = limit(3000);
  const Outcome large = splitwave({"run", "-w", "llama-3-8b:64q1s16k"}, options);
  EXPECT_EQ(large.status, 2) << large.err;  // on a busy machine after a note on the calibration
  EXPECT_NE(large.err.find("its tensors need 4295491584 bytes of memory; allowed"), std::string::npos) << large.err;
  refused(400, {{"run", "-w", kShort, "--threads", "1000"}, {"threads: 1000 are not given by the system; allowed"}});
  refused(40,
          {{"simulate", "-w", "llama-3-8b:20000q1s4k", "--schedule", "fixed-split:64"}, {"out of memory"}, kMissing});
  for (const std::int64_t megabytes : {20, 30, 60, 100}) {
    options.memory_bytes = limit(megabytes);
    for (const std::vector<std::string>& arguments :
         {std::vector<std::string>{"sweep", "-w", kShort, "--axis", "sms=1:40", "--threads", "8", "--out",
                                   folder.file(std::to_string(megabytes))},
          {"advise", "--model", "llama-3-8b", "--gpu", "h200", "--context", "4k", "--batch", "1", "--threads", "8"}}) {
      const Outcome outcome = splitwave(arguments, options);
      EXPECT_TRUE(outcome.status == 0 || outcome.status == kMissing) << arguments.front() << outcome.err;
      EXPECT_LE(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    }
  }
}

// The destructors of JSON values ask for memory, too.
TEST(BadInput, LimitsOnMemoryAreToldWherePlansArePrinted) {
  if (std::string(SPLITWAVE_SANITIZED) != "") GTEST_SKIP() << "a sanitizer needs terabytes of addresses";
  RunOptions options;
  int refused = 0;
  for (const std::int64_t megabytes : {30, 40, 50, 60, 80, 1000}) {
    options.memory_bytes = (megabytes << 20) + static_cast<std::int64_t>(std::filesystem::file_size(SPLITWAVE_BINARY));
    const Outcome outcome = splitwave(
        {"plan", "-w", "h=32/8,d=128:250q1s100k", "--gpu", "h200", "--schedule", "fixed-size:1024", "--json", "--full"},
        options);
    if (outcome.status == 0) continue;
    ++refused;
    EXPECT_EQ(outcome.status, 3) << megabytes << outcome.err;
    EXPECT_EQ(outcome.err, "splitwave: out of memory; allowed: a workload that fits, or a machine with more memory\n");
    EXPECT_EQ(outcome.out, "");
  }
  EXPECT_GT(refused, 2);
  EXPECT_LT(refused, 6);
}

}  // namespace
}  // namespace splitwave::tests
