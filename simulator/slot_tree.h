// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace splitwave::simulator {

/// Keys of slots, and which is least: a complete binary tree whose leaves are the slots and whose nodes hold the lesser
/// of their two children. A change costs a way towards the root, as far as anything changes on it, and a slot's key can
/// be changed or taken away at any time.
class SlotTree {
 public:
  static constexpr double kNone = std::numeric_limits<double>::infinity();

  /// Forgets all keys and makes room for slots [0, slots).
  void reset(std::size_t slots) {
    leaves_ = std::bit_ceil(std::max<std::size_t>(slots, 2));
    nodes_.assign(2 * leaves_, {});
    for (std::size_t slot = 0; slot < leaves_; ++slot) nodes_[leaves_ + slot].slot = static_cast<std::int32_t>(slot);
  }
  void grow(std::size_t slots) {
    if (slots <= leaves_) return;
    const std::vector<Node> old(nodes_.begin() + static_cast<std::ptrdiff_t>(leaves_), nodes_.end());
    reset(slots);
    for (const Node& node : old) {
      if (node.key < kNone) set(node.slot, node.key);
    }
  }
  void set(std::int32_t slot, double key) {
    std::size_t place = leaves_ + static_cast<std::size_t>(slot);
    nodes_[place].key = key;
    for (Node least = nodes_[place]; place > 1;) {
      const Node other = nodes_[place ^ 1];
      place /= 2;
      const bool mine = least.key < other.key;
      least.slot = mine ? least.slot : other.slot;
      least.key = mine ? least.key : other.key;
      if (nodes_[place].slot == least.slot && nodes_[place].key == least.key) return;  // nothing changes above
      nodes_[place] = least;
    }
  }
  void clear(std::int32_t slot) { set(slot, kNone); }
  double least_key() const { return nodes_[1].key; }
  /// A slot with the least key; there must be a key.
  std::int32_t least_slot() const { return nodes_[1].slot; }
  double key(std::int32_t slot) const { return nodes_[leaves_ + static_cast<std::size_t>(slot)].key; }

 private:
  struct Node {
    double key = kNone;
    std::int32_t slot = 0;
  };
  std::size_t leaves_ = 2;
  std::vector<Node> nodes_ = std::vector<Node>(4);
};

}  // namespace splitwave::simulator
