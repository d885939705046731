// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/output_files.h"
#include "reports/record.h"

namespace splitwave::cli {

/// Where records go as they come: kept for the tables, printed as JSON lines if asked, and appended to
/// FOLDER/records.jsonl, which is called records.jsonl.partial until finish().
class RecordSink {
 public:
  /// `folder` may be empty: nothing is written then. Throws InputError if the folder cannot be written or holds
  /// results.
  RecordSink(const std::string& folder, bool json);
  /// Says on standard error where records are kept if finish() was not reached.
  ~RecordSink();
  RecordSink(const RecordSink&) = delete;
  RecordSink& operator=(const RecordSink&) = delete;

  void add(reports::Record record);
  /// Completes records.jsonl and writes records.csv beside it.
  void finish();

  const std::vector<reports::Record>& records() const { return records_; }

 private:
  std::filesystem::path folder_;
  bool json_;
  std::vector<reports::Record> records_;
  std::optional<base::GrowingFile> file_;
  bool finished_ = false;
};

}  // namespace splitwave::cli
