// SPDX-License-Identifier: Apache-2.0
// Q, K and V as a kernel's matrix instructions get them. Inside the folder only.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cpu_reference/attention_case.h"
#include "cpu_reference/numerics/schemes.h"

namespace splitwave::cpu_reference::numerics {

/// Which of the three.
enum class Operand { q, k, v };

/// Rows of one operand, [row][dim], as they were before the kernel rounded them.
struct Rows {
  std::int32_t count = 0;
  std::int32_t dim = 0;
  std::vector<double> values;
  std::span<double> row(std::int32_t index) { return {values.data() + std::int64_t{index} * dim, std::size_t(dim)}; }
  std::span<const double> row(std::int32_t index) const {
    return {values.data() + std::int64_t{index} * dim, std::size_t(dim)};
  }
};

class Operands {
 public:
  /// The case must outlive this. Reads every element once where factors are per tensor. Throws InputError if incoherent
  /// processing is asked for and head_dim is no power of two.
  Operands(const AttentionCase& attention, const Rounding& rounding);

  /// Query rows [begin, end) of an output tile of `head_count` heads from head_begin on, in the plan's order of rows;
  /// multiplied with the random matrix where there is one, and with the sign of the softmax scale.
  Rows queries(std::int32_t request, std::int32_t head_begin, std::int32_t head_count, std::int32_t row_begin,
               std::int32_t row_end) const;

  /// Tokens of one KV head.
  Rows tokens(Operand operand, std::int32_t request, std::int32_t kv_head, workloads::KvRange range) const;

  /// Unit roundoff of round(): 0 where the tensors are stored in the operands' precision or a coarser one.
  double roundoff() const { return roundoff_; }

  /// Rounds as the kernel does, by the operand's factor, or by that of these rows where it is per block.
  void round(Operand operand, Rows& rows) const;

 private:
  void load(const Elements& from, std::int64_t first, std::span<double> to) const;
  void rotate(std::span<double> row) const;
  double tensor_maximum(Operand operand) const;

  const AttentionCase& attention_;
  Rounding rounding_;
  double roundoff_ = 0;
  std::vector<double> signs_;     ///< of the random matrix
  double maxima_[3] = {1, 1, 1};  ///< per operand: largest magnitude in the whole tensor
};

}  // namespace splitwave::cpu_reference::numerics
