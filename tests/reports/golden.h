// SPDX-License-Identifier: Apache-2.0
// Approved texts: an output is compared with a checked-in file. SPLITWAVE_ACCEPT_GOLDEN=1 writes the file instead.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

namespace splitwave::tests {

/// Expects `text` to be the content of FOLDER/NAME, FOLDER being the test target's golden folder.
inline void expect_golden(const std::string& name, const std::string& text) {
  const std::string path = std::string(SPLITWAVE_GOLDEN_FOLDER) + "/" + name;
  if (std::getenv("SPLITWAVE_ACCEPT_GOLDEN") != nullptr) {
    std::ofstream(path, std::ios::binary) << text;
    return;
  }
  std::ifstream file(path, std::ios::binary);
  ASSERT_TRUE(file) << path << " is missing; run the test with SPLITWAVE_ACCEPT_GOLDEN=1 and read what it wrote";
  const std::string approved((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (approved != text) {
    const auto [before, now] = std::mismatch(approved.begin(), approved.end(), text.begin(), text.end());
    const auto line = 1 + std::count(approved.begin(), before, '\n');
    const auto rest = [](auto from, auto end) { return std::string(from, std::find(from, end, '\n')); };
    ADD_FAILURE() << path << " differs from line " << line << " on.\napproved: ..." << rest(before, approved.end())
                  << "\nnow:      ..." << rest(now, text.end()) << "\nSPLITWAVE_ACCEPT_GOLDEN=1 accepts the new text";
  }
}

}  // namespace splitwave::tests
