// SPDX-License-Identifier: Apache-2.0
#include "workloads/generate.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/workloads/refused.h"
#include "workloads/random.h"

namespace splitwave::workloads {
namespace {

double mean(const std::vector<Request>& requests) {
  double sum = 0;
  for (const Request& r : requests) sum += r.context_len;
  return sum / static_cast<double>(requests.size());
}

std::int32_t longest(const std::vector<Request>& requests) {
  std::int32_t most = 0;
  for (const Request& r : requests) most = std::max(most, r.context_len);
  return most;
}

std::int32_t shortest(const std::vector<Request>& requests) {
  std::int32_t least = requests.front().context_len;
  for (const Request& r : requests) least = std::min(least, r.context_len);
  return least;
}

TEST(Generate, Uniform) {
  EXPECT_EQ(generate_uniform(3, 2, 77), std::vector<Request>(3, {2, 77}));
}

TEST(Generate, OneLong) {
  const std::vector<Request> requests = generate_one_long(100, 1, 50'000, 10, 4);
  EXPECT_EQ(std::count(requests.begin(), requests.end(), Request{1, 50'000}), 1);
  EXPECT_EQ(std::count(requests.begin(), requests.end(), Request{1, 10}), 99);
  EXPECT_EQ(generate_one_long(1, 1, 7, 3, 0), (std::vector<Request>{{1, 7}}));
}

RC_GTEST_PROP(GenerateRagged, HasItsLongestAndItsRatio, ()) {
  const auto batch = *rc::gen::inRange(1, 200);
  const auto most = *rc::gen::inRange(1, 200'000);
  const double least = ((most - 1.0) / batch + 1) / most;
  const double ratio = least + (1 - least) * *rc::gen::inRange(0, 101) / 100;
  const std::vector<Request> requests = generate_ragged(batch, 1, most, ratio, *rc::gen::arbitrary<std::uint64_t>());
  RC_ASSERT(requests.size() == static_cast<std::size_t>(batch));
  RC_ASSERT(longest(requests) == most);
  RC_ASSERT(shortest(requests) >= 1);
  RC_ASSERT(std::abs(mean(requests) - ratio * most) <= 1.0 / batch + 1e-4 * most);
}

TEST(GenerateRagged, RatiosOutOfReachAreRefused) {
  tests::expect_refused([] { generate_ragged(4, 1, 1000, 0.2, 0); }, {"ratio is 0.2", "0.25075"});
  tests::expect_refused([] { generate_ragged(4, 1, 1000, 1.01, 0); }, {"ratio is 1.01"});
  tests::expect_refused([] { generate_ragged(1, 1, 1000, 0.5, 0); }, {"ratio is 0.5"});
  tests::expect_refused([] { generate_ragged(4, 1, 1000, std::nan(""), 0); }, {"ratio is nan"});
}

RC_GTEST_PROP(GenerateZipf, HasItsMeanAndItsShape, ()) {
  const auto batch = *rc::gen::inRange(1, 300);
  const auto average = *rc::gen::inRange(1, 20'000);
  std::vector<Request> requests = generate_zipf(batch, 1, average, 1, *rc::gen::arbitrary<std::uint64_t>());
  RC_ASSERT(std::abs(mean(requests) - average) <= 1.0 / batch);
  std::sort(requests.begin(), requests.end(),
            [](const Request& a, const Request& b) { return a.context_len > b.context_len; });
  RC_ASSERT(requests.back().context_len >= 1);
  for (std::size_t rank = 1; rank <= requests.size(); ++rank) {
    const double share = (requests.front().context_len - 1.0) / static_cast<double>(rank);
    RC_ASSERT(std::abs(requests[rank - 1].context_len - 1 - share) <= 2.0);
  }
}

TEST(GeneratePublished, DrawsHaveThePublishedMeans) {
  // Means of the files: prompts 2047.8, 1154.7 and 12035; outputs 27.9, 211.1 and 343, of which half is made.
  const std::pair<const char*, double> expected[] = {
      {"azure-2023-code", 2047.8 + 14}, {"azure-2023-conv", 1154.7 + 106}, {"mooncake-conversation", 12035 + 172}};
  for (const auto& [name, average] : expected) {
    const std::vector<Request> requests = generate_published(20'000, 1, name, {}, 5);
    EXPECT_NEAR(mean(requests) / average, 1, 0.06) << name;  // 2 % of sampling, the rest by the few quantiles
    EXPECT_GE(shortest(requests), 2);
  }
}

TEST(GeneratePublished, MediansAndLimits) {
  std::vector<std::int32_t> contexts;
  for (const Request& r : generate_published(20'001, 1, "azure-2023-conv", 2000, 6)) contexts.push_back(r.context_len);
  std::sort(contexts.begin(), contexts.end());
  EXPECT_NEAR(contexts[10'000], 1100, 60);  // median prompt 1020, plus what is made
  EXPECT_EQ(contexts.back(), 2000);
  for (const Request& r : generate_published(1000, 9, "azure-2023-conv", {}, 6)) EXPECT_GE(r.context_len, 9);
  for (const Request& r : generate_published(1000, 9, "azure-2023-conv", 9, 6)) EXPECT_EQ(r.context_len, 9);
  tests::expect_refused([] { generate_published(1, 1, "azure", {}, 0); }, {"azure", "azure-2023-code"});
  tests::expect_refused([] { generate_published(1, 64, "azure-2023-conv", 4, 0); },
                        {"max_context_len is 4", "at least query_len (64)"});
}

TEST(Generate, TheSeedDecides) {
  EXPECT_EQ(generate_published(50, 1, "azure-2023-code", {}, 1), generate_published(50, 1, "azure-2023-code", {}, 1));
  EXPECT_NE(generate_published(50, 1, "azure-2023-code", {}, 1), generate_published(50, 1, "azure-2023-code", {}, 2));
  EXPECT_NE(generate_zipf(50, 1, 100, 1, 1), generate_zipf(50, 1, 100, 1, 2));
  EXPECT_NE(generate_ragged(50, 1, 100, 0.5, 1), generate_ragged(50, 1, 100, 0.5, 2));
}

TEST(RandomStream, BoundsAndMean) {
  RandomStream random(3, 4);
  double sum = 0;
  for (int i = 0; i < 10'000; ++i) {
    const double u = random.unit();
    ASSERT_GE(u, 0);
    ASSERT_LT(u, 1);
    ASSERT_LT(random.below(7), 7U);
    sum += u;
  }
  EXPECT_NEAR(sum / 10'000, 0.5, 4 * std::sqrt(1.0 / 12 / 10'000));
  EXPECT_NE(RandomStream(3, 4).next(), RandomStream(3, 5).next());
}

}  // namespace
}  // namespace splitwave::workloads
