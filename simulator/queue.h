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
  struct Entry {
    double key = 0;
    std::int32_t slot = 0;
  };

  void clear() {
    sorted_.clear();
    heap_.clear();
    head_ = 0;
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
  }
  bool empty() const { return head_ == sorted_.size() && heap_.empty(); }
  /// Least entry; the queue must not be empty.
  const Entry& top() const { return from_heap() ? heap_.front() : sorted_[head_]; }
  double least_key() const { return empty() ? std::numeric_limits<double>::infinity() : top().key; }
  void pop() {
    if (from_heap()) {
      std::pop_heap(heap_.begin(), heap_.end(), Later{});
      heap_.pop_back();
    } else {
      ++head_;
    }
  }

 private:
  struct Later {
    bool operator()(const Entry& a, const Entry& b) const { return a.key > b.key; }
  };
  bool from_heap() const {
    return !heap_.empty() && (head_ == sorted_.size() || heap_.front().key < sorted_[head_].key);
  }

  std::vector<Entry> sorted_;
  std::vector<Entry> heap_;
  std::size_t head_ = 0;
};

}  // namespace splitwave::simulator
