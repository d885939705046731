// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "simulator/bandwidth.h"
#include "simulator/ports.h"
#include "simulator/slot_tree.h"

namespace splitwave::simulator {

/// Limits of the CTAs that stream. A class is a cost, a number of sharers of the SM and a kind of port, which counts
/// fastest.
struct StreamLimits {
  MemoryLaw law;
  double sm_bytes_per_second = 0;
  std::int32_t sms = 0;
  std::int32_t per_sm = 1;
  PortKinds kinds = {{1}, {}, {}, {}};
  double side_bytes_per_second = std::numeric_limits<double>::infinity();
  double gpc_bytes_per_second = std::numeric_limits<double>::infinity();
  std::vector<double> arithmetic_cap;  ///< per class, byte/s; infinity where arithmetic is no limit
  /// CTAs that stream on the SM of one of this class.
  double sharers(std::size_t stream_class) const {
    return static_cast<double>(stream_class / kinds.ports.size() % static_cast<std::size_t>(per_sm)) + 1;
  }
};

/// Slots that take in bytes. A class of slots has one rate, and a counter of the bytes that one of its members has
/// taken in; a member ends when the counter reaches its key. All classes that no cap has ever held back have the same
/// rate and share a counter, so that a slot that changes between them need not move.
///
/// Counters stand at the time of the last advance(). Members may change only then; until the next change, solve()'s
/// answers hold however much time passes.
class Streams {
 public:
  /// Forgets all slots, and makes room for slots [0, slots). Rates that were computed under equal limits are kept.
  void reset(const StreamLimits& limits, std::size_t slots);

  void add(std::int32_t slot, std::int32_t stream_class, double bytes, std::int32_t ctas);
  void change_class(std::int32_t slot, std::int32_t stream_class, std::int32_t ctas);
  void remove(std::int32_t slot, std::int32_t ctas);
  /// Makes room for `twin`, and it streams if `slot` does; the number of CTAs stays, since both together are what
  /// `slot` was.
  void clone(std::int32_t slot, std::int32_t twin);
  double bytes_left(std::int32_t slot, double now) const;

  /// Rates for the present members. To be called after changes.
  void solve();
  /// When the next member ends, or infinity.
  double next_end() const { return next_end_; }
  /// True if a member is so close to its end that it ends now.
  bool ends_by(double now) const { return almost_end_ <= now; }
  /// Lets time pass until `now`. Adds the CTA-seconds that memory and that arithmetic are answerable for.
  void advance(double now, double& memory, double& arithmetic);
  /// The time of the last advance(), and the bytes that all CTAs together had taken in by then.
  double now() const { return now_; }
  double taken_bytes() const { return taken_bytes_; }
  /// A member that is at its end, or -1. It must be removed before the next call.
  std::int32_t finished() const;

 private:
  /// What one CTA of a class gets.
  struct Rate {
    double bytes_per_second = 0;
    double seconds_per_byte = 0;
    double memory_share = 1;
  };
  /// Rates of a state of at most two classes, as they were computed once. One line of the cache.
  struct alignas(64) Known {
    std::uint32_t generation = 0;  ///< of the table at that time
    std::uint32_t state = 0;
    double level = 0;  ///< that all classes have that no cap holds back
    Rate of_class[2];
  };
  /// Known rates under one set of limits. A state has one place, which others share: what is not there is computed
  /// again, and the table stays small enough for the cache, however many SMs the machine has.
  struct Table {
    StreamLimits limits;
    std::uint32_t generation = 0;
    std::uint64_t used = 0;
    std::vector<Known> places;
  };
  struct Rates {
    const Rate* of_class = nullptr;
    double level = 0;
  };

  /// Classes with one rate: the first lane is that of all classes that no cap has held back, others have one class
  /// each.
  struct alignas(64) Lane {
    std::int32_t ctas = 0;
    double counter = 0;
    const Rate* rate = nullptr;
    SlotTree ends;  ///< counter at which each member ends
  };

  Lane& lane_of(std::int32_t stream_class) { return *lane_of_class_[static_cast<std::size_t>(stream_class)]; }
  void detach(std::int32_t stream_class);
  void choose_table(const StreamLimits& limits);
  double compute(Rate* rates);
  Rates find_rates();

  /// Schedules of one sweep alternate between few kernels, each with limits of its own.
  std::array<Table, 8> tables_;
  Table* table_ = nullptr;
  std::uint64_t resets_ = 0;
  bool keeps_ = false;
  std::vector<StreamClass> classes_;
  std::vector<double> sm_share_;    ///< per class: bytes/s of its SM's
  std::vector<std::int32_t> ctas_;  ///< per class
  std::vector<Rate> rates_;         ///< per class, of a state that the table does not keep
  std::vector<Lane*> lane_of_class_;
  std::vector<Lane> lanes_;
  std::size_t lanes_in_use_ = 1;
  std::vector<std::int32_t> class_of_slot_;
  double now_ = 0;
  double taken_bytes_ = 0;
  double next_end_ = 0;
  double almost_end_ = 0;  ///< from when on the next member to end counts as ended
};

}  // namespace splitwave::simulator
