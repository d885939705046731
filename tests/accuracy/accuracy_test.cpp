// SPDX-License-Identifier: Apache-2.0
// The figures of docs/accuracy.md on cases that can be worked out by hand, and files that are refused.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "benchmarks/accuracy/own.h"
#include "benchmarks/accuracy/points.h"
#include "benchmarks/accuracy/statistics.h"
#include "benchmarks/accuracy/tables.h"

namespace splitwave::accuracy {
namespace {

/// Measured and predicted seconds of three kernels on two shapes.
class Figures : public testing::Test {
 protected:
  Figures() {
    const double measured[] = {1, 2, 4, 1, 1.05, 10};
    const double predicted[] = {1.1, 1.8, 4, 2, 1.5, 10};
    points_.resize(6);
    for (std::size_t i = 0; i < 6; ++i) {
      points_[i].workload.name = i < 3 ? "first" : "second";
      points_[i].seconds = measured[i];
      JudgedPoint one;
      one.point = &points_[i];
      one.peer = &peers()[i % 3];
      one.seconds = predicted[i];
      one.roofline_seconds = measured[i] / 2;
      one.bytes = i < 3 ? 1e6 : 2e9;
      predictions_.push_back(one);
    }
  }

  std::vector<Point> points_;
  std::vector<JudgedPoint> predictions_;
};

TEST(Fields, InQuotesMayHoldSeparatorsAndQuotes) {
  EXPECT_EQ(fields_of("fa2,\"h=64/8,d=64/step=7\",0", ','),
            (std::vector<std::string>{"fa2", "h=64/8,d=64/step=7", "0"}));
  EXPECT_EQ(fields_of("\"a \"\"b\"\"\",", ','), (std::vector<std::string>{"a \"b\"", ""}));
}

TEST_F(Figures, ErrorsAreRelativeToTheMeasuredTime) {
  const Summary first =
      summarize(predictions_, [](const JudgedPoint& one) { return one.point->workload.name == "first"; });
  EXPECT_EQ(first.points, 3U);
  EXPECT_NEAR(first.mean, (0.1 + 0.1 + 0) / 3, 1e-12);
  EXPECT_NEAR(first.bias, 0, 1e-12);
  EXPECT_NEAR(first.p50, 0.1, 1e-12);
  EXPECT_NEAR(first.most, 0.1, 1e-12);
  EXPECT_NEAR(first.roofline_mean, 0.5, 1e-12);
  EXPECT_EQ(summarize(predictions_, [](const JudgedPoint&) { return false; }).points, 0U);
}

TEST_F(Figures, OnlyClearDifferencesHaveASign) {
  const Order both = order(predictions_);
  // All pairs but the 1 and 1.05 of the second shape, which are predicted the other way round.
  EXPECT_EQ(both.pairs, 5U);
  EXPECT_EQ(both.right, 5U);
  EXPECT_EQ(both.shapes, 2U);
  EXPECT_NEAR(both.tau_mean, (1 + 1.0 / 3) / 2, 1e-12);
  EXPECT_NEAR(both.regret_mean, (0 + 0.05) / 2, 1e-12);
}

TEST_F(Figures, TablesNameWhatTheyCount) {
  const std::string sizes = size_table(predictions_);
  EXPECT_NE(sizes.find("below 4 MB"), std::string::npos);
  EXPECT_NE(sizes.find("from 1 GB"), std::string::npos);
  EXPECT_EQ(sizes.find("4 to 64 MB"), std::string::npos);
  EXPECT_NE(kernel_table(predictions_).find("all"), std::string::npos);
}

class Files : public testing::Test {
 protected:
  Files() : folder_(std::filesystem::temp_directory_path() / ("accuracy." + std::to_string(::getpid()))) {
    std::filesystem::create_directory(folder_);
  }
  ~Files() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) const {
    const std::string path = folder_ / name;
    std::ofstream(path) << text;
    return path;
  }

 private:
  std::filesystem::path folder_;
};

std::string message(const std::function<void()>& run) {
  try {
    run();
  } catch (const base::InputError& error) {
    return error.what();
  }
  return "";
}

TEST_F(Files, AreReadByColumns) {
  const std::string shapes = write("shapes.csv", "# a comment\na,2,8,2,128,128,512\nb,2,8,8,64,64,16;32\n");
  const std::string times = write("times.csv", "kernel,shape,status,us,note\nfa3,b,ok,2.5,x=1\nfa3,a,unsupported,,\n");
  const std::vector<Point> points = read_peers(shapes, times);
  ASSERT_EQ(points.size(), 1U);
  EXPECT_EQ(points[0].kernel, "fa3");
  EXPECT_EQ(points[0].workload.requests[1].context_len, 32);
  EXPECT_DOUBLE_EQ(points[0].seconds, 2.5e-6);
  EXPECT_EQ(points[0].note, "x=1");
}

TEST_F(Files, BadLinesAreNamed) {
  const std::string good = write("shapes.csv", "a,2,8,2,128,128,512\n");
  const std::string times = write("times.csv", "kernel,shape,status,us,note\nfa3,z,ok,2.5,\n");
  EXPECT_NE(message([&] { read_peers(good, times); }).find("times.csv:2: shape z"), std::string::npos);
  const std::string late = write("late.csv", "kernel,shape,status,us,note\nfa3,a,ok,soon,\n");
  EXPECT_NE(message([&] { read_peers(good, late); }).find("late.csv:2: 'soon'"), std::string::npos);
  const std::string bad = write("bad.csv", "a,3,8,2,128,128,1;2\n");
  EXPECT_NE(message([&] { read_peers(bad, times); }).find("bad.csv:1: 2 contexts"), std::string::npos);
  const std::string few = write("few.csv", "device\nH200,a,1\n");
  EXPECT_NE(message([&] { read_engines(few, "H200"); }).find("few.csv:2: 3 columns"), std::string::npos);
  EXPECT_NE(message([&] { read_engines(write("empty.csv", ""), "H200"); }).find("empty"), std::string::npos);
}

TEST_F(Files, BatchesOfFewerThanOneRequestAreRefused) {
  for (const std::string batch : {"-1", "0", "1048577"}) {
    const std::string allowed = "'" + batch + "'; allowed: an integer from 1 to 1048576";
    const std::string shapes = write("shapes.csv", "a," + batch + ",8,2,128,128,512\n");
    EXPECT_NE(message([&] { read_shapes(shapes); }).find("shapes.csv:1: " + allowed), std::string::npos);
    const std::string engines = write("engines.csv", "device\nH200,fa3," + batch + ",512,8,2,128,3.5\n");
    EXPECT_NE(message([&] { read_engines(engines, "H200"); }).find("engines.csv:2: " + allowed), std::string::npos);
  }
  const std::string engines = write("engines.csv", "device\nH200,fa3,2,512,8,2,128,0\n");
  EXPECT_NE(message([&] { read_engines(engines, "H200"); }).find("'0' is no time"), std::string::npos);
}

TEST(Integers, AreTheWholeText) {
  EXPECT_EQ(integer_in("--seed", "4294967295", 0, 0xffffffff), 4294967295);
  for (const char* text : {"", "1x", " 1", "1.5", "-1", "4294967296", "99999999999999999999"}) {
    EXPECT_EQ(message([&] { integer_in("--seed", text, 0, 0xffffffff); }),
              std::string("--seed: '") + text + "'; allowed: an integer from 0 to 4294967295");
  }
}

TEST_F(Files, PartsOfADeviceAreThoseOfItsName) {
  const std::string line =
      R"({"format": 1, "executor": "cuda", "schedule": "fa2", "workload": "w", "kernel": "k", "seconds": 1e-6, "machine": )";
  EXPECT_NE(own_times(write("records.jsonl", line + "\"h200 (sms=64)\"}\n")).find("fa2,w,64,1.0000,k"),
            std::string::npos);
  const std::string bad = write("bad.jsonl", line + "\"h200 (sms=many)\"}\n");
  EXPECT_NE(message([&] { own_times(bad); }).find("'many'"), std::string::npos);
}

}  // namespace
}  // namespace splitwave::accuracy
