// SPDX-License-Identifier: Apache-2.0
// Times that plans of a kernel are not predicted to be below, without making them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "simulator/kernel.h"
#include "simulator/least_time.h"
#include "simulator/machine.h"
#include "simulator/rows.h"
#include "simulator/work.h"
#include "workloads/workload.h"

namespace splitwave::studies {

/// KV tokens per tile of the candidates' plans: a multiple of every config's stage.
inline constexpr std::int32_t kCandidateTileTokens = 64;

/// What a bound needs of a workload, once.
struct Facts {
  double read_seconds = 0;    ///< of K and V, at the machine's bandwidth; 0 if they may be in L2
  double tokens = 0;          ///< of all KV heads
  double unsure_tokens = 0;   ///< of them those that not all queries see
  std::int64_t outputs = 0;   ///< tiles of all rows of a KV head, of requests that have tokens
  std::int64_t unread = 0;    ///< the same of requests that have none
  std::int32_t shortest = 0;  ///< context, but for those without tokens
  std::int32_t longest = 0;
  std::int32_t padded = 0;  ///< context, as the cache holds it
  std::int32_t heads = 1;   ///< that have K and V
  std::int32_t group = 1;
  std::int32_t rows = 1;  ///< most of a KV head
  std::int32_t least_rows = 1;
  bool uniform = false;
  bool single_query = false;
  bool windowed = false;
  bool latent = false;  ///< MLA, whose partial results are wide
};
Facts facts_of(const workloads::Workload& workload, const simulator::Machine& machine, simulator::L2State l2);

/// Of so many even splits of the cache, at most.
std::int32_t tokens_per_split(const Facts& facts, std::int32_t splits);

/// A cut of all outputs into pieces of one size.
struct Pieces {
  std::int32_t tokens = 0;    ///< of a piece
  std::int32_t shortest = 0;  ///< piece
  std::int64_t lists = 0;     ///< one for each piece
  std::int64_t whole = 0;     ///< requests that are not cut
};
Pieces pieces_of(const workloads::Workload& workload, std::int32_t tokens);

/// Times of a plan that is not made.
struct Bound {
  double least = 0;     ///< it is not predicted to be below
  double expected = 0;  ///< a guess of what is predicted
};

/// Reading K and V once at the machine's bandwidth, with the least that one of the kernels takes before and after. 0 if
/// they may be in L2.
double reading_seconds(const workloads::Workload& workload, const simulator::Machine& machine,
                       std::span<const simulator::KernelProfile> kernels, simulator::L2State l2);

enum class Merging { last_arriver, host_cta, kernel };

/// In which lists of one item begin.
enum class Order { batch, longest_first };

/// Of one kernel. Keeps references to its arguments.
class KernelBounds {
 public:
  KernelBounds(const workloads::Workload& workload, const Facts& facts, const simulator::Machine& machine,
               const simulator::KernelProfile& kernel, const simulator::SimulateOptions& options);

  std::int64_t workers() const { return workers_; }

  /// Merging an output of so many parts, at least: as kernels for lists of one item do where there are any.
  double merge_seconds(std::int64_t parts, Merging merging);

  /// Outputs that are not cut.
  Bound whole(Order order = Order::batch);
  /// Even splits of a uniform batch of single queries.
  Bound splits(std::int32_t splits, Merging merging);
  /// Pieces of one size, one to a list.
  Bound pieces(const Pieces& pieces, Merging merging, Order order = Order::batch);
  /// The same where every query head has tiles of its own, as FlashAttention-2 cuts several queries.
  Bound heads(const Pieces& pieces, Merging merging);
  /// LeanAttention's cut into tiles of so many tokens, whose lists are equally long, so that what is cut is merged
  /// after all of them.
  Bound lean(std::int32_t tile_tokens, Merging merging);
  /// Any cut into as many lists as there are workers, if they come out equally long.
  Bound shares(Merging merging);
  /// Any cut whose pieces are lists of their own. heads_in_step: a request's heads are side by side.
  Bound lists(Merging merging, bool heads_in_step);
  /// The same for FlashAttention-3's queue, whose workers are one to an SM.
  Bound queue(Merging merging);

 private:
  /// The kernel as it runs some plans, and what of make_work() does not depend on them.
  struct Runner {
    simulator::KernelProfile kernel;
    simulator::Work work;
    std::optional<simulator::Machine> clusters;  ///< whose SMs are clusters
    std::int32_t per_sm = 1;
    std::int64_t workers = 0;
    simulator::Streaming streaming;
    double plateau = 0;  ///< and asymptote, where no heads are read in step
    double asymptote = 0;
  };
  /// For lists of one item each; for any; for those of CTAs that wait; for tiles of one query head.
  enum class Use { single, any, waiting, heads };
  /// That of any lists whose outputs are merged so.
  static Use use_of(Merging merging) { return merging == Merging::host_cta ? Use::waiting : Use::any; }
  std::int32_t resident_per_sm(const simulator::KernelProfile& kernel) const;
  Runner make_runner(Use use) const;
  Runner& runner(Use use);
  simulator::LeastParts share_parts(std::int64_t workers, Use use);
  simulator::LeastParts list_parts(std::int64_t workers, double further_start, double in_step);
  double in_step(const Runner& runner, double neighbours, std::int64_t lists) const;
  double expected_merge_seconds(Merging merging);
  simulator::LeastTime time_of(Runner& runner, double in_step, std::int64_t resident) const;
  simulator::LeastTime time_of(Runner& runner, double in_step) const {
    return time_of(runner, in_step, runner.workers);
  }
  Bound bound_of(const simulator::LeastParts& parts, double sure_merge, double expected_merge) const;
  Bound bound_of(const Pieces& pieces, const simulator::LeastParts& parts, std::int64_t lists, Merging merging);
  double traffic_seconds(std::int64_t partial_tiles) const;

  const workloads::Workload& workload_;
  const Facts& facts_;
  const simulator::Machine& machine_;
  const simulator::KernelProfile& kernel_;
  const simulator::SimulateOptions& options_;
  std::int64_t workers_ = 0;
  std::int32_t blocks_ = 1;  ///< of rows, into which an output is cut at least
  double block_tokens_ = 0;  ///< read by all of them
  std::array<std::optional<Runner>, 4> runners_;
};

}  // namespace splitwave::studies
