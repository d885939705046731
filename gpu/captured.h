// SPDX-License-Identifier: Apache-2.0
// Which plans a captured launch can be replayed with. Private to gpu/.
#pragma once

#include "gpu/prepare.h"

namespace splitwave::gpu {

/// What a graph launches.
struct Captured : Launches {
  bool boxes = false;  ///< keys come in boxes (key_map.h)
};

/// Throws InputError unless the captured launches do with the tables of `next` what its own would. fits_boxes: items of
/// `next` begin where boxes do.
void require_replayable(const Captured& captured, const Prepared& next, bool fits_boxes);

}  // namespace splitwave::gpu
