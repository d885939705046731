// SPDX-License-Identifier: Apache-2.0
#include "simulator/slot_tree.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>

namespace splitwave::simulator {
namespace {

TEST(SlotTree, TellsTheLeastKeyAndItsSlot) {
  SlotTree tree;
  tree.reset(5);
  EXPECT_EQ(tree.least_key(), SlotTree::kNone);
  tree.insert(3, 7);
  tree.insert(0, 9);
  EXPECT_EQ(tree.least_slot(), 3);
  tree.erase(3);
  tree.insert(3, 10);
  EXPECT_EQ(tree.least_slot(), 0);
  tree.erase(0);
  EXPECT_EQ(tree.least_key(), 10);
  tree.grow(100);
  tree.insert(99, 1);
  EXPECT_EQ(tree.least_slot(), 99);
  EXPECT_EQ(tree.key(3), 10);
}

RC_GTEST_PROP(SlotTree, AgreesWithAMap, ()) {
  SlotTree tree;
  tree.reset(1);
  std::map<std::int32_t, double> keys;
  for (int step = 0; step < 200; ++step) {
    const auto slot = *rc::gen::inRange(0, 70);
    tree.grow(static_cast<std::size_t>(slot) + 1);
    if (keys.erase(slot) > 0) {
      tree.erase(slot);
    } else {
      keys[slot] = *rc::gen::inRange(0, 20);  // few keys, so that many are equal
      tree.insert(slot, keys[slot]);
    }
    const auto least =
        std::min_element(keys.begin(), keys.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    if (least == keys.end()) {
      RC_ASSERT(tree.least_key() == SlotTree::kNone);
      continue;
    }
    RC_ASSERT(tree.least_key() == least->second);
    RC_ASSERT(keys.at(tree.least_slot()) == least->second);
  }
}

}  // namespace
}  // namespace splitwave::simulator
