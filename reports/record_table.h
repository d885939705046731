// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "reports/record.h"

namespace splitwave::reports {

/// Records as an aligned table for a terminal, with the points that cannot run and their reasons below it.
std::string record_table(std::span<const reports::Record> records);

/// Records of the papers' algorithms (those with `io`) as an aligned table: what each moves beside the least that any
/// must, by what it is, its time and its error.
std::string algorithm_table(std::span<const reports::Record> records);

/// Records of emulated roundings as an aligned table: error, beside the one that theory expects; below it the points
/// that cannot run.
std::string rounding_table(std::span<const reports::Record> records);

}  // namespace splitwave::reports
