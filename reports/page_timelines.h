// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "reports/page.h"

namespace splitwave::reports {

/// The page's section of timelines, each closed until its headline is clicked or a record's link leads into it: the
/// element with id timeline-N of the N-th. Empty if there are none.
std::string timelines_html(std::span<const PageTimeline> timelines);

}  // namespace splitwave::reports
