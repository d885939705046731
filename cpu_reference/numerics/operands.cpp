// SPDX-License-Identifier: Apache-2.0
#include "cpu_reference/numerics/operands.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/error.h"
#include "cpu_reference/rounding.h"
#include "workloads/tensor_values.h"

namespace splitwave::cpu_reference::numerics {
namespace {

/// Seed of the signs of the random matrix: any will do, and the same one makes runs alike.
constexpr std::uint64_t kSignSeed = 20240711;
constexpr std::int32_t kBlockTokens = 128;  ///< tokens looked at in one go

double largest(const Rows& rows) {
  double result = 0;
  for (const double value : rows.values) result = std::max(result, std::abs(value));
  return result;
}

}  // namespace

Operands::Operands(const AttentionCase& attention, const Rounding& rounding)
    : attention_(attention), rounding_(rounding) {
  const auto dim = static_cast<std::uint32_t>(attention.geometry.head_dim);
  if (rounding.incoherent) {
    if (!std::has_single_bit(dim)) {
      throw base::InputError(
          fmt::format("head_dim {}: incoherent processing multiplies with a Hadamard matrix; allowed: powers of two "
                      "(or a rounding without it)",
                      dim));
    }
    for (std::uint32_t i = 0; i < dim; ++i) signs_.push_back((workloads::mix(kSignSeed + i) & 1U) == 0 ? 1 : -1);
  }
  const double roundoff = unit_roundoff(rounding.operands);
  roundoff_ = roundoff > cpu_reference::unit_roundoff(attention.k.type) ? roundoff : 0;
  if (rounding.scaling != Scaling::tensor) return;
  for (const Operand operand : {Operand::q, Operand::k, Operand::v}) {
    maxima_[static_cast<int>(operand)] = tensor_maximum(operand);
  }
}

void Operands::load(const Elements& from, std::int64_t first, std::span<double> to) const {
  load_elements(from, first, static_cast<std::int32_t>(to.size()), to.data());
}

/// The fast Walsh-Hadamard transform of the row times the signs, orthonormal.
void Operands::rotate(std::span<double> row) const {
  for (std::size_t i = 0; i < row.size(); ++i) row[i] *= signs_[i];
  for (std::size_t half = 1; half < row.size(); half *= 2) {
    for (std::size_t begin = 0; begin < row.size(); begin += 2 * half) {
      for (std::size_t i = begin; i < begin + half; ++i) {
        const double a = row[i];
        const double b = row[i + half];
        row[i] = a + b;
        row[i + half] = a - b;
      }
    }
  }
  const double scale = 1 / std::sqrt(static_cast<double>(row.size()));
  for (double& value : row) value *= scale;
}

Rows Operands::queries(std::int32_t request, std::int32_t head_begin, std::int32_t head_count, std::int32_t row_begin,
                       std::int32_t row_end) const {
  Rows rows;
  rows.count = row_end - row_begin;
  rows.dim = attention_.geometry.head_dim;
  rows.values.resize(static_cast<std::size_t>(rows.count) * rows.dim);
  for (std::int32_t i = 0; i < rows.count; ++i) {
    const std::int32_t row = row_begin + i;
    const std::span<double> to = rows.row(i);
    load(attention_.q, attention_.q_rows.at(request, row / head_count, head_begin + row % head_count), to);
    if (attention_.geometry.scale() < 0) std::transform(to.begin(), to.end(), to.begin(), std::negate<>());
    if (rounding_.incoherent) rotate(to);
  }
  return rows;
}

Rows Operands::tokens(Operand operand, std::int32_t request, std::int32_t kv_head, workloads::KvRange range) const {
  const bool of_k = operand == Operand::k;
  Rows rows;
  rows.count = range.size();
  rows.dim = of_k ? attention_.geometry.head_dim : attention_.geometry.value_dim;
  rows.values.resize(static_cast<std::size_t>(rows.count) * rows.dim);
  for (std::int32_t i = 0; i < rows.count; ++i) {
    const KvPlaces& places = of_k ? attention_.k_rows : attention_.v_rows;
    load(of_k ? attention_.k : attention_.v, kv_offset(attention_, places, request, range.begin + i, kv_head),
         rows.row(i));
    if (of_k && rounding_.incoherent) rotate(rows.row(i));
  }
  return rows;
}

double Operands::tensor_maximum(Operand operand) const {
  const workloads::Geometry& g = attention_.geometry;
  double result = 0;
  for (std::int32_t r = 0; r < static_cast<std::int32_t>(attention_.requests.size()); ++r) {
    const workloads::Request& request = attention_.requests[static_cast<std::size_t>(r)];
    if (operand == Operand::q) {
      result = std::max(result, largest(queries(r, 0, g.query_heads, 0, g.query_heads * request.query_len)));
      continue;
    }
    for (std::int32_t head = 0; head < g.kv_heads; ++head) {
      for (std::int32_t begin = 0; begin < request.context_len; begin += kBlockTokens) {
        const std::int32_t end = std::min(begin + kBlockTokens, request.context_len);
        result = std::max(result, largest(tokens(operand, r, head, {begin, end})));
      }
    }
  }
  return result;
}

void Operands::round(Operand operand, Rows& rows) const {
  if (roundoff_ == 0) return;
  const double maximum = rounding_.scaling == Scaling::block ? largest(rows) : maxima_[static_cast<int>(operand)];
  if (maximum == 0) return;
  const double factor = rounding_.scaling == Scaling::none ? 1 : maximum / kLargestE4m3;
  for (double& value : rows.values) value = factor * round_to(rounding_.operands, value / factor);
}

}  // namespace splitwave::cpu_reference::numerics
