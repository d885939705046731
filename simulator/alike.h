// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "schedules/plan.h"
#include "simulator/work.h"

namespace splitwave::simulator {

/// Whether two lists of the plan hold the same sequence of (tokens, cost).
bool alike(const schedules::Plan& plan, const Work& work, std::int32_t a, std::int32_t b);

/// Numbers the first `count` lists so that two of them have the same number exactly if they are alike.
void number_alike(const schedules::Plan& plan, const Work& work, std::int32_t count,
                  std::vector<std::int32_t>& kind_of_list);

/// Groups rows of `width` kinds (-1: nothing) that are equal. Returns for each row the number of its group, groups
/// numbered by first appearance.
void group_alike(const std::vector<std::int32_t>& rows, std::int32_t width, std::vector<std::int32_t>& group_of_row);

}  // namespace splitwave::simulator
