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

TEST(Timing, RunsAsOftenAsAskedAndKeepsTheResult) {
  const workloads::Workload workload = testing::plain_workload(workloads::Dtype::f16, 4, 2, 32, 1, 100);
  const workloads::Tensors tensors = testing::tensors_with(workload, testing::normal_values(1));
  const schedules::Plan plan = schedules::make_plan("fa2", workload, {2, 1, 0, 0});
  Result<float> result;
  const Timing timing = time_plan(workload, tensors, plan, 2, 3, 0, result);
  EXPECT_EQ(timing.samples, 3);
  EXPECT_GT(timing.p20, 0);
  EXPECT_LE(timing.p20, timing.median);
  EXPECT_LE(timing.median, timing.p80);
  EXPECT_TRUE(acceptable(compare(result, attend(workload, tensors)), tolerance(workload.geometry.dtype)));
  EXPECT_THROW(time_plan(workload, tensors, plan, 2, 0, 0, result), std::logic_error);
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
  const CpuConstants constants = measure_cpu(1);
  EXPECT_FALSE(constants.model.empty());
  ASSERT_EQ(constants.read_bytes_per_second.size(), 1);
  ASSERT_EQ(constants.row_read_bytes_per_second.size(), 1);
  EXPECT_GT(constants.read_bytes_per_second[0], 1e7);
  EXPECT_GT(constants.row_read_bytes_per_second[0], 1e7);
  EXPECT_GT(constants.token_seconds_per_kv_byte, 1e-13);
  EXPECT_LT(constants.token_seconds_per_kv_byte, 1e-6);
  EXPECT_GT(constants.fork_seconds, 0);
  EXPECT_GE(constants.item_seconds, 0);
  EXPECT_GT(constants.merge_seconds_per_row_split, 0);
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
  constants.item_seconds = item_seconds;
  constants.merge_seconds_per_row_split = 1e-8;
  return constants;
}

/// What the cache gives when a measurement would give item_seconds = `item_seconds`.
CpuConstants look_up(const fs::path& file, int threads, double item_seconds, bool holds = true) {
  return cached_or_measured(
      file, "Made-up CPU", threads, [holds](const CpuConstants&) { return holds; },
      [item_seconds](int count) { return made_up(count, item_seconds); });
}

TEST(CpuCache, KeepsWhatWasMeasuredByThreads) {
  const CacheFile cache;
  EXPECT_EQ(look_up(cache.path(), 2, 0.25).item_seconds, 0.25);
  EXPECT_EQ(look_up(cache.path(), 3, 0.5).item_seconds, 0.5);
  const CpuConstants kept = look_up(cache.path(), 2, 7);
  EXPECT_EQ(kept.item_seconds, 0.25);
  EXPECT_EQ(kept.read_bytes_per_second, made_up(2, 0).read_bytes_per_second);
  EXPECT_EQ(kept.tile[2][3].token_element_seconds, made_up(2, 0).tile[2][3].token_element_seconds);
  // Nothing is left beside the file.
  EXPECT_EQ(std::distance(fs::directory_iterator(cache.path().parent_path()), fs::directory_iterator()), 1);
}

TEST(CpuCache, MeasuresAgainWhatNoLongerHolds) {
  const CacheFile cache;
  look_up(cache.path(), 1, 0.25);
  EXPECT_EQ(look_up(cache.path(), 1, 0.5, false).item_seconds, 0.5);
  EXPECT_EQ(look_up(cache.path(), 1, 0.75).item_seconds, 0.5);
}

TEST(CpuCache, MeasuresAgainWhatIsDamaged) {
  const CacheFile cache;
  look_up(cache.path(), 1, 0.25);
  const std::string good = text_of(cache.path());
  const auto with_item_seconds = [&](const std::string& value) {
    const std::string key = "\"item_seconds\": 0.25";
    std::string text = good;
    return text.replace(text.find(key), key.size(), "\"item_seconds\": " + value);
  };
  for (const std::string& damaged :
       {std::string(), std::string("{"), good.substr(0, good.size() / 2), std::string("[]"),
        std::string("{\"version\": 1}"), std::string("{\"version\": 1, \"cpus\": 3}"), std::string(100000, '['),
        std::string("\0\xff", 2), with_item_seconds("-1"), with_item_seconds("\"x\""), with_item_seconds("1e999"),
        with_item_seconds("null")}) {
    std::ofstream(cache.path()) << damaged;
    EXPECT_EQ(look_up(cache.path(), 1, 0.5).item_seconds, 0.5) << damaged.substr(0, 80);
    EXPECT_EQ(look_up(cache.path(), 1, 0.75).item_seconds, 0.5) << "not written again";
  }
}

TEST(CpuCache, AFileThatCannotBeWrittenIsNoError) {
  const CacheFile cache;
  std::ofstream(cache.folder()) << "a file where a folder should be";
  EXPECT_EQ(look_up(cache.path(), 1, 0.25).item_seconds, 0.25);
  EXPECT_EQ(look_up(cache.path(), 1, 0.5).item_seconds, 0.5);
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
