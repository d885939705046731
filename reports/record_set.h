// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "reports/record_files.h"

namespace splitwave::reports {

/// Records of many files, each different one once, in the order of workload, schedule, executor, machine and then of a
/// digest of the rest. The lines are kept in a temporary file where they are many, so that a million takes some 100 MB.
class RecordSet {
 public:
  RecordSet() = default;
  ~RecordSet();
  RecordSet(const RecordSet&) = delete;
  RecordSet& operator=(const RecordSet&) = delete;

  /// From now on records are of this file; formats as read_record_file() gives them afterwards.
  void begin_file(const std::string& path);
  void end_file(RecordFormat format);

  void add(const PlacedRecord& placed);

  std::int64_t size() const { return static_cast<std::int64_t>(entries_.size()); }

  /// Gives each different record's line in order; `repeated` gets a line for each other one, with both places. Throws
  /// InputError if the temporary file cannot be used.
  void for_each(const std::function<void(std::string_view json)>& take,
                const std::function<void(const std::string& reason)>& repeated);

 private:
  struct Entry {
    std::uint32_t workload = 0;
    std::uint32_t schedule = 0;
    std::uint32_t executor = 0;
    std::uint32_t machine = 0;
    std::uint64_t digest = 0;
    std::int64_t begin = 0;  ///< of the line among all lines
    std::uint32_t length = 0;
    std::uint32_t file = 0;
    std::int64_t number = 0;
  };
  struct File {
    std::string path;
    RecordFormat format = RecordFormat::jsonl;
  };

  std::uint32_t name_id(const std::string& name);
  void sort();
  void flush();
  std::string line(const Entry& entry) const;
  std::string place(const Entry& entry) const;

  std::vector<Entry> entries_;
  std::vector<File> files_;
  std::vector<std::string> names_;
  std::unordered_map<std::string, std::uint32_t> ids_;
  std::string lines_;         ///< those after `flushed_`
  std::int64_t flushed_ = 0;  ///< bytes in the temporary file
  int descriptor_ = -1;
};

}  // namespace splitwave::reports
