// SPDX-License-Identifier: Apache-2.0
// The least value of a function of a few variables, without derivatives.
#pragma once

#include <functional>
#include <vector>

namespace splitwave::studies {

/// The Nelder-Mead simplex from `start` with steps of `step`, begun anew from its best point until a round gains
/// nothing: functions with edges, such as a maximum of errors, leave one simplex flat. Throws std::invalid_argument if
/// there is no variable.
std::vector<double> minimize(const std::function<double(const std::vector<double>&)>& f, std::vector<double> start,
                             double step);

}  // namespace splitwave::studies
