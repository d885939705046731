// SPDX-License-Identifier: Apache-2.0
#include "cpu_reference/bitwise.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <stdexcept>

namespace splitwave::cpu_reference {
namespace {

/// Counts the places with other bits; `found` hears of each.
template <typename Found>
void compare_bits(std::span<const float> one, std::span<const float> other, Found found) {
  if (one.empty() || std::memcmp(one.data(), other.data(), one.size_bytes()) == 0) return;
  for (std::size_t i = 0; i < one.size(); ++i) {
    if (std::bit_cast<std::uint32_t>(one[i]) != std::bit_cast<std::uint32_t>(other[i])) found(i);
  }
}

}  // namespace

ResultRows all_rows(const Result<float>& result) {
  return {result.output, result.lse};
}

ResultRows rows_of_request(const workloads::Workload& workload, const Result<float>& result, std::int32_t request) {
  std::size_t first = 0;
  const auto heads = static_cast<std::size_t>(workload.geometry.query_heads);
  const auto dim = static_cast<std::size_t>(workload.geometry.value_dim);
  for (std::int32_t r = 0; r < request; ++r) {
    first += static_cast<std::size_t>(workload.requests[static_cast<std::size_t>(r)].query_len) * heads;
  }
  const std::size_t rows =
      static_cast<std::size_t>(workload.requests[static_cast<std::size_t>(request)].query_len) * heads;
  if (first + rows > result.lse.size() || (first + rows) * dim > result.output.size()) {
    throw std::logic_error("rows_of_request: the result is not of this workload");
  }
  return {std::span(result.output).subspan(first * dim, rows * dim), std::span(result.lse).subspan(first, rows)};
}

std::optional<BitDifference> bit_difference(const ResultRows& one, const ResultRows& other) {
  if (one.output.size() != other.output.size() || one.lse.size() != other.lse.size()) {
    throw std::logic_error("bit_difference: results of different shapes");
  }
  if (one.lse.empty()) return std::nullopt;
  const std::size_t dim = one.output.size() / one.lse.size();
  BitDifference result;
  compare_bits(one.output, other.output, [&](std::size_t i) {
    if (result.count++ > 0) return;
    result.row = static_cast<std::int64_t>(i / dim);
    result.element = static_cast<std::int32_t>(i % dim);
    result.one = one.output[i];
    result.other = other.output[i];
  });
  compare_bits(one.lse, other.lse, [&](std::size_t i) {
    if (result.count++ > 0 && result.row <= static_cast<std::int64_t>(i)) return;
    result.in_lse = true;
    result.row = static_cast<std::int64_t>(i);
    result.element = 0;
    result.one = one.lse[i];
    result.other = other.lse[i];
  });
  if (result.count == 0) return std::nullopt;
  return result;
}

Coordinates coordinates(const workloads::Workload& workload, std::int32_t request, const BitDifference& difference) {
  const std::int32_t heads = workload.geometry.query_heads;
  std::int64_t query = difference.row / heads;
  while (query >= workload.requests.at(static_cast<std::size_t>(request)).query_len) {
    query -= workload.requests[static_cast<std::size_t>(request)].query_len;
    ++request;
  }
  Coordinates at;
  at.request = request;
  at.query = static_cast<std::int32_t>(query);
  at.head = static_cast<std::int32_t>(difference.row % heads);
  at.element = difference.element;
  return at;
}

std::string to_string(const BitDifference& difference, const Coordinates& at) {
  const std::string element = difference.in_lse ? "" : fmt::format(", element {}", at.element);
  return fmt::format("{} of request {}, query {}, head {}{}: {} (0x{:08x}) and {} (0x{:08x})",
                     difference.in_lse ? "LSE" : "output", at.request, at.query, at.head, element, difference.one,
                     std::bit_cast<std::uint32_t>(difference.one), difference.other,
                     std::bit_cast<std::uint32_t>(difference.other));
}

}  // namespace splitwave::cpu_reference
