// SPDX-License-Identifier: Apache-2.0
#include "studies/sweep_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "studies/target.h"
#include "workloads/limits.h"
#include "workloads/load.h"
#include "workloads/models.h"

namespace splitwave::studies {
namespace {

using simulator::KernelProfile;
using simulator::Machine;
using workloads::AttentionKind;
using workloads::Workload;

constexpr double kMax32 = 2147483647;

/// Index of the value among the names that `to_text` gives the enumerators 0 .. count - 1.
template <typename Enum>
Enum choice(const char* key, const AxisValue& value, int count) {
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) {
    names.push_back(to_string(static_cast<Enum>(i)));
    if (names.back() == value.text) return static_cast<Enum>(i);
  }
  throw base::InputError(fmt::format("--axis {}: \"{}\" is not allowed; allowed: {}", key, base::printable(value.text),
                                     fmt::join(names, ", ")));
}

std::int32_t int32(const AxisValue& value) {
  return static_cast<std::int32_t>(value.integer());
}

/// A geometry whose heads changed is of the kind that its heads say; MLA stays MLA.
void set_heads(Workload& w, std::int32_t query_heads, std::int32_t kv_heads) {
  w.geometry.query_heads = query_heads;
  w.geometry.kv_heads = kv_heads;
  if (w.geometry.kind == AttentionKind::mla) return;
  w.geometry.kind = workloads::kind_of_heads(query_heads, kv_heads);
}

void set_model(Workload& w, const AxisValue& v) {
  w.geometry = workloads::parse_spec(v.text + ":1q1s1").geometry;
}

void set_batch(Workload& w, const AxisValue& v) {
  const std::vector<workloads::Request> base = w.requests;
  if (base.empty()) throw base::InputError("--axis batch: the base workload has no request to repeat");
  w.requests.resize(static_cast<std::size_t>(v.integer()));
  for (std::size_t i = 0; i < w.requests.size(); ++i) w.requests[i] = base[i % base.size()];
}

void set_head_dim(Workload& w, const AxisValue& v) {
  if (w.geometry.value_dim == w.geometry.head_dim) w.geometry.value_dim = int32(v);
  w.geometry.head_dim = int32(v);
}

void set_causal(Workload& w, const AxisValue& v) {
  if (v.text != "true" && v.text != "false") {
    throw base::InputError(
        fmt::format("--axis causal: \"{}\" is not allowed; allowed: true, false", base::printable(v.text)));
  }
  w.geometry.causal = v.text == "true";
}

void set_layout(Workload& w, const AxisValue& v) {
  w.kv.layout = choice<workloads::KvLayout>("layout", v, 3);
  if (w.kv.layout == workloads::KvLayout::paged) {
    w.kv.page_size = std::max(w.kv.page_size, 16);
  } else {
    w.kv.page_size = 0;
  }
}

template <auto Member>
void set_machine(Machine& machine, const AxisValue& value) {
  using Value = std::remove_reference_t<decltype(machine.*Member)>;
  machine.*Member = static_cast<Value>(value.number);
}

template <auto Member>
void set_kernel(KernelProfile& kernel, const AxisValue& value) {
  using Value = std::remove_reference_t<decltype(kernel.*Member)>;
  kernel.*Member = static_cast<Value>(value.number);
}

AxisDomain count(std::string_view name, double least, double most) {
  return {name, AxisType::integer, least, most, false};
}
AxisDomain tokens(std::string_view name, double least, double most) {
  return {name, AxisType::integer, least, most, true};
}
AxisDomain real(std::string_view name) {
  return {name, AxisType::real, 0, 1e24, false};
}
AxisDomain positive(std::string_view name) {
  return {name, AxisType::real, 1e-12, 1e24, false};
}
AxisDomain override_up_to(std::string_view name, double most) {
  return {name, AxisType::real, OverrideLimits::least, most, false};
}
AxisDomain word(std::string_view name) {
  return {name, AxisType::text, 0, 0, false};
}

std::vector<SweepField> workload_fields() {
  using workloads::kMaxContextLen;
  using workloads::kMaxHeads;
  const auto limit = [](std::int64_t value) { return static_cast<double>(value); };
  return {
      {word("model"), "catalogue model, also MODEL@tp=N", &set_model},
      {count("query_heads", 1, limit(kMaxHeads)), "query heads",
       +[](Workload& w, const AxisValue& v) { set_heads(w, int32(v), w.geometry.kv_heads); }},
      {count("kv_heads", 1, limit(kMaxHeads)), "KV heads",
       +[](Workload& w, const AxisValue& v) { set_heads(w, w.geometry.query_heads, int32(v)); }},
      {count("head_dim", 1, limit(workloads::kMaxHeadDim)), "elements of a K row; value_dim follows if it was equal",
       &set_head_dim},
      {count("value_dim", 1, limit(workloads::kMaxHeadDim)), "elements of a V row",
       +[](Workload& w, const AxisValue& v) { w.geometry.value_dim = int32(v); }},
      {word("dtype"), "f16, bf16, f32",
       +[](Workload& w, const AxisValue& v) { w.geometry.dtype = choice<workloads::Dtype>("dtype", v, 5); }},
      {word("kind"), "mha, gqa, mqa, mla",
       +[](Workload& w, const AxisValue& v) { w.geometry.kind = choice<AttentionKind>("kind", v, 4); }},
      {word("causal"), "true, false", &set_causal},
      {tokens("window", 1, limit(kMaxContextLen)), "tokens a query sees",
       +[](Workload& w, const AxisValue& v) { w.geometry.window = int32(v); }},
      {count("batch", 0, limit(workloads::kMaxRequests)), "requests; the base's requests are repeated in turn",
       &set_batch},
      {tokens("context", 0, limit(kMaxContextLen)), "context length of every request, tokens",
       +[](Workload& w, const AxisValue& v) {
         for (auto& request : w.requests) request.context_len = int32(v);
       }},
      {tokens("query_len", 1, limit(workloads::kMaxQueryLen)), "query length of every request, tokens",
       +[](Workload& w, const AxisValue& v) {
         for (auto& request : w.requests) request.query_len = int32(v);
       }},
      {word("layout"), "bshd, bhsd, paged (pages of 16 tokens unless page_size says otherwise)", &set_layout},
      {tokens("page_size", 1, limit(workloads::kMaxPageSize)), "tokens per page; makes the layout paged",
       +[](Workload& w, const AxisValue& v) {
         w.kv.layout = workloads::KvLayout::paged;
         w.kv.page_size = int32(v);
       }},
      {tokens("cache_len", 1, limit(kMaxContextLen)), "tokens allocated per request",
       +[](Workload& w, const AxisValue& v) { w.kv.cache_len = int32(v); }},
  };
}

std::vector<SweepField> machine_fields() {
  return {
      {count("sms", 1, 65536), "streaming multiprocessors, as --sms",
       +[](Machine& m, const AxisValue& v) { m = with_overrides(std::move(m), {.sms = int32(v)}); }},
      {override_up_to("bandwidth", OverrideLimits::bandwidth_gb_per_s),
       "DRAM peak in GB/s, as --bandwidth; what reads reach of it stays the machine's share",
       +[](Machine& m, const AxisValue& v) {
         m = with_overrides(std::move(m), {.dram_peak_bytes_per_second = v.number * 1e9});
       }},
      {override_up_to("clock", OverrideLimits::clock_mhz), "SM clock in MHz; what the SMs compute scales with it",
       +[](Machine& m, const AxisValue& v) { m = with_overrides(std::move(m), {.clock_hz = v.number * 1e6}); }},
      {tokens("l2", 1, 1e15), "L2 capacity in bytes (M: 2^20)",
       +[](Machine& m, const AxisValue& v) { m = with_overrides(std::move(m), {.l2_bytes = v.integer()}); }},
      {real("machine.dram_latency_seconds"), "unloaded latency, s", &set_machine<&Machine::dram_latency_seconds>},
      {real("machine.dram_queue_seconds"), "growth of the latency with load, s",
       &set_machine<&Machine::dram_queue_seconds>},
      {positive("machine.dram_asymptote"), "bandwidth of infinite latency, B/s",
       &set_machine<&Machine::dram_asymptote>},
      {real("machine.cold_seconds"), "first touch of cold pages, s", &set_machine<&Machine::cold_seconds>},
      {positive("machine.sm_bytes_per_second"), "most one SM takes in, B/s",
       &set_machine<&Machine::sm_bytes_per_second>},
      {positive("machine.l2_bytes_per_second"), "L2 bandwidth, B/s", &set_machine<&Machine::l2_bytes_per_second>},
      {real("machine.l2_latency_seconds"), "L2 latency, s", &set_machine<&Machine::l2_latency_seconds>},
      {positive("machine.mma_flops"), "dense fp16 tensor-core rate, FLOP/s", &set_machine<&Machine::mma_flops>},
      {positive("machine.mma_sync_flops"), "the part that mma.sync reaches, FLOP/s",
       &set_machine<&Machine::mma_sync_flops>},
      {positive("machine.exp_per_second"), "exponentials of the machine, 1/s", &set_machine<&Machine::exp_per_second>},
      {positive("machine.fp32_lanes"), "fused multiply-adds per clock and SM", &set_machine<&Machine::fp32_lanes>},
      {count("machine.threads_per_sm", 1, kMax32), "threads an SM holds", &set_machine<&Machine::threads_per_sm>},
      {count("machine.ctas_per_sm_limit", 1, kMax32), "CTAs an SM holds", &set_machine<&Machine::ctas_per_sm_limit>},
      {count("machine.registers_per_sm", 1, kMax32), "32-bit registers of an SM",
       &set_machine<&Machine::registers_per_sm>},
      {tokens("machine.shared_bytes_per_sm", 0, 1e12), "shared memory of an SM, B",
       &set_machine<&Machine::shared_bytes_per_sm>},
      {tokens("machine.shared_bytes_per_cta", 0, 1e12), "most shared memory of a CTA, B",
       &set_machine<&Machine::shared_bytes_per_cta>},
      {tokens("machine.shared_bytes_reserved", 0, 1e12), "shared memory the system takes per CTA, B",
       &set_machine<&Machine::shared_bytes_reserved>},
      {real("machine.launch_seconds"), "launch of a kernel, s", &set_machine<&Machine::launch_seconds>},
      {real("machine.launch_seconds_per_cta"), "dispatch of a CTA, s", &set_machine<&Machine::launch_seconds_per_cta>},
      {real("machine.flag_seconds"), "a flag seen by another CTA, s", &set_machine<&Machine::flag_seconds>},
  };
}

std::vector<SweepField> kernel_fields() {
  return {
      {count("kernel.threads", 1, 1024), "threads of a CTA", &set_kernel<&KernelProfile::threads>},
      {count("kernel.registers_per_thread", 1, 255), "registers of a thread",
       &set_kernel<&KernelProfile::registers_per_thread>},
      {tokens("kernel.shared_bytes", 0, 1e12), "shared memory of a CTA, B", &set_kernel<&KernelProfile::shared_bytes>},
      {tokens("kernel.bytes_in_flight", 1, 1e12), "of a CTA, B", &set_kernel<&KernelProfile::bytes_in_flight>},
      {count("kernel.mma_rows", 1, 256), "query rows a tile is padded to", &set_kernel<&KernelProfile::mma_rows>},
      {positive("kernel.mma_efficiency"), "share of the tensor-core rate reached",
       &set_kernel<&KernelProfile::mma_efficiency>},
      {real("kernel.clocks_per_token"), "CUDA-core clocks of an SM per KV token",
       &set_kernel<&KernelProfile::clocks_per_token>},
      {real("kernel.clocks_per_row_token"), "the same per query row",
       &set_kernel<&KernelProfile::clocks_per_row_token>},
      {real("kernel.prologue_seconds"), "of a CTA, s", &set_kernel<&KernelProfile::prologue_seconds>},
      {real("kernel.epilogue_seconds"), "of an item, s", &set_kernel<&KernelProfile::epilogue_seconds>},
      {real("kernel.item_seconds"), "per further item of a CTA, s", &set_kernel<&KernelProfile::item_seconds>},
      {real("kernel.exposed_latencies"), "latencies at the start of a stream that nothing hides",
       &set_kernel<&KernelProfile::exposed_latencies>},
      {real("kernel.drain_tiles"), "tiles computed after the last byte's arrival",
       &set_kernel<&KernelProfile::drain_tiles>},
      {tokens("kernel.tile_tokens", 1, 1 << 20), "KV tokens per tile of the kernel",
       &set_kernel<&KernelProfile::tile_tokens>},
      {real("kernel.merge_launch_seconds"), "of a merge kernel, s", &set_kernel<&KernelProfile::merge_launch_seconds>},
      {real("kernel.merge_seconds"), "of a merge inside the kernel, s", &set_kernel<&KernelProfile::merge_seconds>},
      {real("kernel.merge_seconds_per_split"), "per partial in a merge, s",
       &set_kernel<&KernelProfile::merge_seconds_per_split>},
      {real("kernel.merge_seconds_per_row_split"), "per row of a partial, s",
       &set_kernel<&KernelProfile::merge_seconds_per_row_split>},
  };
}

std::vector<SweepField> schedule_fields() {
  return {
      {count("schedule_argument", 1, kMax32), "N of --schedule fixed-split (or T of fixed-size and longest-first)",
       +[](ScheduleSettings& s, const AxisValue& v) { s.argument = int32(v); }},
      {count("ctas_per_sm", 1, 1024), "resident CTAs of an SM, as --ctas-per-sm",
       +[](ScheduleSettings& s, const AxisValue& v) { s.ctas_per_sm = int32(v); }},
      {count("tile_q", 1, 65536), "query rows of an output tile",
       +[](ScheduleSettings& s, const AxisValue& v) { s.tile_q = int32(v); }},
      {tokens("tile_kv", 1, 1048576), "tokens of a KV tile",
       +[](ScheduleSettings& s, const AxisValue& v) { s.tile_kv = int32(v); }},
  };
}

std::vector<SweepField> make_table() {
  std::vector<SweepField> table;
  for (std::vector<SweepField> group : {workload_fields(), machine_fields(), kernel_fields(), schedule_fields()}) {
    table.insert(table.end(), group.begin(), group.end());
  }
  return table;
}

}  // namespace

std::span<const SweepField> sweep_fields() {
  static const std::vector<SweepField> table = make_table();
  return table;
}

std::size_t find_field(std::string_view name) {
  const std::span<const SweepField> table = sweep_fields();
  std::vector<std::string> names;
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (table[i].domain.name == name) return i;
    names.emplace_back(table[i].domain.name);
  }
  throw base::InputError(fmt::format("--axis: unknown field \"{}\"{}; allowed: {}", base::printable(name),
                                     base::did_you_mean(name, names), base::join(names)));
}

}  // namespace splitwave::studies
