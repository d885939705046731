// SPDX-License-Identifier: Apache-2.0
// Any plan with the roundings of a real kernel, on the CPU (docs/numerics.md).
#pragma once

#include "cpu_reference/numerics/schemes.h"
#include "cpu_reference/oracle.h"
#include "schedules/plan.h"
#include "workloads/tensors.h"
#include "workloads/workload.h"

namespace splitwave::cpu_reference::numerics {

/// The result of a valid plan if every item runs with these roundings: its tiles of plan.tile_kv tokens in the
/// rounding's order, each a step of the online softmax, and the partial results of a split output merged in order of
/// slots. LSE: natural. NaN and Inf follow IEEE arithmetic. Uses all OpenMP threads; the result does not depend on
/// their number. Slow: it is for error figures and not for speed. Throws InputError if the rounding cannot serve the
/// geometry (incoherent processing wants a power of two as head_dim), and base::Stopped where it was asked to stop.
Result<double> emulate(const workloads::Workload& workload, const workloads::Tensors& tensors,
                       const schedules::Plan& plan, const Rounding& rounding);

}  // namespace splitwave::cpu_reference::numerics
