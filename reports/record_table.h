// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "reports/record.h"

namespace splitwave::reports {

/// Records as an aligned table for a terminal, with the points that cannot run and their reasons below it.
std::string record_table(std::span<const reports::Record> records);

}  // namespace splitwave::reports
