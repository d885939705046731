// SPDX-License-Identifier: Apache-2.0
// Whether two results are the same to the bit, and where they are not.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "cpu_reference/oracle.h"
#include "cpu_reference/verify.h"
#include "workloads/workload.h"

namespace splitwave::cpu_reference {

/// Consecutive rows of a result: their outputs, and one LSE each.
struct ResultRows {
  std::span<const float> output;  ///< [row][value_dim]
  std::span<const float> lse;     ///< [row]
};

/// All rows of a result.
ResultRows all_rows(const Result<float>& result);

/// The rows of one request. Throws std::logic_error if the result is not of this workload.
ResultRows rows_of_request(const workloads::Workload& workload, const Result<float>& result, std::int32_t request);

/// How two results of the same rows differ: how often, and where first (the LSE of a row comes after its output).
struct BitDifference {
  std::int64_t count = 0;    ///< output elements and LSEs with other bits
  bool in_lse = false;       ///< the first is an LSE
  std::int64_t row = 0;      ///< of the first, among the rows given
  std::int32_t element = 0;  ///< of the first, in its output row
  float one = 0;             ///< what stands there
  float other = 0;
};

/// Nothing if the rows have the same bits: 0 and -0 differ, and a NaN is equal to one of the same bits only. Throws
/// std::logic_error if the shapes differ.
std::optional<BitDifference> bit_difference(const ResultRows& one, const ResultRows& other);

/// Where that is, of rows that begin with request `request`'s first.
Coordinates coordinates(const workloads::Workload& workload, std::int32_t request, const BitDifference& difference);

/// "output of request 0, query 0, head 3, element 17: 0.25 (0x3e800000) and 0.25000003 (0x3e800001)"
std::string to_string(const BitDifference& difference, const Coordinates& at);

}  // namespace splitwave::cpu_reference
