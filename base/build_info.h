// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace splitwave::base {

/// Version of the project ("0.1.0").
std::string version();

/// Commit that the binary was built from, 12 digits, with "-dirty" if tracked files were changed; "unknown" if the
/// sources were not in a git checkout.
std::string commit();

}  // namespace splitwave::base
