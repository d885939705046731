// SPDX-License-Identifier: Apache-2.0
#include "studies/calibrate_power.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "gpu/device.h"
#include "gpu/nvml.h"
#include "studies/energy_fit.h"

namespace splitwave::studies {
namespace {

void add(Calibration& result, const char* key, double value, const char* unit, std::string source,
         const char* confidence) {
  result.constants.push_back({key, {value}, false, unit, std::move(source), confidence});
}

void add_point(Calibration& result, const gpu::LoadPoint& load, const char* what, double value, const char* unit) {
  result.points.push_back(
      {fmt::format("load_{}_{}", load.work, what), load.ctas, load.bytes_in_flight, 0, value, unit, value, value, 1});
}

/// The last of its kind: on all SMs, with the largest window.
const gpu::LoadPoint& fastest(const std::vector<gpu::LoadPoint>& loads, const char* work) {
  return *std::find_if(loads.rbegin(), loads.rend(), [&](const gpu::LoadPoint& one) { return one.work == work; });
}

std::string watts(const gpu::LoadPoint& load) {
  return load.watts ? fmt::format(" ({:.0f} W)", *load.watts) : "";
}

}  // namespace

std::vector<gpu::LoadPoint> calibrate_loads(Calibration& result) {
  const auto point = [&](const gpu::LoadPoint& load, const char* what, double value, const char* unit) {
    add_point(result, load, what, value, unit);
  };
  const gpu::DeviceState state = gpu::device_state();
  if (state.power_limit_watts) {
    result.points.push_back(
        {"power_limit", 0, 0, 0, *state.power_limit_watts, "W", *state.power_limit_watts, *state.power_limit_watts, 1});
  }
  std::vector<gpu::LoadPoint> loads = gpu::measure_loads();
  for (const gpu::LoadPoint& load : loads) {
    if (load.watts) point(load, "power", *load.watts, "W");
    if (load.sm_clock_mhz) point(load, "clock", *load.sm_clock_mhz, "MHz");
    if (load.dram_bytes_per_second > 0) point(load, "dram", load.dram_bytes_per_second / 1e9, "GB/s");
    if (load.l2_bytes_per_second > 0) point(load, "l2", load.l2_bytes_per_second / 1e9, "GB/s");
    if (load.shared_bytes_per_second > 0) point(load, "shared", load.shared_bytes_per_second / 1e9, "GB/s");
    if (load.flops > 0) point(load, "mma", load.flops / 1e12, "TFLOP/s");
  }
  return loads;
}

void add_clocks(const std::vector<gpu::LoadPoint>& loads, const std::string& source, Calibration& result) {
  const gpu::LoadPoint& reading = fastest(loads, "ring");
  const gpu::LoadPoint& multiplying = fastest(loads, "multiply");
  if (!reading.sm_clock_mhz || !multiplying.sm_clock_mhz) return;  // nobody says what the clock is
  add(result, "clock", *reading.sm_clock_mhz, "MHz",
      fmt::format("{}: the driver while all SMs read memory{}; while all multiply {:.0f} MHz{}", source, watts(reading),
                  *multiplying.sm_clock_mhz, watts(multiplying)),
      "measured");
  const double flops = gpu::time_multiplications();
  add(result, "mma_sync_rate", flops / gpu::current_device().sms / *multiplying.sm_clock_mhz / 1e6, "FLOP/clock/SM",
      fmt::format("{}: mma.sync m16n8k16 of fp16 into fp32 on all SMs, {:.0f} TFLOP/s", source, flops / 1e12),
      "measured");
}

void add_energy(const std::vector<gpu::LoadPoint>& loads, const std::string& source, Calibration& result) {
  std::vector<PowerPoint> points;
  for (const gpu::LoadPoint& load : loads) {
    if (!load.watts || *load.watts <= 0) continue;
    points.push_back({static_cast<double>(load.ctas), load.dram_bytes_per_second, load.l2_bytes_per_second,
                      load.shared_bytes_per_second, load.flops, *load.watts});
  }
  if (points.size() != loads.size()) {
    result.note =
        "no energy constants: the driver's management library (libnvidia-ml.so.1) has no energy counter for this "
        "device";
    return;
  }
  const simulator::EnergyConstants fit = fit_energy(points);
  for (std::size_t i = 0; i < points.size(); ++i) {
    add_point(result, loads[i], "power_fitted", law_watts(fit, points[i]), "W");
  }
  const std::string how = fmt::format(
      "{}: least squares over {} kinds of steady work, each a second by the driver's energy counter; largest "
      "error of their power {:.1f} %",
      source, points.size(), largest_power_error(fit, points) * 100);
  add(result, "idle_power", fit.idle_watts, "W", how, "derived");
  add(result, "sm_power", fit.sm_watts, "W", how, "derived");
  add(result, "dram_energy", fit.dram_joules_per_byte * 1e12, "pJ/byte", how, "derived");
  add(result, "l2_energy", fit.l2_joules_per_byte * 1e12, "pJ/byte", how, "derived");
  add(result, "shared_energy", fit.shared_joules_per_byte * 1e12, "pJ/byte", how, "derived");
  add(result, "flop_energy", fit.joules_per_flop * 1e12, "pJ/FLOP", how, "derived");
  if (const std::optional<double> limit = gpu::device_state().power_limit_watts) {
    add(result, "power_limit", *limit, "W", source + ": the limit that the driver enforces", "measured");
  }
}

}  // namespace splitwave::studies
