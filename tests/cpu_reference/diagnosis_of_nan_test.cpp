// SPDX-License-Identifier: Apache-2.0
// Diagnoses where pages or tails bring in NaN, which says little of where it came from.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "base/array.h"
#include "cpu_reference/oracle.h"
#include "cpu_reference/verify.h"
#include "tests/support/tensors.h"

namespace splitwave::cpu_reference {
namespace {

using workloads::Dtype;
using workloads::KvLayout;
using workloads::Tensors;

/// A paged batch of these contexts, in pages of 64 with NaN in unused slots, and what a kernel gave for it.
Verification judge_pages(const std::vector<std::int32_t>& contexts,
                         const std::function<Result<double>(const workloads::Workload&, Tensors)>& kernel) {
  workloads::Workload w = testing::plain_workload(Dtype::f32, 4, 2, 32, 1, 1);
  w.geometry.softmax_scale.reset();
  w.kv.layout = KvLayout::paged;
  w.kv.page_size = 64;
  w.requests.clear();
  for (const std::int32_t context : contexts) w.requests.push_back({1, context});
  const Tensors tensors = workloads::make_tensors(w, std::int64_t{1} << 30);
  const Result<double> given = kernel(w, tensors);
  const std::vector<float> output(given.output.begin(), given.output.end());
  const auto rows = static_cast<std::int64_t>(contexts.size());
  return verify(w, tensors, base::c_order_view(output.data(), base::ElementType::f32, {rows, 4, 32}));
}

TEST(Diagnosis, TellsAPageWithNansFromAnUnmaskedTail) {
  // A whole page of the first request and the partial last page of the second, exchanged.
  const auto exchanged = [](const workloads::Workload& w, Tensors tensors) {
    std::swap(tensors.block_table[0], tensors.block_table[static_cast<std::size_t>(tensors.first_page[2]) - 1]);
    return attend(w, tensors);
  };
  for (const std::vector<std::int32_t>& contexts : {std::vector{128, 200}, std::vector{130, 200, 70}}) {
    const Verification result = judge_pages(contexts, exchanged);
    EXPECT_FALSE(result.passed);
    ASSERT_FALSE(result.findings.empty());
    EXPECT_EQ(result.findings.front().fault, Fault::swapped_pages) << result.findings.front().text;
  }
}

// With nothing but NaN in all requests that have unused slots, the output is that of either fault: both are named.
TEST(Diagnosis, NamesBothFaultsThatGiveNothingButNan) {
  const auto exchanged = [](const workloads::Workload& w, Tensors tensors) {
    std::swap(tensors.block_table[0], tensors.block_table[static_cast<std::size_t>(tensors.first_page[1]) - 1]);
    return attend(w, tensors);
  };
  const auto unmasked = [](const workloads::Workload& w, const Tensors& tensors) {
    Result<double> result = attend(w, tensors);
    std::fill(result.output.begin(), result.output.end(), testing::kNan);
    return result;
  };
  const Verification swapped = judge_pages({200}, exchanged);
  const Verification tail = judge_pages({200}, unmasked);
  for (const Verification* result : {&swapped, &tail}) {
    ASSERT_EQ(result->findings.size(), 2);
    EXPECT_EQ(result->findings[0].fault, Fault::unmasked_tail);
    EXPECT_EQ(result->findings[1].fault, Fault::swapped_pages);
    EXPECT_EQ(result->findings[1].text,
              "the output is NaN in request 0, and NaN does not say why: a page with unused slots, which hold NaN, is "
              "read where another belongs");
  }
  // A single page cannot be another's.
  EXPECT_EQ(judge_pages({50}, unmasked).findings.size(), 1);
}

TEST(Diagnosis, ATailThatEndsWithATileSparesItsRequest) {
  // Tiles of 16: 176 tokens are whole tiles, though not whole pages.
  const auto unmasked = [](const workloads::Workload& w, Tensors tensors) {
    Result<double> result = attend(w, tensors);
    const std::size_t per_request = result.output.size() / w.requests.size();
    for (std::size_t request = 0; request < w.requests.size(); ++request) {
      if (w.requests[request].context_len % 16 == 0) continue;
      std::fill_n(result.output.begin() + static_cast<std::ptrdiff_t>(request * per_request), per_request,
                  testing::kNan);
    }
    return result;
  };
  for (const std::vector<std::int32_t>& contexts : {std::vector{130, 200}, std::vector{130, 176, 50, 48}}) {
    const Verification result = judge_pages(contexts, unmasked);
    ASSERT_FALSE(result.findings.empty());
    EXPECT_EQ(result.findings.front().fault, Fault::unmasked_tail) << result.findings.front().text;
  }
}

}  // namespace
}  // namespace splitwave::cpu_reference
