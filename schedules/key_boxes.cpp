// SPDX-License-Identifier: Apache-2.0
#include "schedules/key_boxes.h"

#include <bit>

#include "schedules/cut.h"

namespace splitwave::schedules {

bool boxes_pay(const workloads::Workload& workload, std::int32_t rows_of_cta) {
  return packed_rows(workload.geometry, workloads::max_query_len(workload)) > rows_of_cta;
}

bool page_holds_boxes(std::int32_t page_size) {
  return page_size >= kTokensOfBox && std::has_single_bit(static_cast<std::uint32_t>(page_size));
}

}  // namespace splitwave::schedules
