// SPDX-License-Identifier: Apache-2.0
#include "base/output_files.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "base/error.h"
#include "tests/support/full_disk.h"

namespace splitwave::base {
namespace {

namespace fs = std::filesystem;

class OutputFiles : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "splitwave-output-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }

  static std::string content(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }

  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  fs::path folder_;
};

template <typename Action>
std::string refusal(Action action) {
  try {
    action();
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST_F(OutputFiles, WriteFileReplacesTheWholeContent) {
  write_file(folder_ / "a", "long first content");
  write_file(folder_ / "a", "second");
  EXPECT_EQ(content(folder_ / "a"), "second");
  EXPECT_EQ(files(), 1U);
}

TEST_F(OutputFiles, WriteFileOnAFullDiskLeavesWhatWasThere) {
  write_file(folder_ / "a", "before");
  {
    const tests::FullDisk full(4096);
    EXPECT_EQ(refusal([&] { write_file(folder_ / "a", std::string(10000, 'x')); }),
              (folder_ / "a").string() + ": cannot write: File too large; allowed: a writable place with free space");
  }
  EXPECT_EQ(content(folder_ / "a"), "before");
  EXPECT_EQ(files(), 1U);
}

TEST_F(OutputFiles, PlacesThatCannotBeWrittenAreNamed) {
  EXPECT_NE(refusal([&] { write_file(folder_ / "none" / "a", "x"); }).find("none/a: cannot write: No such file"),
            std::string::npos);
  EXPECT_NE(refusal([&] { write_file(folder_, "x"); }).find("Is a directory"), std::string::npos);
  write_file(folder_ / "file", "x");
  EXPECT_NE(refusal([&] { make_folder(folder_ / "file"); }).find("cannot write"), std::string::npos);
  EXPECT_NE(refusal([&] { make_folder(folder_ / "file" / "below"); }).find("cannot write"), std::string::npos);
  EXPECT_NE(refusal([] { make_folder("/proc/splitwave"); }).find("/proc/splitwave: cannot write"), std::string::npos);
}

TEST_F(OutputFiles, WritablePlacesAreToldWithoutMakingThem) {
  const std::string file = folder_ / "file";
  write_file(file, "text");
  EXPECT_NO_THROW(expect_writable(folder_));
  EXPECT_NO_THROW(expect_writable(folder_ / "a/b"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "a"));
  EXPECT_THROW(expect_writable(file), InputError);
  EXPECT_THROW(expect_writable(file + "/a/b"), InputError);
}

TEST_F(OutputFiles, PlacesOfNewFilesAreLookedAtWithoutMakingThem) {
  write_file(folder_ / "file", "text");
  EXPECT_NO_THROW(expect_new_file(folder_ / "new"));
  EXPECT_EQ(files(), 1U);
  EXPECT_NE(refusal([&] { expect_new_file(folder_ / "file"); }).find("exists"), std::string::npos);
  EXPECT_NE(refusal([&] { expect_new_file(folder_ / "none/new"); }).find("No such file"), std::string::npos);
  EXPECT_NE(refusal([&] { expect_new_file(folder_ / "file/new"); }).find("Not a directory"), std::string::npos);
  EXPECT_NO_THROW(expect_new_file("new in the working folder"));
}

TEST_F(OutputFiles, GrowingFileIsPartialUntilItIsFinished) {
  GrowingFile file(folder_ / "r.jsonl");
  file.append("one");
  file.append("two");
  EXPECT_EQ(content(folder_ / "r.jsonl.partial"), "one\ntwo\n");
  EXPECT_FALSE(fs::exists(folder_ / "r.jsonl"));
  file.finish();
  EXPECT_EQ(content(folder_ / "r.jsonl"), "one\ntwo\n");
  EXPECT_EQ(files(), 1U);
}

TEST_F(OutputFiles, AbandonedGrowingFileKeepsItsLinesAsPartial) {
  { GrowingFile(folder_ / "r.jsonl").append("one"); }
  EXPECT_EQ(content(folder_ / "r.jsonl.partial"), "one\n");
  EXPECT_FALSE(fs::exists(folder_ / "r.jsonl"));
}

TEST_F(OutputFiles, GrowingFileOnAFullDiskKeepsWholeLines) {
  const std::string line(3000, 'x');
  GrowingFile file(folder_ / "r.jsonl");
  {
    const tests::FullDisk full(4096);
    file.append(line);
    EXPECT_NE(refusal([&] { file.append(line); }).find("r.jsonl.partial: cannot write"), std::string::npos);
  }
  EXPECT_EQ(content(folder_ / "r.jsonl.partial"), line + "\n");
}

TEST_F(OutputFiles, NewFileIsWholeAndNeverReplacesOne) {
  write_new_file(folder_ / "a", "first");
  EXPECT_EQ(content(folder_ / "a"), "first");
  EXPECT_EQ(refusal([&] { write_new_file(folder_ / "a", "second"); }),
            (folder_ / "a").string() + ": exists and is not replaced; allowed: another name or folder");
  EXPECT_EQ(content(folder_ / "a"), "first");
  fs::create_symlink("nowhere", folder_ / "link");
  EXPECT_NE(refusal([&] { write_new_file(folder_ / "link", "x"); }).find("link: exists"), std::string::npos);
  EXPECT_EQ(files(), 2U);
}

TEST_F(OutputFiles, EarlierResultsAreNeverReplaced) {
  write_file(folder_ / "r.jsonl", "earlier");
  EXPECT_NE(refusal([&] { GrowingFile(folder_ / "r.jsonl"); }).find("r.jsonl: exists and is not replaced"),
            std::string::npos);
  EXPECT_EQ(content(folder_ / "r.jsonl"), "earlier");
  write_file(folder_ / "q.jsonl.partial", "earlier");
  EXPECT_NE(refusal([&] { GrowingFile(folder_ / "q.jsonl"); }).find("q.jsonl.partial: exists"), std::string::npos);
}

}  // namespace
}  // namespace splitwave::base
