// SPDX-License-Identifier: Apache-2.0
// Does a request get the same bits whatever else is in the batch? Asked twice: of the plans, which say where each
// request is cut, and of an executor, which says what comes out. A plan that cuts a request in the same places must
// give the same bits.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cpu_reference/oracle.h"
#include "studies/predict.h"
#include "studies/target.h"
#include "studies/watcher.h"
#include "workloads/tensors.h"
#include "workloads/workload.h"

namespace splitwave::studies {

/// What runs the batches.
struct BatchRunner {
  std::string executor;  ///< "cpu" or "cuda"
  /// Runs a plan on poisoned memory. Throws InputError where it cannot.
  std::function<cpu_reference::Result<float>(const workloads::Workload& workload, const workloads::Tensors& tensors,
                                             const Prediction& planned)>
      run;
  /// The bits depend on the compiled config of the kernel and on which rows share a tile, and not on the cuts alone.
  bool has_configs = false;
};

/// This CPU with so many threads: runs the plan of any machine.
BatchRunner cpu_batch_runner(std::int32_t threads);

/// One output tile of a request, and the pieces of the context that its items sum, in their order. Empty items, which
/// add nothing, are left out.
struct TileCuts {
  std::int32_t head_begin = 0;
  std::int32_t head_count = 1;
  std::int32_t row_begin = 0;
  std::int32_t row_end = 0;
  std::vector<workloads::KvRange> pieces;
  bool operator==(const TileCuts&) const = default;
};

/// Whether every row of a request is cut in the same places by both: the pieces that it sees something of begin at the
/// same tokens, and end there as far as it sees. Rows may share tiles with others.
bool same_cuts(const workloads::Geometry& geometry, const workloads::Request& request, const std::vector<TileCuts>& one,
               const std::vector<TileCuts>& other);

/// The tiles of each request of the plan, by head and row.
std::vector<std::vector<TileCuts>> cuts_by_request(const workloads::Workload& workload, const schedules::Plan& plan);

/// A request in one batch that is not as alone.
struct InvarianceExample {
  std::string batch;          ///< the batch's name
  std::int32_t request = 0;   ///< of the workload as given
  std::int32_t position = 0;  ///< in the batch
  std::string cuts_alone;     ///< of one tile, where the bits differ if they do
  std::string cuts;           ///< of the same rows in the batch
  std::string difference;     ///< the first bit that differs, alone and in the batch; empty: none does
};

/// A schedule's answer for one workload.
struct BatchInvariance {
  std::string workload;
  std::string machine;
  std::string schedule;
  std::string executor;
  std::string kernel;          ///< config that runs every batch; "chosen": each batch's own; empty: there are none
  std::int64_t requests = 0;   ///< of the workload
  std::int64_t batches = 0;    ///< that the requests were put into
  std::int64_t compared = 0;   ///< requests in batches, set against the same request alone
  std::int64_t moved = 0;      ///< of these, with other cuts than alone (cuda: or other tiles, or another config)
  std::int64_t ran = 0;        ///< of these, run
  std::int64_t differing = 0;  ///< of those that ran, with other bits than alone
  std::int64_t broken = 0;     ///< of those, with the same cuts as alone: the executor is not as its plan
  std::int64_t lucky = 0;      ///< that ran, with other cuts than alone and the same bits
  std::optional<InvarianceExample> example;  ///< of broken, else of differing, else of moved ones
  bool besides = false;                      ///< each batch's own config, besides the answer for one config
  std::string failure;                       ///< why there is no answer; else empty

  bool by_plan() const { return moved == 0; }
  bool by_bits() const { return differing == 0; }
  bool invariant() const { return failure.empty() && by_plan() && by_bits(); }
};

/// The schedules that are asked where nobody names any: those compared by default, those that people can install, an
/// even split and the batch-invariant one.
std::vector<std::string> invariance_schedules(std::span<const workloads::Workload> workloads);

/// Puts the workload's requests into batches (studies/neighbours.h) and compares each with itself alone, by plan and by
/// bits. One answer per schedule; where the runner has configs, one with the config that is fastest for the workload as
/// given in all batches, and one with each batch's own. Large batches are compared by plan alone. A
/// schedule that cannot serve a batch is a failure among the answers. The watcher hears of each batch, which is one
/// unit of work, and of no records. Throws InputError if the workload's own tensors do not fit in memory.
std::vector<BatchInvariance> batch_invariance(const workloads::Workload& workload,
                                              const std::vector<std::string>& schedules, const Target& target,
                                              const BatchRunner& runner, const Watcher& watcher);

/// Batches that this asks about.
double invariance_work(const workloads::Workload& workload);

}  // namespace splitwave::studies
