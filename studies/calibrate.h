// SPDX-License-Identifier: Apache-2.0
// What microbenchmarks say of this computer's CPU or CUDA device, as a machine file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "studies/machine_file.h"

namespace splitwave::studies {

/// One measured point behind the constants; 0 where a column has no meaning.
struct CalibrationPoint {
  std::string benchmark;
  std::int32_t ctas = 0;  ///< threads on a CPU
  std::int64_t bytes_in_flight = 0;
  std::int64_t footprint_bytes = 0;
  double value = 0;  ///< a median
  std::string unit;
  double p20 = 0;
  double p80 = 0;
  std::int64_t samples = 0;
};

struct Calibration {
  std::string machine_name;
  std::vector<FileConstant> constants;   ///< what was measured
  std::vector<CalibrationPoint> points;  ///< from which
  std::string file;                      ///< the machine file
  std::string kernel_file;               ///< of the project's own kernels; empty if they were not measured
  std::string note;                      ///< what could not be measured, and why; empty if nothing
};

/// The points as CSV.
std::string points_csv(const std::vector<CalibrationPoint>& points);

/// Reads points_csv(). Throws InputError naming the file, and the line with what is allowed.
std::vector<CalibrationPoint> read_points(const std::string& path);

/// What was measured as a table for people, beside the same constants of the machine file `known` (its text; may be
/// empty).
std::string calibration_table(const Calibration& calibration, const std::string& known);

/// "2026-11-22", today in UTC.
std::string today();

/// This CPU, with so many threads: what cpu_reference::measure_cpu measures, in a file of the same form with keys of
/// its own. Not a machine that simulate() takes: `--gpu cpu` measures the same by itself.
Calibration calibrate_cpu(std::int32_t threads);

}  // namespace splitwave::studies
