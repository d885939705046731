// SPDX-License-Identifier: Apache-2.0
#include "simulator/bound.h"

#include <algorithm>
#include <limits>

#include "simulator/clusters.h"
#include "simulator/merge.h"

namespace splitwave::simulator {
namespace {

/// What rounding may differ by between the bound and the event loop.
constexpr double kSlack = 1 - 1e-9;

struct Bytes {
  double all = 0;
  double of_longest_list = 0;
  std::int32_t lists = 0;  ///< of the first so many that have any
};

Bytes bytes_of(const schedules::Plan& plan, double bytes_per_token, std::int32_t first_wave) {
  Bytes bytes;
  for (std::int32_t list = 0; list < plan.lists(); ++list) {
    double tokens = 0;
    for (const schedules::Item& item : plan.list(list)) tokens += item.tokens();
    if (list < first_wave && tokens > 0) ++bytes.lists;
    bytes.all += tokens * bytes_per_token;
    bytes.of_longest_list = std::max(bytes.of_longest_list, tokens * bytes_per_token);
  }
  return bytes;
}

/// Most bytes/s of a CTA that is alone on the machine.
double lone_rate(const Work& work, const Machine& machine) {
  double least_arithmetic = std::numeric_limits<double>::infinity();
  for (const TokenSeconds& cost : work.seconds_per_byte) least_arithmetic = std::min(least_arithmetic, cost.alone);
  double rate = machine.sm_bytes_per_second;
  if (work.law.latency_seconds > 0) {
    rate = std::min(rate, work.law.lone_rate());
  }
  return least_arithmetic > 0 ? std::min(rate, 1 / least_arithmetic) : rate;
}

}  // namespace

namespace {

double least_seconds_of_workers(const workloads::Workload& workload, const schedules::Plan& plan,
                                const Machine& machine, const KernelProfile& kernel, const SimulateOptions& options) {
  const std::int32_t per_sm = options.ctas_per_sm > 0 ? options.ctas_per_sm : ctas_per_sm(machine, kernel);
  const std::int32_t resident = std::max(1, machine.sms * per_sm);
  const Work work = make_work(workload, plan, machine, kernel, options, resident);
  const Bytes bytes = bytes_of(plan, work.bytes_per_token, resident_ctas(plan, resident));
  double all_sms = std::min(machine.sms * machine.sm_bytes_per_second, work.law.l2_bytes_per_second);
  if (work.law.dram_share > 0) all_sms = std::min(all_sms, work.law.plateau / work.law.dram_share);
  const double stream = std::max(bytes.all / all_sms, bytes.of_longest_list / lone_rate(work, machine));
  const double full = static_cast<double>(bytes.lists) / resident;
  double before = launch_seconds(machine, kernel) + first_prologue_seconds(machine, kernel) + work.cold_seconds;
  // A list without items has none of this.
  if (bytes.all > 0) before += work.table_seconds + full * work.crowd_start_seconds + kernel.epilogue_seconds;
  return kSlack * (before + stream + separate_merge_seconds(workload, plan, machine, kernel));
}

}  // namespace

double least_seconds(const workloads::Workload& workload, const schedules::Plan& plan, const Machine& machine,
                     const KernelProfile& kernel, const SimulateOptions& options) {
  if (machine.cpu || plan.lists() == 0) return 0;
  if (kernel.cluster == 1) return least_seconds_of_workers(workload, plan, machine, kernel, options);
  const std::int32_t per_sm = options.ctas_per_sm > 0 ? options.ctas_per_sm : ctas_per_sm(machine, kernel);
  return least_seconds_of_workers(workload, plan, clustered(machine, kernel.cluster, per_sm), kernel, options);
}

}  // namespace splitwave::simulator
