// SPDX-License-Identifier: Apache-2.0
#include "gpu/recorder.h"

#include <utility>
#include <vector>

#include "base/error.h"
#include "gpu/decode.h"

namespace splitwave::gpu {

void require_recording() {
#ifndef SPLITWAVE_TIMELINE
  throw base::MissingError(
      "the CUDA kernels of this binary record no timelines (-DSPLITWAVE_TIMELINE=ON builds such that do)");
#endif
}

Recorder::Recorder(RecorderShape shape) : shape_(std::move(shape)) {
  require_recording();
  records_ = DeviceBuffer<TimelineRecord>(static_cast<std::size_t>(shape_.size()));
  records_.fill_bytes(0);
}

TimelineArrays Recorder::arrays() const {
  TimelineRecord* const first = records_.get();
  if (first == nullptr) return {};
  return {first, first + shape_.first_item(), first + shape_.first_merge()};
}

schedules::Recording Recorder::read() const {
  std::vector<TimelineRecord> records(records_.size());
  records_.download(records);
  return recording_of(shape_, records);
}

}  // namespace splitwave::gpu
