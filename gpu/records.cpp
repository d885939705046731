// SPDX-License-Identifier: Apache-2.0
#include "gpu/records.h"

namespace splitwave::gpu {
namespace {

schedules::Stretch stretch_of(const TimelineRecord& record, std::int32_t item) {
  return {record.cta, record.sm, item, static_cast<std::int64_t>(record.begin_nanoseconds),
          static_cast<std::int64_t>(record.end_nanoseconds)};
}

bool written(const TimelineRecord& record) {
  return record.end_nanoseconds != 0;
}

}  // namespace

schedules::Recording recording_of(const RecorderShape& shape, std::span<const TimelineRecord> records) {
  const auto part = [&](std::int64_t first, std::int64_t count) {
    return records.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
  };
  schedules::Recording recording;
  for (const TimelineRecord& record : part(0, shape.ctas)) {
    if (written(record)) recording.ctas.push_back(stretch_of(record, -1));
  }
  for (const ItemPlace& one : shape.places) {
    const std::int64_t first = shape.first_item() + one.place * shape.ctas_per_item;
    for (const TimelineRecord& record : part(first, shape.ctas_per_item)) {
      if (written(record)) recording.work.push_back(stretch_of(record, static_cast<std::int32_t>(one.item)));
    }
  }
  for (const TimelineRecord& record : part(shape.first_merge(), shape.slots * shape.ctas_per_item)) {
    if (!written(record)) continue;
    schedules::Stretch merge = stretch_of(record, -1);
    if (shape.merge_kernel) {
      merge.cta += static_cast<std::int32_t>(shape.ctas);
      recording.ctas.push_back(merge);
    }
    recording.work.push_back(merge);
  }
  return recording;
}

}  // namespace splitwave::gpu
