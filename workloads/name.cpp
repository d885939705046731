// SPDX-License-Identifier: Apache-2.0
#include "workloads/name.h"

#include <fmt/format.h>

#include "base/digest.h"
#include "workloads/limits.h"

namespace splitwave::workloads {

std::string name_from(std::string_view text, std::size_t requests) {
  if (static_cast<std::int64_t>(text.size()) <= kMaxNameLength) return std::string(text);
  constexpr std::size_t kShown = 60;
  std::string_view shown = text.substr(0, kShown);
  // Whole segments of a batch, and no half of a UTF-8 character.
  if (const std::size_t end = shown.rfind('_'); end != std::string_view::npos) shown = shown.substr(0, end + 1);
  while (!shown.empty() && (static_cast<unsigned char>(text[shown.size()]) & 0xc0) == 0x80) shown.remove_suffix(1);
  base::Digest digest;
  digest.add(text);
  return fmt::format("{}...({} request{}, {})", shown, requests, requests == 1 ? "" : "s", digest.hex());
}

}  // namespace splitwave::workloads
