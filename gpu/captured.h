// SPDX-License-Identifier: Apache-2.0
// What a captured launch has in itself, and which plans it can be replayed with. Private to gpu/.
#pragma once

#include "gpu/kernel_config.h"
#include "gpu/prepare.h"

namespace splitwave::gpu {

/// Kernels, grids and parameters are values in a graph: only the tables, which they point to, are another plan's after
/// it was set.
struct Captured {
  Launch decode;
  Launch merge;
  bool separate_merge = false;
  DecodeParams params;
  MergeParams merge_params;
  KernelConfig config;
  bool replayable = false;  ///< LaunchOptions::replayable
  bool boxes = false;       ///< keys come in boxes (key_map.h)
};

Captured captured_from(const Prepared& launched, bool boxes);

/// Throws InputError unless the captured launches do with the tables of `next` what its own would. fits_boxes: items of
/// `next` begin where boxes do.
void require_replayable(const Captured& captured, const Prepared& next, bool fits_boxes);

}  // namespace splitwave::gpu
