// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "cpu_reference/diagnosis.h"
#include "cpu_reference/kernel_call.h"
#include "cpu_reference/oracle_bounds.h"
#include "cpu_reference/verify_rows.h"

namespace splitwave::cpu_reference {

/// Faults that explain the errors of the rows whose error is larger than roundings are expected to leave, best first;
/// none if nothing explains them. Each is tried as a reference of its own: the output that a kernel with that fault
/// would give is computed for a few rows and set against what is there.
std::vector<Finding> diagnose(const JudgedCall& call, const BoundedResult& bounded,
                              const std::vector<RowFigures>& rows);

}  // namespace splitwave::cpu_reference
