// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace splitwave::simulator {

/// Keys of slots, and which is least: a complete binary tree whose leaves are the slots and whose nodes name the one
/// with the lesser key of their two children's. A new key costs a way towards the root as far as it is the least, which
/// for one of many is a step or two; taking a key away costs the whole way, without a branch that depends on the keys.
class SlotTree {
 public:
  static constexpr double kNone = std::numeric_limits<double>::infinity();

  /// Forgets all keys and makes room for slots [0, slots).
  void reset(std::size_t slots) {
    leaves_ = std::bit_ceil(std::max<std::size_t>(slots, 2));
    keys_.assign(leaves_, kNone);
    least_.resize(2 * leaves_);
    for (std::size_t slot = 0; slot < leaves_; ++slot) least_[leaves_ + slot] = static_cast<std::int32_t>(slot);
    for (std::size_t node = leaves_ - 1; node > 0; --node) least_[node] = least_[2 * node];
    least_key_ = kNone;
  }
  void grow(std::size_t slots) {
    if (slots <= leaves_) return;
    const std::vector<double> old = keys_;
    reset(slots);
    for (std::size_t slot = 0; slot < old.size(); ++slot) {
      if (old[slot] < kNone) insert(static_cast<std::int32_t>(slot), old[slot]);
    }
  }
  /// Gives a slot that has no key one.
  void insert(std::int32_t slot, double key) {
    double* const keys = keys_.data();
    std::int32_t* const nodes = least_.data();
    keys[slot] = key;
    for (std::size_t node = (leaves_ + static_cast<std::size_t>(slot)) / 2; node > 0; node /= 2) {
      if (keys[nodes[node]] < key) return;
      nodes[node] = slot;
    }
    least_key_ = key;
  }
  void erase(std::int32_t slot) {
    double* const keys = keys_.data();
    std::int32_t* const nodes = least_.data();
    keys[slot] = kNone;
    double key = kNone;
    for (std::size_t node = leaves_ + static_cast<std::size_t>(slot); node > 1; node /= 2) {
      const std::int32_t other = nodes[node ^ 1];
      const double other_key = keys[other];
      // Arithmetic, as compilers may make a branch of a choice.
      const std::int32_t stays = -static_cast<std::int32_t>(key < other_key);
      slot = other ^ ((slot ^ other) & stays);
      key = std::min(other_key, key);
      nodes[node / 2] = slot;
    }
    least_key_ = key;
  }
  double least_key() const { return least_key_; }
  /// A slot with the least key; there must be a key.
  std::int32_t least_slot() const { return least_[1]; }
  double key(std::int32_t slot) const { return keys_[static_cast<std::size_t>(slot)]; }

 private:
  std::size_t leaves_ = 2;
  double least_key_ = kNone;
  std::vector<double> keys_ = std::vector<double>(2, kNone);
  std::vector<std::int32_t> least_ = {0, 0, 0, 1};  ///< the root is node 1, the leaves are the last half
};

}  // namespace splitwave::simulator
