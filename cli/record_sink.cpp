// SPDX-License-Identifier: Apache-2.0
#include "cli/record_sink.h"

#include <fmt/format.h>

#include "cli/output.h"
#include "reports/csv.h"

namespace splitwave::cli {

RecordSink::RecordSink(const std::string& folder, bool json) : folder_(folder), json_(json) {
  if (!folder.empty()) {
    base::make_folder(folder_);
    base::expect_absent(folder_ / "records.csv");
    file_.emplace(folder_ / "records.jsonl");
  }
}

RecordSink::~RecordSink() {
  if (file_ && !finished_ && !records_.empty()) {
    note(fmt::format("ended early; {} records are kept in {}", records_.size(), file_->partial_path().string()));
  }
}

void RecordSink::add(reports::Record record) {
  const std::string line = to_json(record);
  if (file_) {
    file_->append(line);
  }
  records_.push_back(std::move(record));
  if (json_) {
    print(line + '\n');
  }
}

void RecordSink::finish() {
  if (file_) {
    base::write_new_file(folder_ / "records.csv", reports::to_csv(records_));
    file_->finish();
  }
  finished_ = true;
}

}  // namespace splitwave::cli
