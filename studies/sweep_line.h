// SPDX-License-Identifier: Apache-2.0
// One line of a sweep's output: a record (reports/record.h) and the axis values, written without a JSON document in
// between, because a sweep writes hundreds of thousands of them a second.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "schedules/plan.h"
#include "studies/predict.h"

namespace splitwave::studies {

/// `text` as a JSON string with its quotes; bytes that are not UTF-8 become U+FFFD.
std::string json_string(std::string_view text);

/// Appends the shortest decimal form of `number` that reads back to the same bits; it must be finite.
void append_number(std::string& line, double number);

/// The parts of a line that are the same for many points, as JSON text.
struct LineNames {
  std::string_view workload;  ///< quoted
  std::string_view schedule;  ///< quoted
  std::string_view machine;   ///< quoted
  std::string_view tail;      ///< "commit": ..., "version": ...
  std::string_view axes;      ///< the object of axis values
};

/// Appends the line of a point that has a time, with its newline. bytes: minimal bytes of the workload; by_auto: the
/// plan's schedule was chosen.
void append_result(std::string& out, const LineNames& names, std::int64_t bytes, const schedules::Plan& plan,
                   const Simulated& simulated, bool by_auto);

/// Appends the line of a point that cannot run, with its newline.
void append_failure(std::string& out, const LineNames& names, std::string_view reason);

}  // namespace splitwave::studies
