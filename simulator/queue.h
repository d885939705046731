// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace splitwave::simulator {

/// A priority queue of (key, slot) that is a plain array while keys arrive in ascending order, as they do for identical
/// CTAs, and a binary heap for the rest. The order of equal keys depends on
/// the order of the calls.
class EventQueue {
 public:
  struct Entry {
    double key = 0;
    std::int32_t slot = 0;
    std::uint32_t stamp = 0;
  };

  void clear() {
    sorted_.clear();
    heap_.clear();
    head_ = 0;
  }
  void push(double key, std::int32_t slot, std::uint32_t stamp) {
    if (head_ == sorted_.size()) {
      sorted_.clear();
      head_ = 0;
    }
    if (sorted_.empty() || sorted_.back().key <= key) {
      sorted_.push_back({key, slot, stamp});
    } else {
      heap_.push_back({key, slot, stamp});
      std::push_heap(heap_.begin(), heap_.end(), later);
    }
  }
  bool empty() const { return head_ == sorted_.size() && heap_.empty(); }
  /// Least entry; the queue must not be empty.
  const Entry& top() const { return from_heap() ? heap_.front() : sorted_[head_]; }
  double least_key() const { return empty() ? std::numeric_limits<double>::infinity() : top().key; }
  void pop() {
    if (from_heap()) {
      std::pop_heap(heap_.begin(), heap_.end(), later);
      heap_.pop_back();
    } else {
      ++head_;
    }
  }
  /// Moves the entries for which `take(entry)` is true to `other`; it may change their keys.
  template <typename Take>
  void move_if(EventQueue& other, const Take& take) {
    std::vector<Entry> kept;
    const auto sort_out = [&](Entry& entry) {
      if (take(entry)) {
        other.push(entry.key, entry.slot, entry.stamp);
      } else {
        kept.push_back(entry);
      }
    };
    for (; head_ < sorted_.size(); ++head_) sort_out(sorted_[head_]);
    for (Entry& entry : heap_) sort_out(entry);
    clear();
    for (const Entry& entry : kept) push(entry.key, entry.slot, entry.stamp);
  }

 private:
  static bool later(const Entry& a, const Entry& b) { return a.key > b.key; }
  bool from_heap() const { return !heap_.empty() && (head_ == sorted_.size() || later(sorted_[head_], heap_.front())); }

  std::vector<Entry> sorted_;
  std::vector<Entry> heap_;
  std::size_t head_ = 0;
};

}  // namespace splitwave::simulator
