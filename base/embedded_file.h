// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

namespace splitwave::base {

/// A data file compiled into the binary (cmake/Embed.cmake): its name without folder and ending, and its text.
struct EmbeddedFile {
  std::string_view name;
  std::string_view text;
};

}  // namespace splitwave::base
