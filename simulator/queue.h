// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace splitwave::simulator {

/// A priority queue of (key, slot) that is a plain array while keys arrive in ascending order, as the ends of phases of
/// equal length do, and a binary heap for the rest. The order of equal keys depends on the order of the calls.
class EventQueue {
 public:
  void clear() {
    sorted_.clear();
    heap_.clear();
    head_ = 0;
    least_key_ = kNever;
  }
  void push(double key, std::int32_t slot) {
    if (head_ == sorted_.size()) {
      sorted_.clear();
      head_ = 0;
    }
    if (sorted_.empty() || sorted_.back().key <= key) {
      sorted_.push_back({key, slot});
    } else {
      heap_.push_back({key, slot});
      std::push_heap(heap_.begin(), heap_.end(), Later{});
    }
    least_key_ = std::min(least_key_, key);
  }
  /// Least key, or infinity.
  double least_key() const { return least_key_; }
  /// Takes out an entry with the least key and returns its slot; the queue must not be empty.
  std::int32_t pop() {
    std::int32_t slot = 0;
    if (!heap_.empty() && heap_.front().key < sorted_key()) {
      slot = heap_.front().slot;
      std::pop_heap(heap_.begin(), heap_.end(), Later{});
      heap_.pop_back();
    } else {
      slot = sorted_[head_++].slot;
    }
    least_key_ = heap_.empty() ? sorted_key() : std::min(heap_.front().key, sorted_key());
    return slot;
  }

 private:
  static constexpr double kNever = std::numeric_limits<double>::infinity();
  struct Entry {
    double key = 0;
    std::int32_t slot = 0;
  };
  struct Later {
    bool operator()(const Entry& a, const Entry& b) const { return a.key > b.key; }
  };
  double sorted_key() const { return head_ < sorted_.size() ? sorted_[head_].key : kNever; }

  std::vector<Entry> sorted_;
  std::vector<Entry> heap_;
  std::size_t head_ = 0;
  double least_key_ = kNever;
};

}  // namespace splitwave::simulator
