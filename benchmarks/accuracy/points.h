// SPDX-License-Identifier: Apache-2.0
// Measured times, as the accuracy program reads them. In all files, lines that begin with # are left out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "workloads/workload.h"

namespace splitwave::accuracy {

/// One kernel on one shape.
struct Point {
  std::string kernel;
  workloads::Workload workload;  ///< its name is the shape's
  double seconds = 0;            ///< measured
  std::string note;              ///< what the kernel's own planner said: "chunk=256 padded_batch=33"; own: its config
  std::int32_t sms = 0;          ///< that it ran on; 0: all of the device's
};

/// The parts of a text between separators. A part in quotes may hold separators, and quotes twice (RFC 4180).
std::vector<std::string> fields_of(const std::string& line, char separator);

/// The integer that the whole text is. Throws base::InputError "`what`: '`text`' ..." if it is none from `least` to
/// `most`.
std::int64_t integer_in(const std::string& what, const std::string& text, std::int64_t least, std::int64_t most);

/// Shapes (id, batch, query heads, KV heads, head dim, value dim, context: one, or one per request joined by ';').
/// Throws InputError naming file and line.
std::vector<workloads::Workload> read_shapes(const std::string& file);

/// Times of `times` that are "ok" (kernel, shape, status, microseconds, ..., note; with a header line) on the shapes of
/// `shapes` (id, batch, query heads, KV heads, head dim, value dim, context: one, or one per request joined by ';').
/// Throws InputError naming file and line.
std::vector<Point> read_peers(const std::string& shapes, const std::string& times);

/// Times of the project's own kernels on these shapes, as `accuracy --own-times` writes them (schedule, shape, SMs,
/// microseconds, config; with a header line). Throws InputError naming file and line.
std::vector<Point> read_own_times(const std::vector<workloads::Workload>& shapes, const std::string& times);

/// Times of serving engines, uniform batches, paged by 16 tokens (device, kernel, batch, context, query heads, KV
/// heads, head dim, microseconds; with a header line); those of `device`. Throws InputError naming file and line.
std::vector<Point> read_engines(const std::string& file, const std::string& device);

}  // namespace splitwave::accuracy
