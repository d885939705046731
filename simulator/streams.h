// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/bandwidth.h"
#include "simulator/queue.h"

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
/// rate and share a counter and a queue, so that a slot that changes between them need not move.
class Streams {
 public:
  /// Forgets all slots. Rates that were computed under equal limits are kept.
  void reset(const StreamLimits& limits);

  void add(std::int32_t slot, std::int32_t stream_class, double bytes, double ctas);
  void change_class(std::int32_t slot, std::int32_t stream_class, double ctas);
  void remove(std::int32_t slot, double ctas);
  /// Makes `twin` stream as `slot` does; the number of CTAs stays, since both together are what `slot` was.
  void clone(std::int32_t slot, std::int32_t twin);
  double bytes_left(std::int32_t slot) const;

  /// Rates for the present members. To be called after changes and before the next two.
  void solve();
  /// Time until the next member ends, or infinity.
  double seconds_to_next();
  /// Lets `seconds` pass. Adds the CTA-seconds that memory and that arithmetic are answerable for.
  void advance(double seconds, double& memory, double& arithmetic);
  /// A member that is at its end, or -1. It must be removed before the next call.
  std::int32_t finished();

 private:
  struct Member {
    double key = 0;
    std::int32_t stream_class = -1;
    std::uint32_t stamp = 0;  ///< queue entries with another stamp are stale
  };
  /// Rates of one state of at most two classes, as they were computed once.
  struct Known {
    std::uint32_t generation = 0;
    double level = 0;
    double rate[2] = {0, 0};
    double memory_share[2] = {1, 1};
  };

  Member& at(std::int32_t slot) { return members_[static_cast<std::size_t>(slot)]; }
  void push(std::int32_t slot);
  void detach(std::size_t stream_class);
  void compute();
  Known* known_state();
  double& counter_of(std::size_t stream_class) {
    return shared_[stream_class] ? shared_counter_ : counters_[stream_class];
  }
  EventQueue& queue_of(std::size_t stream_class) {
    return shared_[stream_class] ? shared_queue_ : queues_[stream_class];
  }
  void drop_stale(EventQueue& queue);

  StreamLimits limits_;
  std::vector<Member> members_;
  std::vector<StreamClass> classes_;
  std::vector<double> memory_share_;  ///< part of a class's time that memory is answerable for
  std::vector<char> shared_;          ///< of a class: it is in the shared queue
  std::vector<double> counters_;
  std::vector<EventQueue> queues_;
  EventQueue shared_queue_;
  double shared_counter_ = 0;
  double shared_ctas_ = 0;
  double level_ = 0;
  std::vector<Known> known_;
  std::uint32_t generation_ = 0;
};

}  // namespace splitwave::simulator
