// SPDX-License-Identifier: Apache-2.0
#include "studies/sweep_store.h"

#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <string>

#include "base/error.h"
#include "simulator/machine.h"
#include "tests/cli/process.h"
#include "workloads/load.h"

namespace splitwave::studies {
namespace {

using tests::content;
using tests::TemporaryFolder;

SweepManifest manifest(const std::string& axis) {
  Target target;
  target.machine = simulator::load_machine("h200");
  target.name = target.machine.name;
  const SweepSpace space = make_space({target}, {workloads::parse_spec("llama-3-8b:1q1s1k")}, {axis}, {"fa2"});
  return make_manifest(space, {"h200"}, 4, "commit", "version");
}

std::string chunk_lines(std::int64_t chunk, std::int64_t lines) {
  std::string text;
  for (std::int64_t i = 0; i < lines; ++i) text += "{\"chunk\":" + std::to_string(chunk) + "}\n";
  return text;
}

void expect_refused(const std::function<void()>& action, const std::string& said) {
  try {
    action();
    ADD_FAILURE() << "accepted: " << said;
  } catch (const base::InputError& error) {
    EXPECT_NE(std::string(error.what()).find(said), std::string::npos) << error.what();
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
  }
}

TEST(Shard, Parses) {
  EXPECT_EQ(parse_shard("2/8").index, 2);
  EXPECT_EQ(parse_shard("2/8").count, 8);
  for (const char* wrong : {"", "1", "/", "1/", "/1", "0/4", "5/4", "-1/4", "1/4/4", "1/4 ", "a/b", "1/99999999"}) {
    EXPECT_THROW(parse_shard(wrong), base::InputError) << wrong;
  }
}

TEST(SweepFolder, ShardsTogetherMakeTheRecords) {
  const TemporaryFolder folder;
  const SweepManifest ten = manifest("context=1:10");
  ASSERT_EQ(ten.chunks(), 3);
  std::string expected;
  for (std::int64_t chunk = 0; chunk < 3; ++chunk) expected += chunk_lines(chunk, chunk < 2 ? 4 : 2);
  for (std::int64_t index = 1; index <= 2; ++index) {
    const SweepFolder shard(folder.path() / std::to_string(index), ten, {index, 2}, false);
    for (const std::int64_t chunk : shard.missing()) shard.write(chunk, chunk_lines(chunk, chunk < 2 ? 4 : 2));
    EXPECT_TRUE(shard.missing().empty());
  }
  const SweepTotals totals = merge_sweep({folder.path() / "1", folder.path() / "2"}, folder.path() / "all");
  EXPECT_EQ(totals.points, 10);
  EXPECT_EQ(content(folder.path() / "all" / "records.jsonl"), expected);
}

TEST(SweepFolder, RefusesAnotherSweepAndResultsWithoutResume) {
  const TemporaryFolder folder;
  const SweepManifest ten = manifest("context=1:10");
  SweepFolder(folder.path(), ten, {1, 1}, false).write(1, chunk_lines(1, 4));
  expect_refused([&] { SweepFolder(folder.path(), manifest("context=1:11"), {1, 1}, true); }, "another sweep");
  expect_refused([&] { SweepFolder(folder.path(), ten, {1, 1}, false); }, "--resume");
  EXPECT_EQ(SweepFolder(folder.path(), ten, {1, 1}, true).missing(), (std::vector<std::int64_t>{0, 2}));
}

TEST(SweepFolder, ResumeRemovesHalfWrittenChunksOfItsShard) {
  const TemporaryFolder folder;
  const SweepManifest ten = manifest("context=1:10");
  SweepFolder(folder.path(), ten, {1, 2}, false);
  const auto mine = folder.path() / "chunks" / "00000002.jsonl.AbCdEf";
  const auto other = folder.path() / "chunks" / "00000001.jsonl.AbCdEf";
  std::ofstream(mine) << "half";
  std::ofstream(other) << "half";
  const SweepFolder resumed(folder.path(), ten, {1, 2}, true);
  EXPECT_FALSE(std::filesystem::exists(mine));
  EXPECT_TRUE(std::filesystem::exists(other)) << "another shard may be writing it";
}

TEST(SweepMerge, NamesWhatIsMissingDamagedOrForeign) {
  const TemporaryFolder folder;
  const SweepManifest ten = manifest("context=1:10");
  const SweepFolder sweep(folder.path() / "a", ten, {1, 1}, false);
  sweep.write(0, chunk_lines(0, 4));
  sweep.write(1, chunk_lines(1, 3));
  expect_refused([&] { merge_sweep({folder.path() / "a"}, folder.path() / "out"); }, "1 of 3 chunks are in none of");
  sweep.write(2, chunk_lines(2, 2));
  expect_refused([&] { merge_sweep({folder.path() / "a"}, folder.path() / "out"); },
                 "00000001.jsonl: holds 3 lines of 4");
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "out" / "records.jsonl"));
  const SweepFolder foreign(folder.path() / "b", manifest("context=1:11"), {1, 1}, false);
  expect_refused(
      [&] {
        merge_sweep({folder.path() / "a", folder.path() / "b"}, folder.path() / "out");
      },
      "another sweep");
  expect_refused([&] { merge_sweep({folder.path() / "nowhere"}, folder.path() / "out"); }, "nowhere");
  const std::string broken = folder.write("sweep.json", "{\"points\":-1}");
  expect_refused([&] { merge_sweep({folder.path()}, folder.path() / "out"); }, "not the description of a sweep");
}

/// Changes one byte of a file.
void change(const std::filesystem::path& path, const std::string& from, const std::string& to) {
  std::string text = content(path);
  const std::size_t at = text.find(from);
  ASSERT_NE(at, std::string::npos);
  std::ofstream(path) << text.replace(at, from.size(), to);
}

TEST(SweepMerge, NoticesWhatWasChanged) {
  const TemporaryFolder folder;
  const SweepManifest ten = manifest("context=1:10");
  {
    const SweepFolder sweep(folder.path() / "a", ten, {1, 1}, false);
    for (std::int64_t chunk = 0; chunk < 3; ++chunk) sweep.write(chunk, chunk_lines(chunk, chunk < 2 ? 4 : 2));
  }
  const auto chunks = folder.path() / "a" / "chunks";
  const auto merge = [&] { merge_sweep({folder.path() / "a"}, folder.path() / "out"); };
  change(chunks / "00000001.jsonl", "1}", "7}");
  expect_refused(merge, "00000001.jsonl: holds 4 lines of 4, or was changed");
  std::filesystem::copy_file(chunks / "00000000.jsonl", chunks / "00000001.jsonl",
                             std::filesystem::copy_options::overwrite_existing);
  expect_refused(merge, "00000001.jsonl: holds 4 lines of 4, or was changed");
  for (const char* points : {"\"points\": 1000000000", "\"points\": 11"}) {
    const std::string before = content(folder.path() / "a" / "sweep.json");
    change(folder.path() / "a" / "sweep.json", "\"points\": 10", points);
    expect_refused(merge, "sweep.json: was changed");
    std::ofstream(folder.path() / "a" / "sweep.json") << before;
  }
}

TEST(SweepMerge, NamesTheShardThatIsMissing) {
  const TemporaryFolder folder;
  const SweepManifest hundred = manifest("context=1:100");
  ASSERT_EQ(hundred.chunks(), 25);
  for (const std::int64_t index : {1, 3}) {
    const SweepFolder shard(folder.path() / ("s" + std::to_string(index)), hundred, {index, 3}, false);
    for (const std::int64_t chunk : shard.missing()) shard.write(chunk, chunk_lines(chunk, 4));
  }
  const std::filesystem::path s1 = folder.path() / "s1";
  const std::filesystem::path s3 = folder.path() / "s3";
  expect_refused(
      [&] {
        merge_sweep({s1, s3}, folder.path() / "out");
      },
      "8 of 25 chunks are in none of " + s1.string() + ", " + s3.string() +
          ", the first is 00000001; they are those of --shard 2/3; allowed");
  expect_refused([&] { merge_sweep({s1}, folder.path() / "out"); }, "the first is 00000001; allowed");
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "out"));
}

TEST(SweepFolder, IsHeldAgainstOthersAtTheSameWork) {
  const TemporaryFolder folder;
  const SweepManifest ten = manifest("context=1:10");
  {
    const SweepFolder whole(folder.path(), ten, {1, 1}, false);
    expect_refused([&] { SweepFolder(folder.path(), ten, {1, 1}, true); }, "another process is at work there");
    expect_refused([&] { SweepFolder(folder.path(), ten, {1, 2}, true); }, "another process is at work there");
    for (std::int64_t chunk = 0; chunk < 3; ++chunk) whole.write(chunk, chunk_lines(chunk, chunk < 2 ? 4 : 2));
    expect_refused([&] { merge_sweep({folder.path()}, folder.path()); }, "another process is at work there");
  }
  const SweepFolder first(folder.path(), ten, {1, 2}, true);
  const SweepFolder second(folder.path(), ten, {2, 2}, true);
  expect_refused([&] { SweepFolder(folder.path(), ten, {2, 2}, true); }, "shard-2-of-2: another process");
  expect_refused([&] { SweepFolder(folder.path(), ten, {1, 1}, true); }, "another process is at work there");
}

}  // namespace
}  // namespace splitwave::studies
