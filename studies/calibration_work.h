// SPDX-License-Identifier: Apache-2.0
// What the parts of a calibration share. Private to studies_cuda.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gpu/device.h"
#include "gpu/measure.h"
#include "gpu/microbenchmarks/bandwidth.h"
#include "simulator/machine.h"
#include "studies/calibrate.h"

namespace splitwave::studies {

/// The machine so far and what is written of it.
struct CalibrationWork {
  gpu::Device device;
  simulator::Machine machine;
  double ring_latency = 0;  ///< seconds; of a lone CTA that reads memory with the smallest window
  std::string source;       ///< begins each constant's
  Calibration result;

  void add(const char* key, double value, const char* unit, const std::string& how,
           const char* confidence = "measured") {
    result.constants.push_back({key, {value}, false, unit, source + ": " + how, confidence});
  }
  void add_list(const char* key, const std::vector<std::int32_t>& values, const char* unit, const std::string& how) {
    result.constants.push_back({key, {values.begin(), values.end()}, true, unit, source + ": " + how, "measured"});
  }
  void point(const char* benchmark, const gpu::Timing& timing, std::int32_t ctas) {
    result.points.push_back(
        {benchmark, ctas, 0, 0, timing.median * 1e9, "ns", timing.p20 * 1e9, timing.p80 * 1e9, timing.samples});
  }
  void point(const char* benchmark, std::int32_t ctas, double value, const char* unit) {
    result.points.push_back({benchmark, ctas, 0, 0, value, unit, value, value, 1});
  }
  void points(const char* benchmark, const std::vector<gpu::ReadPoint>& read) {
    for (const gpu::ReadPoint& one : read) {
      result.points.push_back({benchmark, one.ctas, one.bytes_in_flight, 0, one.rate.median / 1e9, "GB/s",
                               one.rate.p20 / 1e9, one.rate.p80 / 1e9, one.rate.samples});
    }
  }
};

}  // namespace splitwave::studies
