// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schedules/schedules.h"

namespace splitwave::tests {

/// The row of a schedule that splitwave does not ship: every output that has two KV tiles is cut once, at the tile
/// boundary nearest to its middle.
schedules::Schedule halves_row();

}  // namespace splitwave::tests
