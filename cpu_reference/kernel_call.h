// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "cpu_reference/attention_case.h"
#include "cpu_reference/verify.h"

namespace splitwave::cpu_reference {

/// A checked call: what is to be computed, and where what the kernel gave lies.
struct JudgedCall {
  AttentionCase attention;
  Elements output;
  RowPlaces output_rows;
  std::optional<Elements> lse;
  RowPlaces lse_rows;
  bool lse_base_two = false;
  bool empty_lse_positive = false;

  double output_at(std::int32_t request, std::int32_t query, std::int32_t head, std::int32_t element) const {
    return element_at(output, output_rows.at(request, query, head) + element);
  }
  /// The natural LSE that was given. Only if there is one.
  double lse_at(std::int32_t request, std::int32_t query, std::int32_t head) const;
};

/// Throws InputError naming the array whose shape, type or content does not fit, and what is allowed.
JudgedCall check_call(const KernelCall& call);

/// The same for a workload's own tensors.
JudgedCall check_call(const workloads::Workload& workload, const workloads::Tensors& tensors,
                      const base::ArrayView& output, const std::optional<base::ArrayView>& lse, bool lse_base_two);

}  // namespace splitwave::cpu_reference
