// SPDX-License-Identifier: Apache-2.0
#include "simulator/placement.h"

namespace splitwave::simulator {

void place_first_wave(const Machine& machine, std::int32_t ctas_per_sm, std::int32_t ctas,
                      std::vector<std::int32_t>& sm_of_cta) {
  sm_of_cta.resize(static_cast<std::size_t>(ctas));
  if (!machine.dispatch_order.empty()) {
    for (std::size_t cta = 0; cta < sm_of_cta.size(); ++cta) {
      sm_of_cta[cta] = machine.dispatch_order[cta % machine.dispatch_order.size()];
    }
    return;
  }
  auto next = sm_of_cta.begin();
  // Round r gives every GPC with room its CTA number r, which goes to SM r mod size: breadth first inside the GPC.
  for (std::int32_t round = 0; next != sm_of_cta.end(); ++round) {
    std::int32_t first_sm = 0;
    for (const std::int32_t size : machine.sms_per_gpc) {
      if (next == sm_of_cta.end()) return;
      if (round < size * ctas_per_sm) {
        std::int32_t sm = round;  // modulo size; a division takes longer than one or two steps
        while (sm >= size) sm -= size;
        *next++ = first_sm + sm;
      }
      first_sm += size;
    }
  }
}

}  // namespace splitwave::simulator
