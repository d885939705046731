// SPDX-License-Identifier: Apache-2.0
// One set of costs for every kernel, made of the machine's latencies and of counts of instructions.
#include "benchmarks/accuracy/judge.h"

namespace splitwave::accuracy {

simulator::KernelProfile without_own_constants(simulator::KernelProfile kernel, const simulator::Machine& machine,
                                               const workloads::Geometry& geometry, schedules::MergeKind merge) {
  // Two dependent loads: lengths or page numbers, then Q.
  kernel.prologue_seconds = 2 * machine.dram_latency_seconds;
  kernel.overlapped_prologue_seconds = 0;
  kernel.queue_prologue_seconds = machine.dram_latency_seconds;
  // The result is stored, and its store is seen.
  kernel.epilogue_seconds = 2 * machine.flag_seconds;
  kernel.item_seconds = machine.dram_latency_seconds;
  kernel.refill_seconds = 0;
  // A graph node that loads the LSEs, then the partials.
  kernel.merge_launch_seconds = machine.launch_seconds + 2 * machine.l2_latency_seconds;
  kernel.queue_reset_seconds = machine.launch_seconds + machine.l2_latency_seconds;
  kernel.merge_seconds = 2 * machine.flag_seconds;
  // A waiting CTA reads whole padded partials one after the other: a window of L2 latency each.
  if (merge == schedules::MergeKind::host_cta) kernel.merge_seconds_per_split = machine.l2_latency_seconds;
  kernel.mma_efficiency = 1;
  // By instruction, from published prefill rates on H100: FlashAttention-3's 497 and 648 TFLOP/s for d = 64 and 128
  // give 0.29 and 0.32, FlashAttention-2's 350 TFLOP/s gives 0.68.
  kernel.unhidden_crowded = kernel.instruction == simulator::MmaInstruction::wgmma ? 0.3 : 0.68;
  kernel.unhidden_alone = kernel.unhidden_crowded;
  if (kernel.instruction == simulator::MmaInstruction::mma_sync) {
    // A tile of K or V is on its way, and 9/8 of it as in the read benchmark.
    const double row = 0.5 * static_cast<double>(workloads::kv_bytes_per_token(geometry));
    kernel.bytes_in_flight = static_cast<std::int64_t>(1.125 * kernel.tile_tokens * row);
  }
  if (kernel.instruction == simulator::MmaInstruction::cuda_core) {
    // Per row and token 16 threads issue 54 instructions on 128 lanes: 16 multiply-adds, 16 conversions, 8 of the
    // reduction, 6 of the softmax, 8 of addresses and masks. Per token, 32 threads issue 15 to load it, and 512 bytes
    // pass shared memory at 128 bytes per clock.
    kernel.clocks_per_token = 15.0 * 32 / 128 + 512.0 / 128;
    kernel.clocks_per_row_token = 54.0 * 16 / 128;
  }
  return kernel;
}

}  // namespace splitwave::accuracy
