// SPDX-License-Identifier: Apache-2.0
// What a machine without a GPU cannot measure: the suite `real` on an H200, as checked in
// (docs/reports/h200/report.md).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "reports/record.h"

namespace splitwave::studies {

/// Times of splitwave's CUDA kernels on the suite, with the simulator's predictions of the same commit for them.
struct MeasuredH200 {
  std::string origin;  ///< "NVIDIA H200, driver 580.159.04, 2026-11-22, commit e7cebb6e3a5e"
  /// Of each point a record of the executor simulator and one of cuda, machine h200.
  std::vector<reports::Record> records;
};

/// The suite that was measured.
inline constexpr std::string_view kMeasuredSuite = "real";

/// The points that the binary carries (studies/h200_points.csv).
MeasuredH200 measured_h200();

/// The same from the text of such a file. Throws std::logic_error if it is none.
MeasuredH200 parse_measured_h200(std::string_view text);

/// For a terminal: origin, one row per schedule (points, median error, speed-ups over the baseline), and the agreement.
std::string h200_summary(const MeasuredH200& measured, const std::string& baseline);

/// For a report: a section with the same and one row per point.
std::string h200_section(const MeasuredH200& measured, const std::string& baseline);

}  // namespace splitwave::studies
