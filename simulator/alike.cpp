// SPDX-License-Identifier: Apache-2.0
#include "simulator/alike.h"

#include <algorithm>
#include <bit>
#include <cstddef>

namespace splitwave::simulator {
namespace {

std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15ULL;
  return hash ^ (hash >> 29);
}

/// Numbers 0..count-1 by equality: an open-addressing table of representatives. `hash(i)` and `equal(i, j)` define it.
template <typename Hash, typename Equal>
void number_by_equality(std::int32_t count, const Hash& hash, const Equal& equal, std::vector<std::int32_t>& number) {
  number.assign(static_cast<std::size_t>(count), 0);
  static thread_local std::vector<std::int32_t> table;
  const std::size_t size = std::bit_ceil(static_cast<std::size_t>(count) * 2 + 1);
  table.assign(size, -1);
  std::int32_t next = 0;
  for (std::int32_t i = 0; i < count; ++i) {
    if (i > 0 && equal(i, i - 1)) {
      number[static_cast<std::size_t>(i)] = number[static_cast<std::size_t>(i - 1)];
      continue;
    }
    std::size_t place = static_cast<std::size_t>(hash(i)) & (size - 1);
    while (table[place] >= 0 && !equal(table[place], i)) place = (place + 1) & (size - 1);
    if (table[place] < 0) {
      table[place] = i;
      number[static_cast<std::size_t>(i)] = next++;
    } else {
      number[static_cast<std::size_t>(i)] = number[static_cast<std::size_t>(table[place])];
    }
  }
}

}  // namespace

void number_alike(const schedules::Plan& plan, const Work& work, std::int32_t count,
                  std::vector<std::int32_t>& kind_of_list) {
  const auto hash = [&](std::int32_t list) {
    std::uint64_t value = 0;
    for (const schedules::Item& item : plan.list(list)) {
      value = mix(value, static_cast<std::uint64_t>(item.tokens()) << 32 | work.cost_of(item));
    }
    return value;
  };
  const auto equal = [&](std::int32_t a, std::int32_t b) { return alike(plan, work, a, b); };
  number_by_equality(count, hash, equal, kind_of_list);
}

void group_alike(const std::vector<std::int32_t>& rows, std::int32_t width, std::vector<std::int32_t>& group_of_row) {
  const auto row = [&](std::int32_t i) { return rows.data() + static_cast<std::ptrdiff_t>(i) * width; };
  const auto hash = [&](std::int32_t i) {
    std::uint64_t value = 0;
    for (std::int32_t k = 0; k < width; ++k) value = mix(value, static_cast<std::uint32_t>(row(i)[k]));
    return value;
  };
  // A row is one or two numbers: a loop, not a call that compares memory.
  const auto equal = [&](std::int32_t a, std::int32_t b) {
    std::int32_t k = 0;
    while (k < width && row(a)[k] == row(b)[k]) ++k;
    return k == width;
  };
  number_by_equality(static_cast<std::int32_t>(rows.size()) / width, hash, equal, group_of_row);
}

}  // namespace splitwave::simulator
