// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "studies/batch_invariance.h"

namespace splitwave::studies {

/// The answers as a table for people, with an example below it of each schedule that is not invariant, and why others
/// have no answer.
std::string invariance_text(std::span<const BatchInvariance> answers);

/// One answer as a line of JSON (docs/determinism.md), without its newline.
std::string invariance_json(const BatchInvariance& answer);

}  // namespace splitwave::studies
