// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "simulator/bandwidth.h"
#include "simulator/slot_tree.h"

namespace splitwave::simulator {

/// Limits of the CTAs that stream: class c of a cost has c % per_sm + 1 sharers of the SM.
struct StreamLimits {
  MemoryLaw law;
  double sm_bytes_per_second = 0;
  std::int32_t sms = 0;
  std::int32_t per_sm = 1;
  std::vector<double> arithmetic_cap;  ///< per class, byte/s; infinity where arithmetic is no limit
};

/// Slots that take in bytes. A class of slots has one rate, and a counter of the bytes that one of its members has
/// taken in; a member ends when the counter reaches its key. All classes that no cap has ever held back have the same
/// rate and share a counter, so that a slot that changes between them need not move.
class Streams {
 public:
  /// Forgets all slots, and makes room for slots [0, slots). Rates that were computed under equal limits are kept.
  void reset(const StreamLimits& limits, std::size_t slots);

  void add(std::int32_t slot, std::int32_t stream_class, double bytes, double ctas);
  void change_class(std::int32_t slot, std::int32_t stream_class, double ctas);
  void remove(std::int32_t slot, double ctas);
  /// Makes `twin` stream as `slot` does; the number of CTAs stays, since both together are what `slot` was.
  void clone(std::int32_t slot, std::int32_t twin);
  double bytes_left(std::int32_t slot) const;

  /// Rates for the present members. To be called after changes and before the next two.
  void solve();
  /// Time until the next member ends, or infinity.
  double seconds_to_next() const;
  /// Lets `seconds` pass. Adds the CTA-seconds that memory and that arithmetic are answerable for.
  void advance(double seconds, double& memory, double& arithmetic);
  /// A member that is at its end, or -1. It must be removed before the next call.
  std::int32_t finished() const;

 private:
  /// Classes with one rate: the first lane is that of all classes that no cap has held back, others have one class
  /// each.
  struct Lane {
    double ctas = 0;
    double counter = 0;
    double rate = 0;
    double memory_share = 1;  ///< part of its time that memory is answerable for
    SlotTree ends;            ///< counter at which each member ends
  };
  /// Rates of one state of at most two classes, as they were computed once.
  struct Known {
    std::uint32_t generation = 0;
    double level = 0;
    double rate[2] = {0, 0};
    double memory_share[2] = {1, 1};
  };
  /// Known rates under one set of limits.
  struct Table {
    StreamLimits limits;
    std::uint32_t generation = 0;
    std::uint64_t used = 0;
    std::vector<Known> states;
  };

  Lane& lane_of(std::size_t stream_class) { return lanes_[lane_of_class_[stream_class]]; }
  std::span<Lane> lanes() { return std::span<Lane>(lanes_).first(lanes_in_use_); }
  std::span<const Lane> lanes() const { return std::span<const Lane>(lanes_).first(lanes_in_use_); }
  void detach(std::size_t stream_class);
  void choose_table(const StreamLimits& limits);
  /// Where the rates of the classes are, in a state of the table or here.
  struct Rates {
    double* of_class = nullptr;
    double* memory_share = nullptr;  ///< part of a class's time that memory is answerable for
  };
  void compute(Rates rates);
  Rates find_rates();
  Known* known_state();

  /// Schedules of one sweep alternate between few kernels, each with limits of its own.
  std::array<Table, 8> tables_;
  Table* table_ = nullptr;
  std::uint64_t resets_ = 0;
  bool keeps_ = false;
  std::vector<StreamClass> classes_;
  std::vector<double> rates_;  ///< per class, of a state that the table does not keep; as its memory shares
  std::vector<double> memory_share_;
  std::vector<std::size_t> lane_of_class_;
  std::vector<Lane> lanes_;
  std::size_t lanes_in_use_ = 1;
  std::vector<std::int32_t> class_of_slot_;
  double level_ = 0;
};

}  // namespace splitwave::simulator
