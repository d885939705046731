// SPDX-License-Identifier: Apache-2.0
// What each mechanism of the model is worth on the project's own kernels.
#pragma once

#include <span>
#include <string>

#include "benchmarks/accuracy/points.h"
#include "studies/target.h"

namespace splitwave::accuracy {

/// Errors on the same times with one mechanism of the target's kernels or machine taken out at a time. Markdown.
std::string ablation_table(std::span<const Point> points, const studies::Target& target);

/// The same of others' kernels, with what they alone have taken out.
std::string peers_ablation_table(std::span<const Point> points, const studies::Target& target);

}  // namespace splitwave::accuracy
