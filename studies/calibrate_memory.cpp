// SPDX-License-Identifier: Apache-2.0
#include "studies/calibrate_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "gpu/microbenchmarks/bandwidth.h"
#include "simulator/machine.h"
#include "studies/bandwidth_fit.h"

namespace splitwave::studies {
namespace {

constexpr double kWarmShare = 0.9;  // of L2's best bandwidth: below, the footprint does not fit

/// Bytes in flight over the rate, of a lone CTA with the smallest window.
double lone_latency(const std::vector<gpu::ReadPoint>& rings) {
  const gpu::ReadPoint& one = rings.front();
  return static_cast<double>(one.bytes_in_flight) / one.rate.median;
}

constexpr std::int64_t kWindow = 64 * 1024;  // of a CTA that streams, mostly

double rate_of(const std::vector<gpu::ReadPoint>& rings, std::int32_t ctas) {
  const auto found = std::find_if(rings.begin(), rings.end(), [&](const gpu::ReadPoint& one) {
    return one.ctas == ctas && one.bytes_in_flight == kWindow;
  });
  return found == rings.end() ? 0 : found->rate.median;
}

/// What memory delivers less where two CTAs of an SM read a part of their own each, by what all in turn get.
void calibrate_streams(CalibrationWork& work, const std::vector<gpu::ReadPoint>& own,
                       const std::vector<gpu::ReadPoint>& in_turn) {
  const std::int32_t sms = work.device.sms;
  const double own_two = rate_of(own, 2 * sms);
  const double turn_two = rate_of(in_turn, 2 * sms);
  const double own_one = rate_of(own, sms);
  const double turn_one = rate_of(in_turn, sms);
  if (std::min({own_two, turn_two, own_one, turn_one}) <= 0) return;
  work.add(
      "stream_bandwidth", std::min(1.0, own_two / turn_two / (own_one / turn_one)), "1",
      fmt::format("GB/s of rings of 64 KiB, two CTAs an SM with a part of their own each {:.0f}, all through one in "
                  "turn {:.0f}, over the same of one {:.0f} and {:.0f}; not above 1",
                  own_two / 1e9, turn_two / 1e9, own_one / 1e9, turn_one / 1e9));
}

}  // namespace

void calibrate_memory(CalibrationWork& work) {
  const std::vector<gpu::ReadPoint> rings = gpu::stream_memory(false);
  const std::vector<gpu::ReadPoint> plain = gpu::plain_read_memory();
  work.points("ring", rings);
  const std::vector<gpu::ReadPoint> in_turn = gpu::stream_memory(true);
  work.points("ring_interleaved", in_turn);
  calibrate_streams(work, rings, in_turn);
  work.points("plain", plain);
  work.ring_latency = lone_latency(rings);
  double alone = 0;
  double busy = 0;
  double best_ring = 0;
  double best_plain = 0;
  for (const gpu::ReadPoint& one : rings) {
    double& most = one.ctas == 1 ? alone : busy;
    if (one.ctas <= work.device.sms) most = std::max(most, one.rate.median / one.ctas);
    best_ring = std::max(best_ring, one.rate.median);
  }
  std::vector<BandwidthPoint> points;
  for (const gpu::ReadPoint& one : plain) {
    points.push_back({one.ctas, static_cast<double>(one.bytes_in_flight), one.rate.median});
    best_plain = std::max(best_plain, one.rate.median);
  }
  simulator::Machine& machine = work.machine;
  machine.sm_bytes_per_second = busy;
  machine = fit_memory(machine, points);
  const FitError error = largest_error(machine, points);
  const std::string fit =
      fmt::format("least maximum error, {:.1f} % ({} CTAs of {:.0f} KiB), against {} points of a plain read",
                  error.relative * 100, error.at.ctas, error.at.bytes_in_flight / 1024, points.size());
  work.add(
      "dram_bandwidth", machine.dram_bytes_per_second / 1e9, "GB/s",
      fmt::format("{}; the most seen is {:.0f}, of rings of cp.async {:.0f}", fit, best_plain / 1e9, best_ring / 1e9),
      "derived");
  work.add("dram_asymptote", machine.dram_asymptote / 1e9, "GB/s", fit, "derived");
  work.add("dram_latency", machine.dram_latency_seconds * 1e9, "ns", fit, "derived");
  work.add("dram_queue_latency", machine.dram_queue_seconds * 1e9, "ns", fit, "derived");
  work.add("sm_bandwidth", busy / 1e9, "GB/s",
           fmt::format("most of an SM beside seven others or more that read by rings of cp.async; alone {:.0f}",
                       alone / 1e9));
  const gpu::ChaseTimes chase = gpu::time_chases();
  work.point("chase_l2", 1, chase.l2 * 1e9, "ns");
  work.point("chase_same_page", 1, chase.same_page * 1e9, "ns");
  work.point("chase_near_pages", 1, chase.near_pages * 1e9, "ns");
  work.point("chase_far_pages", 1, chase.far_pages * 1e9, "ns");
  work.add("cold_start", std::max(0.0, chase.far_pages - chase.same_page) * 1e9, "ns",
           fmt::format(
               "reads one after the other, each in a page of 2 MiB far from those before {:.0f} ns, in the same page "
               "{:.0f} ns; not below 0",
               chase.far_pages * 1e9, chase.same_page * 1e9));
}

void calibrate_l2(CalibrationWork& work) {
  const std::vector<gpu::CachedPoint> points = gpu::stream_footprints();
  double most = 0;
  for (const gpu::CachedPoint& one : points) {
    work.result.points.push_back({one.shared ? "footprint_shared" : "footprint_own", work.device.sms, 128 * 1024,
                                  one.footprint_bytes, one.rate.median / 1e9, "GB/s", one.rate.p20 / 1e9,
                                  one.rate.p80 / 1e9, one.rate.samples});
    if (!one.shared) most = std::max(most, one.rate.median);
  }
  std::int64_t warm = 0;
  for (const gpu::CachedPoint& one : points) {
    if (one.shared) continue;
    if (one.rate.median < kWarmShare * most) break;
    warm = one.footprint_bytes;
  }
  work.add("l2_capacity", static_cast<double>(work.device.l2_bytes) / 1048576, "MiB", "as the driver says");
  work.add(
      "l2_kept", static_cast<double>(warm) / static_cast<double>(work.device.l2_bytes), "1",
      fmt::format("{:.4g} MiB, the largest footprint that is read again at {:.0f} % of L2's bandwidth, each CTA its "
                  "own part",
                  static_cast<double>(warm) / 1048576, kWarmShare * 100));
  work.add("l2_bandwidth", most / 1e9, "GB/s",
           "every SM reads its part of a footprint again and again, 128 KiB in flight");
  const std::vector<gpu::ReadPoint> rings = gpu::stream_l2_alone();
  work.points("ring_l2", rings);
  const double less = work.ring_latency - lone_latency(rings);
  work.machine.l2_latency_seconds = work.machine.dram_latency_seconds - less;
  work.add(
      "l2_latency", (work.machine.dram_latency_seconds - less) * 1e9, "ns",
      fmt::format("dram_latency less {:.0f} ns, by which a lone CTA's ring of 16 KiB comes sooner from L2 ({:.0f} ns) "
                  "than from memory ({:.0f} ns)",
                  less * 1e9, lone_latency(rings) * 1e9, work.ring_latency * 1e9),
      "derived");
}

void calibrate_rows(CalibrationWork& work) {
  const std::vector<gpu::RowPoint> rows = gpu::stream_rows();
  FileConstant constant{"row_bandwidth", {}, true, "1", {}, "measured"};
  std::string rates;
  for (const gpu::RowPoint& one : rows) {
    work.result.points.push_back({"ring_rows", one.row_bytes, kWindow, 0, one.rate.median / 1e9, "GB/s",
                                  one.rate.p20 / 1e9, one.rate.p80 / 1e9, one.rate.samples});
    if (one.row_bytes == 0) continue;
    constant.values.push_back(std::min(1.0, one.rate.median / rows.front().rate.median));
    rates += fmt::format("{} {} B {:.0f}", rates.empty() ? "" : ",", one.row_bytes, one.rate.median / 1e9);
  }
  constant.source = fmt::format(
      "{}: GB/s of two CTAs an SM that read rows of 16 heads out of step:{}; without rows {:.0f}; not above 1",
      work.source, rates, rows.front().rate.median / 1e9);
  work.result.constants.push_back(constant);
}

void calibrate_first_burst(CalibrationWork& work) {
  const gpu::BurstTimes bursts = gpu::time_bursts();
  work.point("burst_l2", bursts.ctas, bursts.l2 * 1e9, "ns");
  work.point("burst_memory", bursts.ctas, bursts.memory * 1e9, "ns");
  const double further = work.machine.dram_latency_seconds - work.machine.l2_latency_seconds;
  work.add(
      "first_burst", std::max(0.0, bursts.memory - bursts.l2 - further) * 1e9, "ns",
      fmt::format("launches of {} CTAs that ask for 16 KiB each, all at once: {:.0f} ns from memory, {:.0f} ns from "
                  "L2, less the {:.0f} ns by which L2 is nearer to a ring; not below 0",
                  bursts.ctas, bursts.memory * 1e9, bursts.l2 * 1e9, further * 1e9));
}

}  // namespace splitwave::studies
