// SPDX-License-Identifier: Apache-2.0
// The event loop: lists of items on SM slots under the fluid law. Merges are not its business.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "schedules/plan.h"
#include "schedules/timeline.h"
#include "simulator/kernel.h"
#include "simulator/machine.h"
#include "simulator/work.h"

namespace splitwave::simulator {

struct EngineOptions {
  std::int32_t ctas_per_sm = 1;
  std::int32_t workers = 0;            ///< persistent CTAs that take the lists one after the other; 0: lists are CTAs
  double worker_prologue_seconds = 0;  ///< of a persistent CTA, besides the kernel's
  double next_list_seconds = 0;        ///< for a persistent CTA to learn of its next list
  bool item_ends = false;              ///< fill in EngineResult::item_end
  bool spans = false;
  /// Not -1: CTAs go to GPC after GPC from this one on (place_by_gpc), which limits what they take in.
  std::int32_t first_gpc = -1;
  /// The run is given up once what is left to read, at most_bytes_per_second, cannot be read by then.
  double limit_seconds = std::numeric_limits<double>::infinity();
  double most_bytes_per_second = 0;
};

/// What the slots did, in slot-seconds (one slot busy for one second is 1).
struct EngineResult {
  double end_seconds = 0;             ///< last item's result is there
  schedules::Breakdown slot_seconds;  ///< idle is not filled in
  double busy_slot_seconds = 0;
  double busy_sm_seconds = 0;    ///< SMs with a busy slot
  double kv_bytes = 0;           ///< K and V that the items read, whole bytes
  double q_rows = 0;             ///< rows of the output tiles of items that have tokens
  std::vector<double> item_end;  ///< per item: when its result is visible
  std::vector<schedules::Span> spans;
};

/// Runs the plan's lists. Lists with the same tokens and costs are handled together while their SMs are alike, unless
/// spans are asked for, or item ends of more lists than run at a time. `result` is overwritten; its memory is reused.
/// False if the run was given up: then the result means nothing.
bool run_lists(const schedules::Plan& plan, const Machine& machine, const KernelProfile& kernel, const Work& work,
               const EngineOptions& options, EngineResult& result);

}  // namespace splitwave::simulator
