// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

namespace splitwave::gpu {

/// So many SMs of the current device instead of all: a green context (CUDA driver API, "Green Contexts", 12.4), the
/// calling thread's current context while this lives. L2 and memory are not parted. The driver picks the SMs, in groups
/// whose clusters find room (eight of a GPC on Hopper), spread over the GPCs; simulator/partition.h says which.
class SmPartition {
 public:
  /// Throws InputError, naming what is allowed, if the driver does not part the device so; MissingError if the driver
  /// is too old for it.
  explicit SmPartition(std::int32_t sms);
  ~SmPartition();
  SmPartition(const SmPartition&) = delete;  // it ends where it began
  SmPartition& operator=(const SmPartition&) = delete;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// SMs of the calling thread's partition; 0 if it has none.
std::int32_t partition_sms();

}  // namespace splitwave::gpu
