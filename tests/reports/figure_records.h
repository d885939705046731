// SPDX-License-Identifier: Apache-2.0
// Records that allow every figure, with times whose ratios can be told by looking.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <vector>

#include "reports/figures.h"
#include "tests/reports/sample_records.h"

namespace splitwave::tests {

class FigureRecords {
 public:
  std::vector<reports::Record> take() {
    grid();
    ragged();
    cuts();
    swept();
    latent();
    of_programs();
    return std::move(records_);
  }

 private:
  reports::Record& add(const std::string& workload, const std::string& schedule, const std::string& executor,
                       double microseconds, const std::string& machine = "h200") {
    records_.push_back(record(workload, schedule, executor, machine, microseconds * 1e-6));
    return records_.back();
  }

  /// One shape by three schedules: predicted 2 : 1 : 0.5 of `microseconds`, measured slower by 1/4, 0 and 1/8.
  void shape(const std::string& workload, double microseconds, int batch) {
    constexpr double factors[] = {2, 1, 0.5};
    constexpr double slower[] = {1.25, 1, 1.125};
    constexpr const char* names[] = {"fa2", "fixed-split:fa2", "lean"};
    for (int i = 0; i < 3; ++i) {
      for (const char* executor : {"simulator", "cuda"}) {
        const bool predicted = executor == std::string("simulator");
        reports::Record& one =
            add(workload, names[i], executor, microseconds * factors[i] * (predicted ? 1 : slower[i]));
        one.bytes = static_cast<std::int64_t>(microseconds * 1e6);  // 1 TB/s for the baseline
        one.joules = 0.5 + i;
        if (!predicted) continue;
        one.waves = 0.75 * batch;
        one.breakdown = schedules::Breakdown{};
        if (i > 0) one.breakdown->merge = *one.seconds / (4 * i);
      }
    }
  }

  void grid() {
    for (const int heads : {4, 8, 16}) {
      for (const int thousands : {1, 2, 4}) {
        shape(fmt::format("h={0}/{0},d=64:1q1s{1}k", heads, thousands), heads * thousands, 1);
      }
    }
    for (const int batch : {2, 3, 4, 5, 6}) shape(fmt::format("h=8/8,d=64:{}q1s1k", batch), 8 * batch, batch);
  }

  void ragged() {
    for (const int thousands : {1, 2, 3}) {
      shape(fmt::format("h=8/8,d=64:1q1s4k_1q1s{}k", thousands), 8 * (4 + thousands), 2);
    }
  }

  /// Numbers of splits and of SMs.
  void cuts() {
    for (const int splits : {1, 2, 4}) {
      for (const char* executor : {"simulator", "cuda"}) {
        add("h=4/4,d=64:1q1s1k", fmt::format("fixed-split:{}", splits), executor, 16.0 / splits + 2 * splits);
      }
    }
    for (const int sms : {33, 66}) {
      add("h=16/16,d=64:1q1s4k", "lean", "simulator", 32.0 * 132 / sms, fmt::format("h200 (sms={})", sms));
    }
  }

  void swept() {
    for (const int context : {1024, 2048, 4096}) {
      for (const int sms : {80, 160}) {
        for (const char* schedule : {"fa2", "lean"}) {
          const double factor = schedule == std::string("fa2") ? 2 : 160.0 / sms;
          add(fmt::format("w (context={})", context), schedule, "simulator", context / 1024.0 * factor,
              fmt::format("b200 (sms={})", sms))
              .axes = fmt::format(R"({{"context":{},"sms":{}}})", context, sms);
        }
      }
    }
  }

  /// Latent attention, transposed or not.
  void latent() {
    for (const int heads : {16, 128}) {
      for (const int thousands : {1, 4}) {
        const std::string workload = fmt::format("h={}/1,d=576,dv=512,kind=mla:2q1s{}k", heads, thousands);
        add(workload, "flashmla", "simulator", 12.0 * thousands, "h20");
        add(workload, "flashmla", "simulator", thousands * (heads == 16 ? 6.0 : 16.0), "h20 (kernel=flashmla_etap)");
      }
    }
  }

  /// What `run --algorithm` and `end-to-end` write.
  void of_programs() {
    reports::Record algorithm = record("llama-3-8b:1q1s1k", "flash-attention-2:128x128", "cpu", "a cpu", 0);
    algorithm.seconds.reset();
    algorithm.io = reports::RecordIo{8192, 16777216, 0, 8192, 128, 0};
    records_.push_back(algorithm);
    algorithm.schedule = "standard";
    algorithm.io->scores = 1048576;
    records_.push_back(algorithm);
    for (const int thousands : {1, 2, 4}) {
      for (const double attention : {4.0, 2.0}) {
        reports::Record one =
            record(fmt::format("m:1q{}k+128", thousands), attention == 4 ? "fa2" : "lean", "simulator", "h200", 0);
        one.stages = reports::RecordStages{1, thousands * 1024, 128, 1, attention * thousands, 2, 3, 0.5, 0.25, 0.25};
        one.seconds = one.stages->total();
        records_.push_back(one);
      }
    }
  }

  std::vector<reports::Record> records_;
};

inline std::vector<reports::Record> figure_records() {
  return FigureRecords().take();
}

/// What their figures are made for.
inline reports::FigureRequest figure_request() {
  return {"fixed-split:fa2", {{"h200", {4.8e12, 9.9e14, 132}}}, {}, "command"};
}

}  // namespace splitwave::tests
