// SPDX-License-Identifier: Apache-2.0
#include "reports/record_set.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <system_error>
#include <tuple>

#include "base/digest.h"
#include "base/error.h"

namespace splitwave::reports {
namespace {

/// Lines that are kept in memory before they go to the file.
constexpr std::size_t kBufferBytes = std::size_t{64} << 20;

[[noreturn]] void refuse_temporary(const std::string& path, int error) {
  throw base::InputError(fmt::format("{}: cannot keep records there: {}; allowed: a TMPDIR with free space", path,
                                     std::generic_category().message(error)));
}

/// A file without a name, in the folder for temporary files.
int open_temporary() {
  std::string path = (std::filesystem::temp_directory_path() / "splitwave-records-XXXXXX").string();
  const int descriptor = ::mkstemp(path.data());
  if (descriptor < 0) refuse_temporary(path, errno);
  ::unlink(path.c_str());
  return descriptor;
}

}  // namespace

RecordSet::~RecordSet() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void RecordSet::begin_file(const std::string& path) {
  files_.push_back({path, RecordFormat::jsonl});
}

void RecordSet::end_file(RecordFormat format) {
  files_.back().format = format;
}

std::uint32_t RecordSet::name_id(const std::string& name) {
  const auto [found, added] = ids_.try_emplace(name, static_cast<std::uint32_t>(names_.size()));
  if (added) names_.push_back(name);
  return found->second;
}

void RecordSet::add(const PlacedRecord& placed) {
  base::Digest digest;
  digest.add(placed.json);
  Entry entry;
  entry.workload = name_id(placed.record.workload);
  entry.schedule = name_id(placed.record.schedule);
  entry.executor = name_id(placed.record.executor);
  entry.machine = name_id(placed.record.machine);
  entry.digest = digest.value();
  entry.begin = flushed_ + static_cast<std::int64_t>(lines_.size());
  entry.length = static_cast<std::uint32_t>(placed.json.size());
  entry.file = static_cast<std::uint32_t>(files_.size() - 1);
  entry.number = placed.number;
  entries_.push_back(entry);
  lines_ += placed.json;
  if (lines_.size() >= kBufferBytes) flush();
}

void RecordSet::flush() {
  if (descriptor_ < 0) descriptor_ = open_temporary();
  for (std::string_view rest = lines_; !rest.empty();) {
    const ssize_t written = ::write(descriptor_, rest.data(), rest.size());
    if (written < 0 && errno != EINTR) refuse_temporary(std::filesystem::temp_directory_path().string(), errno);
    if (written > 0) rest.remove_prefix(static_cast<std::size_t>(written));
  }
  flushed_ += static_cast<std::int64_t>(lines_.size());
  lines_.clear();
}

std::string RecordSet::line(const Entry& entry) const {
  if (entry.begin >= flushed_) return lines_.substr(static_cast<std::size_t>(entry.begin - flushed_), entry.length);
  std::string text(entry.length, '\0');
  for (std::size_t have = 0; have < text.size();) {
    const ssize_t got = ::pread(descriptor_, text.data() + have, text.size() - have,
                                static_cast<off_t>(entry.begin + static_cast<std::int64_t>(have)));
    if (got == 0 || (got < 0 && errno != EINTR)) {
      refuse_temporary(std::filesystem::temp_directory_path().string(), got == 0 ? EIO : errno);
    }
    if (got > 0) have += static_cast<std::size_t>(got);
  }
  return text;
}

std::string RecordSet::place(const Entry& entry) const {
  const File& file = files_[entry.file];
  return place_of(file.path, file.format, entry.number);
}

void RecordSet::sort() {
  std::vector<std::uint32_t> order(names_.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return names_[a] < names_[b]; });
  std::vector<std::uint32_t> rank(names_.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) rank[order[i]] = i;
  const auto key = [&](const Entry& entry) {
    return std::tuple(rank[entry.workload], rank[entry.schedule], rank[entry.executor], rank[entry.machine],
                      entry.digest, entry.file, entry.number);
  };
  std::sort(entries_.begin(), entries_.end(), [&](const Entry& a, const Entry& b) { return key(a) < key(b); });
}

void RecordSet::for_each(const std::function<void(std::string_view json)>& take,
                         const std::function<void(const std::string& reason)>& repeated) {
  sort();
  // Records of one digest are one record, or, should two different ones ever share it, are told apart by their text.
  std::vector<std::pair<const Entry*, std::string>> alike;
  for (const Entry& entry : entries_) {
    std::string text = line(entry);
    if (!alike.empty() && alike.front().first->digest != entry.digest) alike.clear();
    const auto same = std::find_if(alike.begin(), alike.end(), [&](const auto& one) { return one.second == text; });
    if (same != alike.end()) {
      repeated(fmt::format("{}: repeats {}", place(entry), place(*same->first)));
      continue;
    }
    take(text);
    alike.emplace_back(&entry, std::move(text));
  }
}

}  // namespace splitwave::reports
