// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "base/error.h"
#include "base/parallel.h"
#include "base/stop.h"
#include "reports/csv.h"
#include "reports/foreign_records.h"
#include "reports/record_files.h"

namespace splitwave::reports {
namespace {

/// Records that are turned into text at a time.
constexpr std::size_t kAtATime = 4096;

/// The text of a record, or why there is none.
struct Printed {
  std::string text;
  std::string problem;
};

}  // namespace

RecordPrinter::RecordPrinter(RecordFormat format, int threads, std::function<void(std::string_view text)> write,
                             std::function<void(const std::string& reason)> skip)
    : format_(format), threads_(threads), write_(std::move(write)), skip_(std::move(skip)) {
  if (format_ == RecordFormat::csv) write_(csv_header());
  if (format_ == RecordFormat::vllm) write_("[\n");
  if (format_ == RecordFormat::nvbench) {
    nvbench_ = std::make_shared<NvbenchPrinter>();
    write_(nvbench_->begin());
  }
}

void RecordPrinter::add(std::string_view json) {
  pending_.emplace_back(json);
  if (pending_.size() == kAtATime) write_pending();
}

std::string RecordPrinter::text_of(const Record& record) const {
  if (format_ == RecordFormat::csv) return csv_lines({&record, 1});
  if (format_ == RecordFormat::flashinfer) return to_flashinfer_trace(record) + '\n';
  if (format_ == RecordFormat::vllm) return to_vllm(record);
  return nvbench_->state(record);
}

void RecordPrinter::write_pending() {
  base::stop_if_asked();
  std::vector<Printed> printed(pending_.size());
  // The states of nvbench follow one another: their axes are gathered on the way.
  const int team = nvbench_ != nullptr || pending_.size() < 64 ? 1 : threads_;
  base::parallel(team, [&](int thread, int count) {
    for (std::size_t i = static_cast<std::size_t>(thread); i < printed.size(); i += static_cast<std::size_t>(count)) {
      if (format_ == RecordFormat::jsonl) {
        printed[i].text = pending_[i] + '\n';
        continue;
      }
      const Record record = parse_record(pending_[i], "record");
      try {
        printed[i].text = text_of(record);
      } catch (const base::InputError& error) {
        printed[i].problem = fmt::format("{} by {} ({}): not written: {}", record.workload, record.schedule,
                                         record.executor, error.what());
      }
    }
  });
  std::string text;
  for (const Printed& one : printed) {
    if (!one.problem.empty()) {
      skip_(one.problem);
      continue;
    }
    if (format_ == RecordFormat::vllm) text += std::exchange(first_, false) ? "" : ",\n";
    text += one.text;
  }
  pending_.clear();
  if (!text.empty()) write_(text);
}

void RecordPrinter::finish() {
  write_pending();
  if (format_ == RecordFormat::vllm) write_("\n]\n");
  if (nvbench_ != nullptr) write_(nvbench_->end());
}

}  // namespace splitwave::reports
