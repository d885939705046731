// SPDX-License-Identifier: Apache-2.0
// The folder's data files, which are compiled into the binary.
#pragma once

#include <span>
#include <string_view>

#include "base/embedded_file.h"

namespace splitwave::workloads {

/// The models' and the length distributions' file. Made by splitwave_embed.
std::span<const base::EmbeddedFile> data_files();

/// The shipped suites. Made by splitwave_embed.
std::span<const base::EmbeddedFile> suite_files();

/// Text of one of data_files(), which must be there.
std::string_view embedded_file(std::string_view name);

}  // namespace splitwave::workloads
