// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "cpu_reference/verify.h"

namespace splitwave::studies {

/// A verdict for people: rules, figures, the worst element, what explains it.
std::string verdict_text(const std::string& name, const cpu_reference::Verification& result);

/// The same as one line of JSON, with the figures of every head and request (docs/verify.md).
std::string verdict_json(const std::string& name, const cpu_reference::Verification& result);

/// One line: why the verdict failed.
std::string verdict_reason(const cpu_reference::Verification& result);

}  // namespace splitwave::studies
