// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace splitwave::simulator {

/// What must be known of a CPU to predict cpu_reference's run of a plan on it: plain numbers, measured there.
struct CpuFigures {
  std::string model;                          ///< processor name
  std::vector<double> read_bytes_per_second;  ///< plain read by 1..n threads; n is the number of threads used
  double seconds_per_kv_byte = 0;             ///< one thread's tile time per byte of K and V, in cache
  std::map<std::int32_t, double> seconds_per_kv_byte_of_rows;  ///< where it is known by query rows of an output
  double overlap = 1;       ///< p: memory time m and tile time c per byte of a thread come to (m^p + c^p)^(1/p)
  double fork_seconds = 0;  ///< an empty parallel region
  double list_seconds = 0;  ///< extra time of one more list
  double item_seconds = 0;  ///< extra time of one more item of a list
  double merge_seconds_per_row_split = 0;  ///< merging one partial row, by one thread
};

/// What work takes of a device's energy (simulator/energy.h), at its clock under load.
struct EnergyConstants {
  double idle_watts = 0;              ///< a kernel runs, but no SM has a CTA: memory, L2, leakage, the board
  double sm_watts = 0;                ///< more for each SM that holds a CTA
  double dram_joules_per_byte = 0;    ///< out of DRAM, besides what L2 takes for the same byte
  double l2_joules_per_byte = 0;      ///< between L2 and an SM
  double shared_joules_per_byte = 0;  ///< into or out of shared memory
  double joules_per_flop = 0;         ///< of matrix instructions
  /// Above it the device lowers its clock.
  double limit_watts = std::numeric_limits<double>::infinity();
};

/// A machine as the simulator sees it, read from simulator/machines/*.json or a user's file. A CPU is one too: its
/// threads are the SMs, one CTA each. Every key of the file carries unit, source and how sure it is
/// (docs/simulator.md).
struct Machine {
  std::string name;
  std::string title;               ///< name for people, "NVIDIA H200 SXM"
  std::string compute_capability;  ///< "9.0"; empty where it means nothing
  std::string own_kernels;         ///< kernel profile that stands for "splitwave" here, of the same device; empty: that
  std::int32_t sms = 0;
  std::vector<std::int32_t> sms_per_gpc;  ///< CTAs are placed round robin over these groups of SMs; adds up to sms
  double clock_hz = 0;                    ///< SM clock under load
  double dram_peak_bytes_per_second = 0;  ///< data sheet
  double dram_bytes_per_second = 0;       ///< plateau that a plain read reaches
  double dram_asymptote = 0;              ///< bandwidth at which the loaded latency would be infinite, byte/s
  /// What memory delivers, of its bandwidth, of rows of 128, 256 and 512 bytes between those of other heads that are
  /// read at other times. Empty: all of it.
  std::vector<double> row_shares;
  /// What it delivers, of its bandwidth, to twice as many CTAs as SMs that read a part of their own each.
  double stream_share = 1;
  double dram_latency_seconds = 0;  ///< unloaded, from a CTA's request to its data
  double dram_queue_seconds = 0;    ///< growth of the latency with load: W of L = L0 + W rho / (1 - rho)
  double cold_seconds = 0;          ///< once per kernel whose data is not in L2: first touch of pages that no TLB holds
  double sm_bytes_per_second = 0;   ///< most that one SM can take in
  std::int64_t l2_bytes = 0;
  double l2_kept = 1;  ///< share of it up to which data that are read again and again all stay
  double l2_bytes_per_second = 0;
  double l2_latency_seconds = 0;      ///< from a CTA's request to its data in L2
  double mma_flops = 0;               ///< dense fp16 tensor-core rate of the whole machine, FLOP/s
  double mma_sync_flops = 0;          ///< the part of it that mma.sync instructions reach
  double exp_per_second = 0;          ///< special-function unit, whole machine
  double fp32_lanes = 0;              ///< fused multiply-adds per clock and SM
  double shared_bytes_per_clock = 0;  ///< that an SM reads from shared memory
  std::int32_t threads_per_sm = 0;
  std::int32_t ctas_per_sm_limit = 0;
  std::int32_t registers_per_sm = 0;  ///< 32-bit registers
  std::int64_t shared_bytes_per_sm = 0;
  std::int64_t shared_bytes_per_cta = 0;              ///< most that one CTA may take
  std::int64_t shared_bytes_reserved = 0;             ///< taken by the system for each resident CTA
  double launch_seconds = 0;                          ///< a kernel node of a CUDA graph
  double launch_seconds_per_cta = 0;                  ///< dispatch rate of CTAs
  double flag_seconds = 0;                            ///< a flag written by one CTA is seen by another
  std::optional<double> first_burst_seconds;          ///< by which first requests of a quarter of the SMs are later
  std::optional<double> launch_stream_seconds;        ///< a kernel launched on a stream behind another
  std::optional<double> launch_programmatic_seconds;  ///< a node that starts before the one before has ended
  std::optional<double> atomic_seconds;               ///< an atomic in L2, there and back
  /// All-reduce over the GPUs of one host: seconds of a short one, and rate of a GPU's link in each direction.
  std::optional<double> all_reduce_seconds;
  std::optional<double> link_bytes_per_second;
  /// SMs among which clusters of more than two find room together, of each GPC. Empty: sms_per_gpc.
  std::vector<std::int32_t> cluster_sms_per_gpc;
  // What is known of this chip's SMs by number; each is empty or has an entry for every SM.
  std::vector<std::int32_t> gpc_of_sm;   ///< index into sms_per_gpc
  std::vector<std::int32_t> port_of_sm;  ///< SMs of a port share what the memory gives it when it is full
  /// 0 or 1: SMs of a side reach the memory together, at no more than side_bytes_per_second. All SMs of a port are of
  /// one side.
  std::vector<std::int32_t> side_of_sm;
  double side_bytes_per_second = std::numeric_limits<double>::infinity();
  /// Most that the SMs of one GPC take in together.
  double gpc_bytes_per_second = std::numeric_limits<double>::infinity();
  /// SMs in the order in which they fill: a launch of N CTAs of which an SM holds one has the first N.
  std::vector<std::int32_t> dispatch_order;
  /// Read bandwidth by number of active SMs, for machines where it was measured (index 0: one SM). Empty: Little's law.
  std::vector<double> bytes_per_second_by_sms;
  std::optional<EnergyConstants> energy;  ///< none: nothing is known, and no energy predicted
  std::optional<CpuFigures> cpu;          ///< set for a CPU, and only there
};

/// What a user may override on the command line; 0 leaves the machine's own value.
struct MachineOverrides {
  std::int32_t sms = 0;
  double dram_peak_bytes_per_second = 0;  ///< as data sheets say it; what reads reach of it stays the machine's share
  std::int64_t l2_bytes = 0;
  double clock_hz = 0;
};

/// The text of the file that load_machine() reads. Throws as it does.
std::string machine_text(const std::string& name_or_file);

/// Whether the machine's compute capability is `least` or later; false if it has none.
bool has_capability(const Machine& machine, double least);

/// The compute capability that alone has wgmma (PTX ISA, "wgmma", target ISA notes: sm_90a), and whether it is the
/// machine's.
inline constexpr std::string_view kWgmmaCapability = "9.0";
bool has_wgmma(const Machine& machine);

/// A shipped machine by name or alias ("h200", "h100"; case does not matter) or a JSON file by path. Throws InputError
/// with the nearest names, or with file, key, value and what is allowed.
Machine load_machine(const std::string& name_or_file);

/// The same from text; `where` begins error messages.
Machine parse_machine(const std::string& text, const std::string& where);

/// What DRAM and clock may be overridden by. Less than any machine has, and still so much that times stay numbers.
inline constexpr double kLeastOverride = 1e-3;  ///< GB/s and MHz
inline constexpr double kMostBandwidthGbPerSecond = 1e6;
inline constexpr double kMostClockMhz = 1e5;

/// The machine with overrides applied. Rates of the SMs (tensor cores, special functions) scale with their number and
/// clock; DRAM and L2 belong to the memory system and do not. Fewer SMs are those of a green context where the
/// machine's are known by number (simulator/partition.h); otherwise, and of more, nothing is known by number. With
/// another clock, which needs another voltage, nothing is known of energy. Plateau and asymptote of DRAM go with its
/// peak. Throws InputError if a CPU is asked for what it lacks, and for values out of range.
Machine with_overrides(Machine machine, const MachineOverrides& overrides);

/// Names of the shipped machines, sorted.
std::vector<std::string> machine_names();

/// A CPU as a machine, built from measured figures. Throws InputError naming the figure that is not positive.
Machine cpu_machine(const CpuFigures& figures);

}  // namespace splitwave::simulator
