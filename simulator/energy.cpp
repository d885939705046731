// SPDX-License-Identifier: Apache-2.0
#include "simulator/energy.h"

#include <cmath>
#include <cstddef>
#include <cstdint>

namespace splitwave::simulator {

double mma_flops(const workloads::Workload& workload, const schedules::Plan& plan, const KernelProfile& kernel) {
  if (kernel.instruction == MmaInstruction::cuda_core) return 0;
  const double per_row_token = 2.0 * (workload.geometry.head_dim + workload.geometry.value_dim);
  double row_tokens = 0;
  for (const schedules::Item& item : plan.items) {
    const std::int32_t rows = plan.outputs[static_cast<std::size_t>(item.output)].rows();
    const std::int32_t padded = (rows + kernel.mma_rows - 1) / kernel.mma_rows * kernel.mma_rows;
    row_tokens += static_cast<double>(padded) * item.tokens();
  }
  return per_row_token * row_tokens;
}

namespace {

/// At the clock of the constants, whatever the limit.
std::optional<schedules::Energy> unlimited(const workloads::Workload& workload, const schedules::Plan& plan,
                                           const schedules::Timeline& timeline, const Machine& machine,
                                           const KernelProfile& kernel) {
  if (!machine.energy || kernel.instruction == MmaInstruction::cuda_core) return std::nullopt;
  const EnergyConstants& constants = *machine.energy;
  const schedules::Traffic& bytes = timeline.traffic;
  const std::int64_t through_l2 = bytes.kv_dram_read + bytes.kv_l2_read + bytes.q_read + bytes.output_written +
                                  bytes.partials_written + bytes.partials_read;
  schedules::Energy joules;
  joules.idle = constants.idle_watts * timeline.seconds;
  joules.sms = constants.sm_watts * timeline.sm_seconds;
  joules.dram = constants.dram_joules_per_byte * static_cast<double>(bytes.kv_dram_read);
  joules.l2 = constants.l2_joules_per_byte * static_cast<double>(through_l2);
  joules.shared = constants.shared_joules_per_byte * kernel.shared_reads *
                  static_cast<double>(bytes.kv_dram_read + bytes.kv_l2_read);
  joules.arithmetic = constants.joules_per_flop * mma_flops(workload, plan, kernel);
  return joules;
}

/// Share of what is above idle that the limit leaves: 1 or less.
double share_within_limit(const schedules::Energy& joules, double seconds, const EnergyConstants& constants) {
  const double above = joules.total() - joules.idle;
  const double allowed = constants.limit_watts * seconds - joules.idle;
  return above > allowed && allowed > 0 ? allowed / above : 1;
}

}  // namespace

std::optional<schedules::Energy> energy(const workloads::Workload& workload, const schedules::Plan& plan,
                                        const schedules::Timeline& timeline, const Machine& machine,
                                        const KernelProfile& kernel) {
  std::optional<schedules::Energy> joules = unlimited(workload, plan, timeline, machine, kernel);
  if (!joules) return joules;
  const double share = share_within_limit(*joules, timeline.seconds, *machine.energy);
  for (double* part : {&joules->sms, &joules->dram, &joules->l2, &joules->shared, &joules->arithmetic}) *part *= share;
  return joules;
}

double clock_share(const workloads::Workload& workload, const schedules::Plan& plan,
                   const schedules::Timeline& timeline, const Machine& machine, const KernelProfile& kernel) {
  if (!machine.energy || std::isinf(machine.energy->limit_watts)) return 1;
  const std::optional<schedules::Energy> joules = unlimited(workload, plan, timeline, machine, kernel);
  return joules ? std::cbrt(share_within_limit(*joules, timeline.seconds, *machine.energy)) : 1;
}

}  // namespace splitwave::simulator
