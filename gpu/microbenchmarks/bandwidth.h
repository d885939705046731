// SPDX-License-Identifier: Apache-2.0
// How fast the device reads: memory and L2 against the CTAs that read, and the latency of single reads.
#pragma once

#include <cstdint>
#include <vector>

namespace splitwave::gpu {

/// Bytes per second of all CTAs together.
struct Rate {
  double median = 0;
  double p20 = 0;
  double p80 = 0;
  std::int64_t samples = 0;
};

/// Reading by so many CTAs, each on an SM of its own as long as there are SMs.
struct ReadPoint {
  std::int32_t ctas = 0;
  std::int64_t bytes_in_flight = 0;  ///< of a CTA
  Rate rate;
};

/// Reading the same bytes again and again.
struct CachedPoint {
  std::int64_t footprint_bytes = 0;
  bool shared = false;  ///< every CTA reads all of it; else each a part of its own
  Rate rate;
};

/// Reads of one thread, each after the one before has come. Seconds of a read.
struct ChaseTimes {
  double l2 = 0;          ///< 128 bytes on, in L2
  double same_page = 0;   ///< from memory, 16 KiB on
  double near_pages = 0;  ///< from memory, a page on, over 128 pages that were read 128 reads before
  double far_pages = 0;   ///< from memory, more than 16 pages on, in pages that were not read before
};

/// Memory read by rings of cp.async in 4 warps, each CTA from a place of its own or all taking turns (interleaved): up
/// to 132 CTAs of 16 to 128 KiB (on an H200; the numbers of CTAs go with the SMs), and two to an SM where they fit.
/// Each reads for 300 us: rates while all of them read.
std::vector<ReadPoint> stream_memory(bool interleaved);

/// Memory read by 256 and 512 threads a CTA that ask for eight 16-byte words each, wait for them and ask again: 32 and
/// 64 KiB in flight at most. Bytes over the time until the last CTA ends.
std::vector<ReadPoint> plain_read_memory();

/// Rows that are read by a CTA of 64 KiB each, two to an SM, out of step with each other.
struct RowPoint {
  std::int32_t row_bytes = 0;  ///< rows of 16 heads lie side by side; 0: all of a CTA's bytes do
  Rate rate;
};
/// Memory read by rows of 128, 256 and 512 bytes, a cache's tokens of one head of 64, 128 and 256 16-bit elements,
/// after the same without rows. What was read leaves L2 first, as in the decode kernels.
std::vector<RowPoint> stream_rows();

/// L2 and beyond: footprints of 1 to 96 MiB, by one CTA of 128 KiB on each SM.
std::vector<CachedPoint> stream_footprints();

/// L2 read by a lone CTA of 16 to 128 KiB: 4 MiB again and again.
std::vector<ReadPoint> stream_l2_alone();

ChaseTimes time_chases();

/// A launch of CTAs that each ask for 16 KiB once, with all of their loads at a time. Seconds of a launch in a graph.
struct BurstTimes {
  std::int32_t ctas = 0;
  double l2 = 0;      ///< the same bytes again and again
  double memory = 0;  ///< over ten times L2, so that nothing is left there
};

/// With a CTA on every fourth SM: the memory is far from full.
BurstTimes time_bursts();

}  // namespace splitwave::gpu
