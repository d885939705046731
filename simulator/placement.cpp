// SPDX-License-Identifier: Apache-2.0
#include "simulator/placement.h"

namespace splitwave::simulator {

void place_first_wave(const Machine& machine, std::int32_t ctas_per_sm, std::int32_t ctas,
                      std::vector<std::int32_t>& sm_of_cta) {
  sm_of_cta.clear();
  // Round r gives every GPC with room its CTA number r, which goes to SM r mod size: breadth first inside the GPC.
  for (std::int32_t round = 0; static_cast<std::int32_t>(sm_of_cta.size()) < ctas; ++round) {
    std::int32_t first_sm = 0;
    for (const std::int32_t size : machine.sms_per_gpc) {
      if (static_cast<std::int32_t>(sm_of_cta.size()) == ctas) return;
      if (round < size * ctas_per_sm) {
        std::int32_t sm = round;  // modulo size; a division takes longer than one or two steps
        while (sm >= size) sm -= size;
        sm_of_cta.push_back(first_sm + sm);
      }
      first_sm += size;
    }
  }
}

}  // namespace splitwave::simulator
