// SPDX-License-Identifier: Apache-2.0
#include "studies/bandwidth_fit.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "simulator/bandwidth.h"
#include "studies/minimize.h"

namespace splitwave::studies {
namespace {

using simulator::Machine;

constexpr double kStep = 0.2;           // of logarithms
constexpr double kBelowPlateau = 0.98;  // of the plateau: rates above say little of how latency grows

}  // namespace

double law_bandwidth(const Machine& machine, const BandwidthPoint& point) {
  // Breadth first over the SMs: some hold one CTA more than the others.
  const std::int32_t least = point.ctas / machine.sms;
  const std::int32_t fuller = point.ctas % machine.sms;
  std::vector<simulator::StreamClass> classes;
  if (fuller > 0) {
    classes.push_back({static_cast<double>(fuller * (least + 1)), machine.sm_bytes_per_second / (least + 1), 0});
  }
  if (least > 0) {
    classes.push_back({static_cast<double>((machine.sms - fuller) * least), machine.sm_bytes_per_second / least, 0});
  }
  simulator::share_bandwidth(simulator::memory_law(machine, point.bytes_in_flight, 1, 1), classes);
  double total = 0;
  for (const simulator::StreamClass& one : classes) total += one.ctas * one.rate;
  return total;
}

FitError largest_error(const Machine& machine, std::span<const BandwidthPoint> points) {
  FitError worst;
  for (const BandwidthPoint& point : points) {
    const double error = std::abs(law_bandwidth(machine, point) / point.bytes_per_second - 1);
    if (error >= worst.relative) worst = {error, point};
  }
  return worst;
}

Machine fit_memory(Machine machine, std::span<const BandwidthPoint> points) {
  if (points.size() < 4) throw std::invalid_argument("fit_memory: four constants need four points");
  double most = 0;
  double slowest = 0;  // bytes in flight of a CTA over what it gets alone
  for (const BandwidthPoint& point : points) {
    most = std::max(most, point.bytes_per_second);
    slowest = std::max(slowest, point.bytes_in_flight * std::min(point.ctas, machine.sms) / point.bytes_per_second);
  }
  for (const BandwidthPoint& point : points) {
    slowest = std::min(slowest, point.bytes_in_flight * point.ctas / point.bytes_per_second);
  }
  const auto with = [&](const std::vector<double>& logs) {
    Machine fitted = machine;
    fitted.dram_latency_seconds = std::exp(logs[0]);
    fitted.dram_queue_seconds = fitted.dram_latency_seconds / (1 + std::exp(-logs[1]));  // less than the latency
    fitted.dram_bytes_per_second = std::min(most, std::exp(logs[2]));
    fitted.dram_asymptote = fitted.dram_bytes_per_second * (1 + std::exp(logs[3]));
    return fitted;
  };
  const std::vector<double> best =
      minimize([&](const std::vector<double>& logs) { return largest_error(with(logs), points).relative; },
               {std::log(slowest), -2, std::log(most), std::log(0.08)}, kStep);
  return with(best);
}

double fit_queue(Machine machine, std::span<const BandwidthPoint> points) {
  std::vector<BandwidthPoint> below;
  for (const BandwidthPoint& point : points) {
    if (point.bytes_per_second < kBelowPlateau * machine.dram_bytes_per_second) below.push_back(point);
  }
  if (below.empty()) throw std::invalid_argument("fit_queue: no point is below the plateau");
  const auto error = [&](const std::vector<double>& logs) {
    machine.dram_queue_seconds = std::exp(logs[0]);
    double sum = 0;
    for (const BandwidthPoint& point : below)
      sum += std::abs(law_bandwidth(machine, point) / point.bytes_per_second - 1);
    return sum;
  };
  return std::exp(minimize(error, {std::log(machine.dram_queue_seconds)}, kStep).front());
}

}  // namespace splitwave::studies
