// SPDX-License-Identifier: Apache-2.0
// Batches made from a few numbers. Every function is deterministic in its arguments.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/workload.h"

namespace splitwave::workloads {

/// `batch` requests of the same length.
std::vector<Request> generate_uniform(std::int32_t batch, std::int32_t query_len, std::int32_t context_len);

/// A batch whose ratio of average to longest context is `ratio` (LeanAttention, arXiv 2405.10480, appendix A). One
/// request has max_context_len; the others are drawn between 1 and it, then stretched so that the average is
/// ratio * max_context_len, to within the rounding to tokens. At ratio 1 all are equal; the least ratio is that of all
/// others being 1. Throws InputError if the ratio cannot be reached.
std::vector<Request> generate_ragged(std::int32_t batch, std::int32_t query_len, std::int32_t max_context_len,
                                     double ratio, std::uint64_t seed);

/// Lengths in proportion to 1 / rank^exponent in a shuffled order, every one at least 1, with the given mean to within
/// the rounding to tokens. FlashInfer's skewed batch has 16 requests and a mean of 1024 (arXiv 2501.01005, section 4).
std::vector<Request> generate_zipf(std::int32_t batch, std::int32_t query_len, std::int32_t mean_context_len,
                                   double exponent, std::uint64_t seed);

/// One long request at a seeded place among `batch` - 1 short ones.
std::vector<Request> generate_one_long(std::int32_t batch, std::int32_t query_len, std::int32_t long_context_len,
                                       std::int32_t short_context_len, std::uint64_t seed);

/// Published length distributions (lengths.json), by name: quantiles of prompt and output lengths in tokens.
struct LengthDistribution {
  std::string name;
  std::string source;
  std::vector<double> probabilities;
  std::vector<std::int32_t> prompt_tokens;
  std::vector<std::int32_t> output_tokens;
};
const std::vector<LengthDistribution>& length_distributions();

/// A decode batch as a server would hold it: prompt and output length are drawn from the distribution, independently
/// and linear between its quantiles, and the request has made a uniform share of its output. Contexts beyond
/// `max_context_len` are cut to it, and none is shorter than `query_len`. Throws InputError with the nearest names if
/// there is no such distribution, and if `max_context_len` is less than `query_len`.
std::vector<Request> generate_published(std::int32_t batch, std::int32_t query_len, std::string_view distribution,
                                        std::optional<std::int32_t> max_context_len, std::uint64_t seed);

}  // namespace splitwave::workloads
