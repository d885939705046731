// SPDX-License-Identifier: Apache-2.0
// Device memory that a plan's launches record in. Private to gpu/.
#pragma once

#include "gpu/buffer.h"
#include "gpu/kernels/params.h"
#include "gpu/records.h"
#include "schedules/recording.h"

namespace splitwave::gpu {

class Recorder {
 public:
  Recorder() = default;  ///< records nothing
  /// Throws MissingError if the kernels do not record.
  explicit Recorder(RecorderShape shape);

  /// For the kernels' parameters; null if nothing is recorded.
  TimelineArrays arrays() const;

  /// Of the last launch, once it has ended.
  schedules::Recording read() const;

 private:
  RecorderShape shape_;
  DeviceBuffer<TimelineRecord> records_;
};

}  // namespace splitwave::gpu
