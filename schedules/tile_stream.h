// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "schedules/cut.h"

namespace splitwave::schedules {

/// Stream-K: lays the tiles of all outputs, one after another, on CTAs of equal shares (Osama et al., arXiv
/// 2301.03598). The first total % ctas CTAs take one tile more than the others.
class TileStream {
 public:
  /// Lists are appended to `plan`; `total` is the number of tiles that will be added.
  TileStream(Plan& plan, std::int64_t total, std::int64_t ctas);

  /// Adds `count` tiles of an output, the first at index `first_tile` of the tile grid. Tiles outside `range` take
  /// their place and give no item. An empty range gives one empty item, on the CTA of its first tile.
  void add(std::int32_t output, const workloads::KvRange& range, std::int64_t first_tile, std::int64_t count);

  /// Lets `count` tiles take their place without an item: padding of a plan made for the longest row.
  void skip(std::int64_t count);

  /// Ends the last list, and the lists of CTAs that got nothing.
  void finish();

 private:
  /// Takes up to `count` tiles for the current CTA, or the next if that is full; returns how many.
  std::int64_t take(std::int64_t count);
  std::int64_t share() const { return share_ + (cta_ < longer_ctas_ ? 1 : 0); }

  Plan& plan_;
  std::int64_t ctas_;
  std::int64_t share_;
  std::int64_t longer_ctas_;
  std::int64_t cta_ = 0;
  std::int64_t left_;  // tiles that the current CTA still takes
};

}  // namespace splitwave::schedules
