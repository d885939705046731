// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace splitwave::workloads {

/// The name of a workload that was made from `text`, a one-line spec or a longer name than is allowed: the text itself
/// where it fits, else its beginning, the number of requests and a digest of the whole, such as
/// "llama-3-8b:1q1s371_1q1s4096_...(300 requests, 5f3a9c01d2e4b677)". The same text gives the same name everywhere.
std::string name_from(std::string_view text, std::size_t requests);

}  // namespace splitwave::workloads
