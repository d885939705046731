// SPDX-License-Identifier: Apache-2.0
// The binary is carried alone to GPU machines, so it may need nothing but the C++ and OpenMP runtimes and libc.
#include <gtest/gtest.h>

#include <cstdio>
#include <regex>
#include <string>

#include "tests/cli/process.h"

namespace splitwave::tests {
namespace {

TEST(Binary, NeedsOnlyTheRuntimes) {
  if (std::string(SPLITWAVE_SANITIZED) != "") {
    GTEST_SKIP() << "a sanitizer brings its own runtime";
  }
  FILE* pipe = ::popen("readelf -d '" SPLITWAVE_BINARY "'", "r");
  ASSERT_NE(pipe, nullptr);
  std::string text;
  for (char buffer[4096]; std::fgets(buffer, sizeof buffer, pipe) != nullptr;) {
    text += buffer;
  }
  ASSERT_EQ(::pclose(pipe), 0);
  const std::regex needed(R"(\(NEEDED\)[^\[]*\[([^\]]+)\])");
  int libraries = 0;
  for (std::sregex_iterator at(text.begin(), text.end(), needed), end; at != end; ++at, ++libraries) {
    const std::string name = (*at)[1];
    EXPECT_TRUE(
        std::regex_match(name, std::regex(R"((libstdc\+\+|libgomp|libgcc_s|libm|libc|ld-linux-x86-64)\.so\.\d+)")))
        << name;
  }
  EXPECT_GE(libraries, 2);
}

TEST(Binary, StartsInAnEmptyFolderWithoutAHome) {
  const TemporaryFolder folder;
  RunOptions options;
  options.folder = folder.path();
  options.environment = {"HOME=/nonexistent", "XDG_CACHE_HOME=/nonexistent", "PATH="};
  EXPECT_EQ(splitwave({"workload", "show", "-w", "real"}, options).status, 0);
  EXPECT_EQ(splitwave({"simulate", "-w", "llama-3-8b:1q1s256", "--gpu", "cpu"}, options).status, 0);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

}  // namespace
}  // namespace splitwave::tests
