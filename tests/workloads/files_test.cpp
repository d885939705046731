// SPDX-License-Identifier: Apache-2.0
// What -w/--workload may name, and files that cannot be read.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/text.h"
#include "tests/workloads/refused.h"
#include "workloads/load.h"

namespace splitwave::workloads {
namespace {

class Files : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "splitwave.XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }
  /// From inside the folder.
  std::vector<Workload> load_inside(const std::string& argument) const {
    const std::filesystem::path before = std::filesystem::current_path();
    std::filesystem::current_path(folder_);
    std::vector<Workload> loaded = load(argument);
    std::filesystem::current_path(before);
    return loaded;
  }
  static void refused(const std::string& path, const char* reason) {
    tests::expect_refused([&] { load(path); }, {path.c_str(), reason});
  }

  std::filesystem::path folder_;
};

TEST_F(Files, JsonAndJsonLinesAreLoaded) {
  const Workload a = parse_spec("llama-3-8b:8q1s32k");
  const Workload b = parse_spec("h=32/8,d=128:8q1s32k");
  EXPECT_EQ(load(write("a.json", to_json(a))), std::vector<Workload>{a});
  EXPECT_EQ(load(write("ab.jsonl", to_json(a) + "\n" + to_json(b) + "\n")), (std::vector<Workload>{a, b}));
}

TEST_F(Files, AnExistingFileComesBeforeAnythingElse) {
  const Workload a = parse_spec("llama-3-8b:8q1s32k");
  write("real", to_json(a));
  EXPECT_EQ(load_inside("real"), std::vector<Workload>{a});
}

TEST_F(Files, AFolderOfASuitesNameIsNotMeant) {
  std::filesystem::create_directory(folder_ / "real");
  EXPECT_EQ(load_inside("real"), load("real"));
}

TEST_F(Files, SuitesAndSpecsAreLoaded) {
  EXPECT_GT(load("real").size(), 8U);
  EXPECT_EQ(load("h=32/8,d=128:8q1s32k").at(0), parse_spec("h=32/8,d=128:8q1s32k"));
}

TEST_F(Files, Refusals) {
  refused(write("empty.json", ""), "is empty");
  refused(folder_.string(), "is a directory");
  refused(path("missing.json"), "no such file");
  ASSERT_EQ(mkfifo(path("fifo").c_str(), 0600), 0);
  refused(path("fifo"), "is not a regular file");
  refused("/dev/zero", "is not a regular file");
  refused(write("nul.json", std::string("{\"a\0\": 1}", 9)), "holds a NUL byte at offset 3");
  refused(write("latin1.json", "{\"name\": \"\xe9\"}"), "is not UTF-8: byte 0xe9 at offset 10");
  refused(write("binary.json",
                "\x7f"
                "ELF\x02\x01\xff"),
          "is not UTF-8");
  refused(write("truncated.json", R"({"format": 1, "name": "x)"), "no valid JSON");
}

TEST_F(Files, UnreadableFilesAndLoops) {
  std::filesystem::create_symlink(path("loop"), path("loop"));
  tests::expect_refused([&] { base::read_text_file(path("loop")); }, {"loop", "cannot be read"});
  if (geteuid() == 0) GTEST_SKIP() << "root may read every file";
  const std::string secret = write("secret.json", "{}");
  ASSERT_EQ(chmod(secret.c_str(), 0), 0);
  refused(secret, "cannot be read: Permission denied");
}

TEST_F(Files, LargeFilesAreRefusedUnread) {
  const std::string large = write("large.json", "{}");
  std::filesystem::resize_file(large, static_cast<std::uintmax_t>(base::kMaxFileBytes) + 1);  // a hole; takes no disk
  refused(large, "has 67108865 bytes; at most 67108864");
}

TEST(Load, NearNamesAreOffered) {
  const auto refused = [](const std::string& argument, std::initializer_list<const char*> parts) {
    tests::expect_refused([&] { load(argument); }, parts);
  };
  refused("rael", {"workload rael", "did you mean real?"});
  refused("llama-3-8b", {"a model needs a batch: llama-3-8b:8q1s32k"});
  refused("lama-3-8b:8q1s32k", {"llama-3-8b"});
  refused("", {"no such file"});
  refused(std::string("a\0b", 3), {"a\\x00b"});
  refused("\x1b[31mred", {"\\x1b[31mred"});
  refused(std::string(100'000, 'a'), {"aaa..."});
}

}  // namespace
}  // namespace splitwave::workloads
