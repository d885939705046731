// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "reports/record.h"

namespace splitwave::tests {

inline reports::Record record(const std::string& workload, const std::string& schedule, const std::string& executor,
                              const std::string& machine, double seconds) {
  reports::Record result;
  result.workload = workload;
  result.schedule = schedule;
  result.executor = executor;
  result.machine = machine;
  result.seconds = seconds;
  result.commit = "0123456789ab";
  result.version = "0.1.0";
  return result;
}

/// A record with every key.
inline reports::Record full_record() {
  reports::Record result = record("llama-3-8b.8x32k", "lean", "cpu", "a processor (2 threads)", 0.0125);
  result.chosen = "fixed-split:4+last_arriver";
  result.seconds_p20 = 0.012;
  result.seconds_p80 = 0.014;
  result.samples = 5;
  result.interrupted = 2;
  result.sampled_groups = 16;
  result.bytes = 1074266112;
  result.bytes_per_second = 1074266112 / 0.0125;
  result.num_splits = 3;
  result.ctas = 2;
  result.waves = 1;
  result.occupancy = 0.99;
  result.merge = "host_cta";
  result.kernel = "r1w4s4t16c8";
  result.rounding = "fa3";
  result.read_seconds = 0.011;
  result.plan_seconds = 2e-5;
  result.joules = 4.5;
  result.sm_clock_mhz = 1980;
  result.speed_up = reports::RecordSpeedUp{"fixed-split:fa2", 1.25, 1.2, 1.3, 9};
  result.probes = reports::RecordProbes{3e10, 5e10, 2e-11, 1e-6, 1.25e-6, 1e-8, 0.0625, 0.03125, 9, 2.25, 1.5e-6};
  result.breakdown = schedules::Breakdown{1e-5, 2e-5, 0.012, 0, 1e-4, 0.0003, 7e-5};
  result.traffic = schedules::Traffic{1073741824, 536870912, 262144, 262144, 24768, 16512};
  result.energy = schedules::Energy{1.5, 0.5, 1.75, 0.375, 0.25, 0.125};
  result.io = reports::RecordIo{8192, 16777216, 1048576, 8192, 128, 264192};
  result.stages = reports::RecordStages{2, 8192, 1024, 0.25, 0.5, 0.125, 0.75, 0.0625, 0.03125, 0.015625};
  result.error = reports::RecordError{2.5e-4, 1e-5, 3e-4, 1.1e-5};
  result.repeat = reports::RecordRepeat{10, 1, "run 4: output of request 0"};
  result.failure = "none; the key is here to be seen";
  result.device = "a device";
  result.driver = "580.159.04";
  result.axes = R"({"context":1024,"dtype":"f16"})";
  return result;
}

/// Two workloads, three schedules: predicted for a GPU and for a CPU, measured on the CPU; one point cannot run.
inline std::vector<reports::Record> comparison() {
  std::vector<reports::Record> records;
  const auto add = [&](const std::string& workload, const std::string& schedule, double gpu, double predicted,
                       double measured) {
    for (auto [executor, machine, seconds] :
         {std::tuple{"simulator", "h200", gpu}, std::tuple{"simulator", "a cpu", predicted},
          std::tuple{"cpu", "a cpu", measured}}) {
      reports::Record one = record(workload, schedule, executor, machine, seconds);
      one.num_splits = schedule == "fa2" ? 1 : 4;
      one.ctas = std::string(machine) == "h200" ? 132 : 2;
      one.waves = std::string(machine) == "h200" ? 0.5 : 1;
      one.bytes = 1 << 20;
      one.bytes_per_second = (1 << 20) / seconds;
      if (one.executor == "cpu") {
        one.error = reports::RecordError{1e-4, 1e-5, 1e-3};
      }
      records.push_back(one);
    }
  };
  add("short", "fixed-split:fa2", 10e-6, 1.0e-3, 1.1e-3);
  add("short", "fa2", 12e-6, 2.0e-3, 1.9e-3);
  add("short", "lean", 8e-6, 0.9e-3, 1.2e-3);
  add("long|ragged", "fixed-split:fa2", 40e-6, 10e-3, 10e-3);
  add("long|ragged", "lean", 20e-6, 8e-3, 7e-3);
  reports::Record failed = record("long|ragged", "fa2", "simulator", "h200", 0);
  failed.seconds.reset();
  failed.failure = "head_dim 512 is outside the rule";
  records.push_back(failed);
  return records;
}

}  // namespace splitwave::tests
