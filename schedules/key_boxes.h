// SPDX-License-Identifier: Apache-2.0
// Keys that kernels for latent attention take in boxes of 64 tokens (docs/kernels.md, "Seesaw kernels"): where, for
// those who launch such kernels and those who predict them.
#pragma once

#include <cstdint>

#include "workloads/workload.h"

namespace splitwave::schedules {

inline constexpr std::int32_t kTokensOfBox = 64;

/// Whether boxes pay: a request has more packed rows than a CTA takes, so that two CTAs and more take the same keys at
/// the same time. Of fewer rows boxes are 1 to 2 % slower.
bool boxes_pay(const workloads::Workload& workload, std::int32_t rows_of_cta);

/// Whether a page holds whole boxes: 64 tokens, 128 or any greater power of two.
bool page_holds_boxes(std::int32_t page_size);

}  // namespace splitwave::schedules
