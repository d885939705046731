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
  const SweepFolder first(folder.path(), ten, {1, 1}, false);
  expect_refused([&] { SweepFolder(folder.path(), manifest("context=1:11"), {1, 1}, true); }, "another sweep");
  first.write(1, chunk_lines(1, 4));
  expect_refused([&] { SweepFolder(folder.path(), ten, {1, 1}, false); }, "--resume");
  EXPECT_EQ(SweepFolder(folder.path(), ten, {1, 1}, true).missing(), (std::vector<std::int64_t>{0, 2}));
}

TEST(SweepFolder, ResumeRemovesHalfWrittenChunksOfItsShard) {
  const TemporaryFolder folder;
  const SweepManifest ten = manifest("context=1:10");
  const SweepFolder shard(folder.path(), ten, {1, 2}, false);
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
  expect_refused([&] { merge_sweep({folder.path() / "a"}, folder.path() / "out"); }, "1 of 3 chunks are missing");
  sweep.write(2, chunk_lines(2, 2));
  expect_refused([&] { merge_sweep({folder.path() / "a"}, folder.path() / "out"); }, "00000001.jsonl: holds 3 lines");
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

}  // namespace
}  // namespace splitwave::studies
