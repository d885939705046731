// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <string>

#include "base/error.h"

namespace splitwave::tests {

/// The call throws InputError with one short, printable line that holds all the parts.
template <typename Call>
void expect_refused(Call call, std::initializer_list<const char*> parts) {
  try {
    call();
  } catch (const base::InputError& error) {
    const std::string message = error.what();
    EXPECT_LT(message.size(), 600U) << message;
    EXPECT_TRUE(std::all_of(message.begin(), message.end(), [](char c) { return c >= ' ' && c <= '~'; })) << message;
    for (const char* part : parts)
      EXPECT_NE(message.find(part), std::string::npos) << part << "\nis not in\n" << message;
    return;
  }
  ADD_FAILURE() << "was accepted; " << (parts.size() == 0 ? "" : *parts.begin());
}

}  // namespace splitwave::tests
