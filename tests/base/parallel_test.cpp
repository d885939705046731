// SPDX-License-Identifier: Apache-2.0
#include "base/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <new>
#include <stdexcept>

namespace splitwave::base {
namespace {

TEST(Parallel, EveryThreadRunsTheBodyOnce) {
  std::atomic<int> ran = 0;
  std::atomic<int> sum = 0;
  int size = 0;
  parallel(3, [&](int thread, int team) {
    ++ran;
    sum += thread;
    if (thread == 0) size = team;
  });
  EXPECT_EQ(ran, size);
  EXPECT_EQ(sum, size * (size - 1) / 2);
}

TEST(Parallel, WhatAThreadThrowsIsThrownWhenAllHaveEnded) {
  std::atomic<int> ended = 0;
  int size = 1;
  try {
    parallel(2, [&](int thread, int team) {
      if (thread == 0) size = team;
      if (thread == team - 1) throw std::bad_alloc();
      ++ended;
    });
    ADD_FAILURE() << "nothing was thrown";
  } catch (const std::bad_alloc&) {
  }
  EXPECT_EQ(ended, size - 1);
}

TEST(Parallel, OfSeveralExceptionsOneIsThrown) {
  EXPECT_THROW(parallel(4, [](int, int) { throw std::runtime_error("each"); }), std::runtime_error);
  int ran = 0;
  parallel(1, [&](int, int) { ++ran; });
  EXPECT_EQ(ran, 1) << "the next team knows nothing of it";
}

}  // namespace
}  // namespace splitwave::base
