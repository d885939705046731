// SPDX-License-Identifier: Apache-2.0
// The state of the event loop; engine.h is its door.
//
// Entities are groups of SMs whose slots hold the same work in the same state. A slot is in a timed phase (prologue,
// memory latency, last tile, epilogue), which ends at a known time, or it streams (streams.h). A change of rates costs
// one solution per event, not one update per CTA.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "simulator/bandwidth.h"
#include "simulator/engine.h"
#include "simulator/ports.h"
#include "simulator/queue.h"
#include "simulator/streams.h"

namespace splitwave::simulator {

/// waiting: its latency is over, and what it asked for comes after what another CTA of its SM asked for.
enum class SlotState : std::uint8_t { idle, timed, waiting, joining, streaming };

struct Slot {
  double until = 0;             ///< timed: when the phase ends; waiting: when it ended
  double bytes = 0;             ///< of the current item
  double arithmetic_until = 0;  ///< end of the item before, which may still be computed while this one streams; of the
                                ///< first: the list's start
  double further_share = 0;     ///< warps_alone: of what its further items would take one after the other
  double pieces_of_item = 0;    ///< warps_alone: of its items, in the mean, besides each warp's first
  std::int32_t list = -1;
  std::int32_t item = 0;  ///< current item; past the list's last one while the CTA finishes
  std::int32_t item_end = 0;
  std::int32_t group = 0;
  std::int32_t cost = 0;  ///< of the current item
  std::size_t span = 0;   ///< of the current item, where spans are recorded
  SlotState state = SlotState::idle;
  bool arithmetic_bound = false;  ///< the current item
  bool reads = false;             ///< the current list has tokens
  double combine_seconds = 0;     ///< warps_alone: WarpParts::combine_seconds
};

struct Group {
  std::int32_t weight = 0;  ///< SMs
  double issued_until = 0;  ///< arithmetic of CTAs that hold their items
  std::int32_t first_slot = 0;
  std::int32_t streaming = 0;
  std::int32_t sm = 0;       ///< its first SM
  std::int32_t port = 0;     ///< kind of its SMs' ports
  std::int32_t freed = 0;    ///< used while freed slots are put in order
  std::int32_t working = 0;  ///< slots with a list
  double work_end = 0;       ///< latest end of those that had one
  bool dirty = false;
};

/// A slot that ended its list just now, and what decides who is next: a new CTA goes to the SM with the fewest others,
/// and of those to the one with the least left to do.
struct FreeSlot {
  std::int32_t slot = 0;
  std::int32_t neighbours = 0;
  double left = 0;
};

/// Lists that start together and are alike: up to `end`, from where the run before ends.
struct Run {
  std::int32_t end = 0;
  bool reads = false;  ///< they have tokens
};

/// One run. Kept between runs for its memory.
class Engine {
 public:
  bool run(const schedules::Plan& plan, const Machine& machine, const KernelProfile& kernel, const Work& work,
           const EngineOptions& options, EngineResult& result);

 private:
  void prepare_classes();
  void find_port_kinds();
  void start_first_wave();
  double full_sm_seconds(const Slot& slot, double bytes) const;
  double reading_on_sm(const Slot& slot) const;
  std::int32_t resident_ctas() const;
  /// CTAs with a list, and those of them whose lists have tokens.
  struct CtaCount {
    double all = 0;
    double reading = 0;
    bool operator==(const CtaCount&) const = default;
  };
  void make_groups(std::int32_t first_wave);
  bool falls_out_of_step() const;
  double out_of_step_bytes(std::int32_t index, double start_seconds, double bytes_per_second) const;
  /// How a CTA comes to an item: as its first, as a further one, or as one whose loads began during the one before.
  enum class Entry : std::uint8_t { first, further, prefetched };
  void start_list(std::int32_t slot, std::int32_t list, double time, double lead, Entry entry);
  double end_seconds(const Slot& slot) const;
  double epilogue_seconds(const Slot& slot, const schedules::Item& item) const;
  void begin_item(Slot& slot, std::int32_t index, double time, double lead, Entry entry);
  void end_stream(std::int32_t index);
  void enter_timed(std::int32_t index, double until);
  void end_timed(std::int32_t index);
  void join(std::int32_t index);
  bool has_room(const Group& group) const;
  void join_waiting(const Group& group);
  void finish_list(std::int32_t index, double time);
  void order_freed();
  double work_left(std::int32_t index) const;
  double find_runs(std::int32_t end);
  void dispatch_freed();
  void copy_item_ends();
  void count_bytes_to_read();
  bool is_too_late(std::uint32_t step) const;
  std::int32_t split(std::int32_t slot, std::int32_t weight);
  void mark(std::int32_t group);
  void regroup_streams();
  void process_events();
  /// The start of streams while so many CTAs are at work: what of it does not depend on the stream's length.
  struct Fill {
    CtaCount busy{-1, -1};
    std::size_t cost = 0;
    double seconds = 0;  ///< latencies that nothing hides
    double share = 0;    ///< byte/s that each CTA gets of the memory, all asking at once
    bool arithmetic_bound = false;
  };
  struct Limits {
    double share = 0;       ///< byte/s of the memory for each of so many CTAs
    double arithmetic = 0;  ///< byte/s; infinity where it is no limit
  };
  Limits limits_of(double ctas, const TokenSeconds& arithmetic) const;
  const Fill& fill(std::size_t cost);
  double ring_fill_seconds(double bytes, const Fill& start) const;
  double fill_seconds(double bytes, const Fill& start) const;
  double queue_seconds(double bytes, const Fill& start) const;
  double later_start_seconds(std::int32_t list, double lead, double bytes, const Fill& start) const;
  double end_of_arithmetic(const Slot& slot, const schedules::Item& item);
  double drain_seconds(const Slot& slot, const schedules::Item& item) const;
  double stop_seconds(double bytes, const Fill& start) const;
  double crowd(double ctas) const;
  double item_seconds() const;
  double arithmetic_seconds(const Slot& slot, const schedules::Item& item) const;
  void look_at_parts(Slot& slot) const;
  double row_bytes(const Slot& slot, const schedules::Item& item) const;
  double resume_time(const Slot& slot, double end);
  Slot& at(std::int32_t slot) { return slots_[static_cast<std::size_t>(slot)]; }
  Group& group_of(const Slot& slot) { return groups_[static_cast<std::size_t>(slot.group)]; }
  std::int32_t stream_class(const Slot& slot, const Group& group) const {
    const auto kinds = static_cast<std::int32_t>(limits_.kinds.ports.size());
    return (slot.cost * options_.ctas_per_sm + group.streaming - 1) * kinds + group.port;
  }
  double weight(const Slot& slot) { return group_of(slot).weight; }

  const schedules::Plan* plan_ = nullptr;
  const Machine* machine_ = nullptr;
  const KernelProfile* kernel_ = nullptr;
  const Work* work_ = nullptr;
  EngineOptions options_;
  EngineResult* result_ = nullptr;

  std::vector<Slot> slots_;
  std::vector<Group> groups_;
  std::vector<std::int32_t> reading_sms_;  ///< of the first wave's CTAs that have tokens
  std::vector<std::int32_t> kind_of_list_;
  std::vector<std::int32_t> sm_of_cta_;
  std::vector<std::int32_t> odd_sms_;
  std::vector<std::int32_t> rows_;
  std::vector<std::int32_t> lists_of_sm_;
  std::vector<std::int32_t> group_of_sm_;
  std::vector<std::int32_t> dirty_;    ///< groups
  std::vector<std::int32_t> joining_;  ///< slots whose streams begin now
  std::vector<FreeSlot> freed_;
  std::vector<Run> runs_;  ///< of the lists that start now
  EventQueue timed_;
  Streams streams_;
  StreamLimits limits_;
  Fill fill_;
  double now_ = 0;
  double bytes_to_read_ = 0;  ///< by all lists, where there is a limit
  double dispatcher_free_ = 0;
  CtaCount busy_;                ///< CTAs at work
  CtaCount ended_;               ///< at the present time; still busy for all else that happens at it
  std::int32_t first_wave_ = 0;  ///< lists that begin at once
  std::int32_t next_list_ = 0;
  bool grouped_ = false;
  bool drifts_ = false;  ///< falls_out_of_step()
};

}  // namespace splitwave::simulator
