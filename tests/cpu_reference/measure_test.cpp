// SPDX-License-Identifier: Apache-2.0
#include "cpu_reference/measure.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "cpu_reference/compare.h"
#include "cpu_reference/cpu_cache.h"
#include "cpu_reference/interruptions.h"
#include "cpu_reference/overlap.h"
#include "schedules/schedules.h"
#include "tests/support/tensors.h"

namespace splitwave::cpu_reference {
namespace {

namespace fs = std::filesystem;

/// A cache file in a folder of its own, gone after the test.
class CacheFile {
 public:
  CacheFile() : folder_(fs::path(::testing::TempDir()) / ("splitwave_cache_" + std::to_string(::getpid()))) {
    fs::remove_all(folder_);
  }
  CacheFile(const CacheFile&) = delete;
  CacheFile& operator=(const CacheFile&) = delete;
  ~CacheFile() { fs::remove_all(folder_); }
  fs::path folder() const { return folder_; }
  fs::path path() const { return folder_ / "splitwave" / "cpu.json"; }

 private:
  fs::path folder_;
};

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// The file with `text` in place of `key`, which it has.
void replace_in(const fs::path& path, const std::string& key, const std::string& text) {
  std::string all = text_of(path);
  ASSERT_NE(all.find(key), std::string::npos) << all;
  std::ofstream(path) << all.replace(all.find(key), key.size(), text);
}

TEST(Timing, InterpolatesTheMedianAndTheOuterFifths) {
  const Timing timing = timing_of({6, 1, 4, 2, 3, 7});
  EXPECT_DOUBLE_EQ(timing.p20, 2);
  EXPECT_DOUBLE_EQ(timing.median, 3.5);
  EXPECT_DOUBLE_EQ(timing_of({10, 20, 30}).p20, 14);
  EXPECT_DOUBLE_EQ(timing.p80, 6);
  EXPECT_EQ(timing.samples, 6);
  EXPECT_EQ(timing_of({}).samples, 0);
  EXPECT_EQ(timing_of({7}).p20, 7);
}

TEST(TimedPlan, RunsAndKeepsTheResult) {
  const workloads::Workload workload = testing::plain_workload(workloads::Dtype::f16, 4, 2, 32, 1, 100);
  const workloads::Tensors tensors = testing::tensors_with(workload, testing::normal_values(1));
  const schedules::Plan plan = schedules::make_plan("fa2", workload, {2, 1, 0, 0});
  TimedPlan timed(workload, tensors, plan, 2);
  EXPECT_GT(timed.sample(), 0);
  EXPECT_GE(timed.interrupted(), 0);
  EXPECT_TRUE(acceptable(compare(timed.result(), attend(workload, tensors)), tolerance(workload.geometry.dtype)));
}

TEST(Evict, LeavesTheTensorsAsTheyAre) {
  const workloads::Workload workload = testing::plain_workload(workloads::Dtype::f16, 3, 1, 40, 2, 33);
  const workloads::Tensors tensors = testing::tensors_with(workload, testing::normal_values(1));
  const workloads::Tensors before = tensors;
  for (const int threads : {1, 3}) evict(tensors, threads);
  EXPECT_EQ(tensors.q, before.q);
  EXPECT_EQ(tensors.k, before.k);
  EXPECT_EQ(tensors.v, before.v);
  evict({}, 2);
}

/// Calls of work until what `interruptions` says comes true: the number of others' interruptions at each look.
std::int64_t calls_with(const std::vector<std::int64_t>& looks, std::int64_t& interrupted) {
  std::size_t look = 0;
  std::int64_t calls = 0;
  std::int64_t prepared = 0;
  interrupted = until_uninterrupted([&] { ++prepared; }, [&] { ++calls; },
                                    [&] { return looks.at(std::min(look++, looks.size() - 1)); });
  EXPECT_EQ(prepared, calls);
  return calls;
}

TEST(Interruptions, ARunIsRepeatedUntilNobodyInterruptsIt) {
  std::int64_t interrupted = 0;
  EXPECT_EQ(calls_with({7, 7}, interrupted), 1);
  EXPECT_EQ(interrupted, 0);
  EXPECT_EQ(calls_with({7, 9, 9, 10, 12, 12}, interrupted), 3);  // between the runs does not count
  EXPECT_EQ(interrupted, 2);
}

TEST(Interruptions, WhoIsAlwaysInterruptedIsTimedAllTheSame) {
  std::int64_t now = 0;
  std::int64_t calls = 0;
  EXPECT_EQ(until_uninterrupted([] {}, [&] { ++calls; }, [&] { return ++now; }), kTries);
  EXPECT_EQ(calls, kTries);
}

TEST(TileCost, AddsUpOverChunksOfFourRows) {
  CpuConstants constants;
  constants.tile[0] = {TileCost{1, 0.1}, TileCost{2, 0.2}, TileCost{3, 0.3}, TileCost{4, 0.4}};
  constants.tile[2][0] = {100, 0};
  workloads::Geometry geometry;  // f16, 128 + 128 elements: 512 bytes per token
  EXPECT_DOUBLE_EQ(tile_seconds_per_kv_byte(constants, geometry, 4), (4 + 0.4 * 256) / 512);
  EXPECT_DOUBLE_EQ(tile_seconds_per_kv_byte(constants, geometry, 6), (4 + 0.4 * 256 + 2 + 0.2 * 256) / 512);
  EXPECT_DOUBLE_EQ(tile_seconds_per_kv_byte(constants, geometry, 8), 2 * (4 + 0.4 * 256) / 512);
  geometry.dtype = workloads::Dtype::f32;
  EXPECT_DOUBLE_EQ(tile_seconds_per_kv_byte(constants, geometry, 1), 100.0 / 1024);
}

TEST(KvRead, OneHeadOfManyInATokenMajorLayoutIsReadByRows) {
  CpuConstants constants;
  constants.read_bytes_per_second = {2};
  constants.row_read_bytes_per_second = {1};
  workloads::Workload workload;
  workload.kv.layout = workloads::KvLayout::bshd;
  EXPECT_EQ(kv_read_bytes_per_second(constants, workload).front(), 1);
  workload.geometry.kv_heads = 1;
  EXPECT_EQ(kv_read_bytes_per_second(constants, workload).front(), 2);
  workload.geometry.kv_heads = 8;
  workload.kv.layout = workloads::KvLayout::bhsd;
  EXPECT_EQ(kv_read_bytes_per_second(constants, workload).front(), 2);
}

#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)  // which make the tiles take minutes
TEST(CpuConstants, AreSensible) {
  const MeasuredCpu measured = measure_cpu(1);
  const CpuConstants& constants = measured.constants;
  EXPECT_FALSE(constants.model.empty());
  ASSERT_EQ(constants.read_bytes_per_second.size(), 1);
  ASSERT_EQ(constants.row_read_bytes_per_second.size(), 1);
  EXPECT_GT(constants.read_bytes_per_second[0], 1e7);
  EXPECT_GT(constants.row_read_bytes_per_second[0], 1e7);
  EXPECT_GT(constants.token_seconds_per_kv_byte, 1e-13);
  EXPECT_LT(constants.token_seconds_per_kv_byte, 1e-6);
  EXPECT_GT(constants.fork_seconds, 0);
  EXPECT_GE(constants.overlap, kLeastOverlap);
  EXPECT_LE(constants.overlap, kMostOverlap);
  EXPECT_GE(constants.list_seconds, 0);
  EXPECT_GE(constants.item_seconds, 0);
  EXPECT_GT(constants.merge_seconds_per_row_split, 0);
  EXPECT_GE(measured.quietness.interruptions_per_second, 0);
  EXPECT_GE(measured.quietness.read_spread, 0);
  EXPECT_GE(measured.quietness.fork_spread, 0);
  EXPECT_THROW(measure_cpu(0), std::logic_error);
}
#endif

/// Constants that tell apart which call made them.
CpuConstants made_up(int threads, double item_seconds) {
  CpuConstants constants;
  constants.model = "Made-up CPU";
  constants.threads = threads;
  constants.read_bytes_per_second.assign(static_cast<std::size_t>(threads), 3e10);
  constants.row_read_bytes_per_second.assign(static_cast<std::size_t>(threads), 2e10);
  constants.token_seconds_per_kv_byte = 2e-11;
  for (auto& rows : constants.tile) rows.fill({1e-9, 1.0 / 3 * 1e-11});
  constants.fork_seconds = 1e-6;
  constants.overlap = 2.5;
  constants.list_seconds = 2e-6;
  constants.item_seconds = item_seconds;
  constants.merge_seconds_per_row_split = 1e-8;
  return constants;
}

/// What the cache gives when a measurement would give item_seconds = `item_seconds`.
CpuConstants look_up(const fs::path& file, int threads, double item_seconds, bool holds = true) {
  const KnownCpu known = cached_or_measured(
      file, "Made-up CPU", threads, [holds](const CpuConstants&) { return holds; },
      [item_seconds](int count) {
        return MeasuredCpu{made_up(count, item_seconds), {}};
      });
  EXPECT_EQ(known.note, "");
  return known.constants;
}

TEST(CpuCache, KeepsWhatWasMeasuredByThreads) {
  const CacheFile cache;
  EXPECT_EQ(look_up(cache.path(), 2, 0.00025).item_seconds, 0.00025);
  EXPECT_EQ(look_up(cache.path(), 3, 0.0005).item_seconds, 0.0005);
  const CpuConstants kept = look_up(cache.path(), 2, 0.0007);
  EXPECT_EQ(kept.item_seconds, 0.00025);
  EXPECT_EQ(kept.overlap, 2.5);
  EXPECT_EQ(kept.list_seconds, 2e-6);
  EXPECT_EQ(kept.read_bytes_per_second, made_up(2, 0).read_bytes_per_second);
  EXPECT_EQ(kept.tile[2][3].token_element_seconds, made_up(2, 0).tile[2][3].token_element_seconds);
  // Nothing is left beside the file.
  EXPECT_EQ(std::distance(fs::directory_iterator(cache.path().parent_path()), fs::directory_iterator()), 1);
}

TEST(CpuCache, MeasuresAgainWhatNoLongerHolds) {
  const CacheFile cache;
  look_up(cache.path(), 1, 0.00025);
  EXPECT_EQ(look_up(cache.path(), 1, 0.0005, false).item_seconds, 0.0005);
  EXPECT_EQ(look_up(cache.path(), 1, 0.00075).item_seconds, 0.0005);
}

TEST(CpuCache, MeasuresAgainWhatIsDamaged) {
  const CacheFile cache;
  look_up(cache.path(), 1, 0.00025);
  const std::string good = text_of(cache.path());
  const auto with_item_seconds = [&](const std::string& value) {
    const std::string key = "\"item_seconds\": 0.00025";
    std::string text = good;
    return text.replace(text.find(key), key.size(), "\"item_seconds\": " + value);
  };
  for (const std::string& damaged :
       {std::string(), std::string("{"), good.substr(0, good.size() / 2), std::string("[]"),
        std::string("{\"version\": 3}"), std::string("{\"version\": 3, \"cpus\": 3}"), std::string(100000, '['),
        std::string("\0\xff", 2), with_item_seconds("-1"), with_item_seconds("\"x\""), with_item_seconds("1e999"),
        with_item_seconds("null")}) {
    std::ofstream(cache.path()) << damaged;
    EXPECT_EQ(look_up(cache.path(), 1, 0.0005).item_seconds, 0.0005) << damaged.substr(0, 80);
    EXPECT_EQ(look_up(cache.path(), 1, 0.00075).item_seconds, 0.0005) << "not written again";
  }
}

/// What the cache gives when the measurement is this one, and what is kept of it.
struct Outcome {
  KnownCpu known;
  bool kept = false;
};

Outcome keep_or_not(const Quietness& quietness, const CpuConstants& constants) {
  const CacheFile cache;
  look_up(cache.path(), 1, 0.00025);
  const KnownCpu known = cached_or_measured(
      cache.path(), "Made-up CPU", 1, [](const CpuConstants&) { return false; },
      [&](int) {
        return MeasuredCpu{constants, quietness};
      });
  return {known, look_up(cache.path(), 1, 0.0005).item_seconds == constants.item_seconds};
}

TEST(CpuCache, WhatABusyMachineGaveServesTheRunAndIsNotKept) {
  CpuConstants slow = made_up(1, 0.0001);
  slow.fork_seconds = 8.04e-3;  // was kept once: 8.04 ms were predicted for what takes 45 us
  const struct {
    Quietness quietness;
    CpuConstants constants;
    const char* reason;
  } cases[] = {
      {{300, 0.05, 0.5}, made_up(1, 0.0001), "300 interruptions per second"},
      {{3, 0.4, 0.5}, made_up(1, 0.0001), "reads of the same memory differed by 40 %"},
      {{3, 0.05, 6}, made_up(1, 0.0001), "starts of its threads differed by 600 %"},
      {{3, 0.05, 0.5}, slow, "fork_seconds is 0.00804; allowed: 1e-09 to 0.001"},
  };
  for (const auto& one : cases) {
    const Outcome outcome = keep_or_not(one.quietness, one.constants);
    EXPECT_EQ(outcome.known.constants.item_seconds, 0.0001) << one.reason;
    EXPECT_EQ(outcome.known.constants.fork_seconds, one.constants.fork_seconds) << one.reason;
    EXPECT_NE(outcome.known.note.find(one.reason), std::string::npos) << outcome.known.note;
    EXPECT_NE(outcome.known.note.find("are not kept"), std::string::npos) << outcome.known.note;
    EXPECT_EQ(outcome.known.note.find('\n'), std::string::npos);
    EXPECT_FALSE(outcome.kept) << one.reason;
  }
  const Outcome quiet = keep_or_not({3, 0.05, 0.5}, made_up(1, 0.0001));
  EXPECT_EQ(quiet.known.note, "");
  EXPECT_TRUE(quiet.kept);
}

TEST(CpuCache, MeasuresAgainWhatAnEarlierVersionKept) {
  const CacheFile cache;
  look_up(cache.path(), 1, 0.00025);
  ASSERT_NO_FATAL_FAILURE(replace_in(cache.path(), "\"version\": 3", "\"version\": 2"));
  EXPECT_EQ(look_up(cache.path(), 1, 0.0005).item_seconds, 0.0005);
}

TEST(CpuCache, AbsurdFiguresAreNamed) {
  const auto absurd = [](auto change) {
    CpuConstants constants = made_up(2, 1e-6);
    change(constants);
    return absurd_figure(constants);
  };
  EXPECT_EQ(absurd([](CpuConstants&) {}), "");
  EXPECT_EQ(absurd([](CpuConstants& c) { c.fork_seconds = 8.04e-3; }),
            "fork_seconds is 0.00804; allowed: 1e-09 to 0.001");
  EXPECT_EQ(absurd([](CpuConstants& c) { c.item_seconds = 0.25; }), "item_seconds is 0.25; allowed: 0 to 0.001");
  EXPECT_EQ(absurd([](CpuConstants& c) { c.list_seconds = 0.25; }), "list_seconds is 0.25; allowed: 0 to 0.001");
  EXPECT_EQ(absurd([](CpuConstants& c) { c.overlap = 0; }), "overlap is 0; allowed: 0.5 to 16");
  EXPECT_EQ(absurd([](CpuConstants& c) { c.merge_seconds_per_row_split = 1; }),
            "merge_seconds_per_row_split is 1; allowed: 0 to 0.0001");
  EXPECT_EQ(absurd([](CpuConstants& c) { c.read_bytes_per_second[0] = 5e6; }),
            "read_bytes_per_second is 5e+06; allowed: 1e+08 to 1e+12");
  EXPECT_EQ(absurd([](CpuConstants& c) { c.row_read_bytes_per_second[1] = 5e9; }),
            "row_read_bytes_per_second is 5e+09 by all threads and 2e+10 by one; allowed: no less than half");
  EXPECT_EQ(absurd([](CpuConstants& c) { c.token_seconds_per_kv_byte = 1e-6; }),
            "token_seconds_per_kv_byte is 1e-06; allowed: 1e-13 to 1e-08");
  EXPECT_EQ(absurd([](CpuConstants& c) { c.tile[1][2] = {1, 0}; }), "tile is 1; allowed: 1e-10 to 1e-05");
}

TEST(CpuCache, AbsurdFiguresInTheFileAreMeasuredAgain) {
  const CacheFile cache;
  look_up(cache.path(), 1, 0.00025);
  ASSERT_NO_FATAL_FAILURE(replace_in(cache.path(), "\"fork_seconds\": 1e-06", "\"fork_seconds\": 0.00804"));
  EXPECT_EQ(look_up(cache.path(), 1, 0.0005).item_seconds, 0.0005);
  EXPECT_EQ(look_up(cache.path(), 1, 0.00075).item_seconds, 0.0005);
}

TEST(CpuCache, AFileThatCannotBeWrittenIsNoError) {
  const CacheFile cache;
  std::ofstream(cache.folder()) << "a file where a folder should be";
  EXPECT_EQ(look_up(cache.path(), 1, 0.00025).item_seconds, 0.00025);
  EXPECT_EQ(look_up(cache.path(), 1, 0.0005).item_seconds, 0.0005);
}

TEST(CpuCache, LiesWhereTheBaseDirectorySpecificationSays) {
  setenv("XDG_CACHE_HOME", "/somewhere", 1);
  EXPECT_EQ(cpu_cache_file(), fs::path("/somewhere/splitwave/cpu.json"));
  setenv("XDG_CACHE_HOME", "relative", 1);
  setenv("HOME", "/home/someone", 1);
  EXPECT_EQ(cpu_cache_file(), fs::path("/home/someone/.cache/splitwave/cpu.json"));
  unsetenv("XDG_CACHE_HOME");
  unsetenv("HOME");
  EXPECT_EQ(cpu_cache_file(), std::nullopt);
}

}  // namespace
}  // namespace splitwave::cpu_reference
