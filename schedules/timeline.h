// SPDX-License-Identifier: Apache-2.0
// What came of executing a plan, from any executor.
#pragma once

#include <cstdint>
#include <vector>

namespace splitwave::schedules {

/// Where the time of a plan went, averaged over the CTA slots of the machine; the parts add up to the total. Seconds.
struct Breakdown {
  double launch = 0;   ///< kernel launch and dispatch of CTAs
  double ramp = 0;     ///< prologue of a CTA and the first bytes' latency
  double stream = 0;   ///< reading K and V, limited by memory
  double compute = 0;  ///< time by which arithmetic is slower than memory
  double merge = 0;    ///< combining partials, a second kernel's launch included
  double wait = 0;     ///< a host CTA waiting for its peers
  double idle = 0;     ///< slots without work while others have some
  double total() const { return launch + ramp + stream + compute + merge + wait + idle; }
};

/// Bytes that a plan moves, by direction. K and V are told apart by where they come from, which decides the time; Q,
/// outputs and partials are few, and written just before they are read: where they lie is not modelled.
struct Traffic {
  std::int64_t kv_dram_read = 0;      ///< K and V from DRAM
  std::int64_t kv_l2_read = 0;        ///< K and V that L2 still holds from another item, or from before a warm start
  std::int64_t q_read = 0;            ///< rows of the output tile, for each item that has tokens
  std::int64_t output_written = 0;    ///< each output row once
  std::int64_t partials_written = 0;  ///< rows of split outputs, fp32 with their LSE
  std::int64_t partials_read = 0;     ///< the same, by those who merge
};

/// What a call of a plan takes of the device's energy, by what takes it; the parts add up to the total. Joules.
struct Energy {
  double idle = 0;        ///< of the whole device, whatever its SMs do
  double sms = 0;         ///< SMs that hold a working CTA
  double dram = 0;        ///< bytes out of DRAM
  double l2 = 0;          ///< bytes between L2 and the SMs, those from DRAM too
  double shared = 0;      ///< bytes of K and V into and out of shared memory
  double arithmetic = 0;  ///< matrix instructions
  double total() const { return idle + sms + dram + l2 + shared + arithmetic; }
  bool operator==(const Energy&) const = default;
};

/// One stretch of a CTA's life, for pictures. item is -1 for a merge.
struct Span {
  std::int32_t cta = 0;
  std::int32_t sm = 0;
  std::int32_t slot = 0;  ///< slot within the SM
  std::int32_t item = -1;
  double begin_seconds = 0;
  double end_seconds = 0;
};

struct Timeline {
  double seconds = 0;
  double occupancy = 0;   ///< mean share of CTA slots that hold a working CTA, 0..1
  double waves = 0;       ///< CTAs over CTA slots
  double sm_seconds = 0;  ///< time in which an SM holds a working CTA, summed over the SMs
  Breakdown breakdown;
  Traffic traffic;
  std::vector<Span> spans;  ///< empty unless asked for
};

}  // namespace splitwave::schedules
