// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace splitwave::simulator {

/// A priority queue of (key, slot) that is a plain array while keys arrive in ascending order, as the ends of phases of
/// equal length do, and a binary heap for the rest. Equal keys come out in an order that depends on the calls, and
/// not on how a library's heap breaks ties.
class EventQueue {
 public:
  void clear() {
    sorted_.clear();
    heap_.clear();
    head_ = 0;
    sorted_key_ = kNever;
    heap_key_ = kNever;
  }
  void push(double key, std::int32_t slot) {
    if (sorted_key_ == kNever || sorted_.back().key <= key) {
      if (head_ >= kMostTaken && 2 * head_ >= sorted_.size()) forget_taken();
      sorted_.push_back({key, slot});
      sorted_key_ = std::min(sorted_key_, key);
    } else {
      heap_.push_back({key, slot});
      std::push_heap(heap_.begin(), heap_.end(), Later{});
      heap_key_ = heap_.front().key;
    }
  }
  /// Least key, or infinity.
  double least_key() const { return std::min(sorted_key_, heap_key_); }
  /// Takes out an entry with the least key and returns its slot; the queue must not be empty.
  std::int32_t pop() {
    if (heap_key_ < sorted_key_) {
      const std::int32_t slot = heap_.front().slot;
      std::pop_heap(heap_.begin(), heap_.end(), Later{});
      heap_.pop_back();
      heap_key_ = kNever;
      if (!heap_.empty()) heap_key_ = heap_.front().key;
      return slot;
    }
    const std::int32_t slot = sorted_[head_++].slot;
    sorted_key_ = kNever;
    if (head_ < sorted_.size()) sorted_key_ = sorted_[head_].key;
    return slot;
  }

 private:
  static constexpr double kNever = std::numeric_limits<double>::infinity();
  /// Entries that were taken out and may stay in the array: few enough for the cache.
  static constexpr std::size_t kMostTaken = 64;
  struct Entry {
    double key = 0;
    std::int32_t slot = 0;
  };
  struct Later {
    bool operator()(const Entry& a, const Entry& b) const { return a.key != b.key ? a.key > b.key : a.slot > b.slot; }
  };
  void forget_taken() {
    sorted_.erase(sorted_.begin(), sorted_.begin() + static_cast<std::ptrdiff_t>(head_));
    head_ = 0;
  }

  std::vector<Entry> sorted_;
  std::vector<Entry> heap_;
  std::size_t head_ = 0;        ///< first of sorted_ that is not taken out
  double sorted_key_ = kNever;  ///< least of either, or infinity
  double heap_key_ = kNever;
};

}  // namespace splitwave::simulator
