// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "reports/record.h"

namespace splitwave::reports {

/// The records as CSV (RFC 4180), one column per key of docs/records.md, breakdown and error flattened
/// ("breakdown.launch"). What is absent is an empty cell.
std::string to_csv(std::span<const Record> records);

}  // namespace splitwave::reports
