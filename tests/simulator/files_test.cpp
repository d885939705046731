// SPDX-License-Identifier: Apache-2.0
// Machine and kernel files: what is shipped, and what is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <string>

#include "base/document.h"
#include "base/error.h"
#include "base/fields.h"
#include "schedules/schedules.h"
#include "simulator/kernel.h"
#include "simulator/machine.h"
#include "simulator/simulate.h"
#include "workloads/load.h"

namespace splitwave::simulator {
namespace {

std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const base::InputError& error) {
    return error.what();
  }
  return "no error";
}

void expect_mentions(const std::string& message, const std::vector<std::string>& words) {
  for (const std::string& word : words) EXPECT_NE(message.find(word), std::string::npos) << word << " in: " << message;
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
}

TEST(MachineFiles, AllShippedOnesLoad) {
  EXPECT_EQ(machine_names(),
            (std::vector<std::string>{"a100", "b200", "h100-pcie", "h100-sxm", "h100-sxm-calibrated", "h20", "h200",
                                      "h200-calibrated", "l40s", "mi300x", "rtx-4090"}));
  for (const std::string& name : machine_names()) EXPECT_EQ(load_machine(name).name, name);
}

TEST(MachineFiles, NamesAndAliasesIgnoreCase) {
  EXPECT_EQ(load_machine("H200").name, "h200");
  EXPECT_EQ(load_machine("h100").name, "h100-sxm");
  EXPECT_EQ(load_machine("4090").name, "rtx-4090");
  EXPECT_EQ(load_machine("A100").sms, 108);
}

TEST(MachineFiles, AnUnknownNameIsAnsweredWithTheNearest) {
  expect_mentions(error_of([] { load_machine("h2000"); }), {"h2000", "h200"});
  expect_mentions(error_of([] { load_machine("no/such/file.json"); }), {"no/such/file.json"});
  expect_mentions(error_of([] { load_machine(""); }), {"h200"});
}

/// The H200's file with one piece of text replaced.
std::string changed(const std::string& from, const std::string& to) {
  std::ifstream file(std::string(SPLITWAVE_GOLDEN_DIR) + "/../../../simulator/machines/h200.json");
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string refusal(const std::string& from, const std::string& to) {
  const std::string text = changed(from, to);
  return error_of([&] { parse_machine(text, "my.json"); });
}

/// The H200's file with energy constants before its last one.
std::string energy_refusal(const std::vector<std::pair<std::string, std::string>>& values) {
  std::string text;
  for (const auto& [key, value] : values) {
    const std::string unit = key.ends_with("power") ? "W" : key == "flop_energy" ? "pJ/FLOP" : "pJ/byte";
    text += "\"" + key + "\": {\"value\": " + value + ", \"unit\": \"" + unit +
            "\", \"source\": \"a test\", \"confidence\": \"measured\"}, ";
  }
  return refusal("\"flag\":", text + "\"flag\":");
}

TEST(MachineFiles, EnergyComesWhole) {
  EXPECT_EQ(energy_refusal({{"idle_power", "100"},
                            {"sm_power", "0"},
                            {"dram_energy", "30.5"},
                            {"l2_energy", "9"},
                            {"shared_energy", "2.5"},
                            {"flop_energy", "0.75"}}),
            "no error");
  expect_mentions(energy_refusal({{"idle_power", "100"}, {"l2_energy", "9"}, {"dram_energy", "30"}}),
                  {"my.json", "constants.sm_power", "missing", "flop_energy", "none"});
  expect_mentions(energy_refusal({{"idle_power", "-1"}}), {"my.json", "constants.idle_power.value", "-1", "W"});
  expect_mentions(energy_refusal({{"dram_energy", "\"much\""}}), {"my.json", "constants.dram_energy.value", "much"});
}

TEST(MachineFiles, RefusesBadConstantsByKey) {
  EXPECT_EQ(refusal("132", "132"), "no error");
  expect_mentions(refusal("\"value\": 132", "\"value\": -132"), {"my.json", "constants.sms", "-132"});
  expect_mentions(refusal("\"value\": 132", "\"value\": 132.5"), {"my.json", "constants.sms", "132.5"});
  expect_mentions(refusal("\"value\": 132", "\"value\": \"many\""), {"my.json", "constants.sms"});
  expect_mentions(refusal("\"sms\":", "\"sns\":"), {"my.json", "constants.sms", "missing"});
  expect_mentions(refusal("\"flag\":", "\"flagg\": {\"value\": 1}, \"flag\":"), {"my.json", "flagg", "flag"});
  expect_mentions(refusal("\"unit\": \"MHz\"", "\"unit\": \"GHz\""), {"my.json", "constants.clock.unit", "MHz"});
  expect_mentions(refusal("\"confidence\": \"measured\"", "\"confidence\": \"sure\""),
                  {"my.json", "constants.sms.confidence", "sure", "published"});
  expect_mentions(refusal("\"format\": 1", "\"format\": 2"), {"my.json", "format"});
  expect_mentions(refusal("\"name\": \"h200\"", "\"name\": \"\""), {"my.json", "name"});
  expect_mentions(refusal("\"name\": \"h200\"", "\"name\": \"a\\u202eb\""), {"my.json", "name", "control characters"});
  expect_mentions(refusal("\"name\": \"h200\"", "\"name\": \"a\\u001b[2J\""),
                  {"my.json", "name", "control characters"});
  expect_mentions(refusal("\"constants\": {", "\"constants\": ["), {"my.json"});
}

TEST(MachineFiles, RefusesContradictions) {
  expect_mentions(refusal("[16, 16", "[17, 16"), {"my.json", "constants.sms_per_gpc", "132"});
  expect_mentions(refusal("\"value\": 4800", "\"value\": 4000"), {"my.json", "constants.dram_bandwidth"});
  expect_mentions(refusal("\"value\": 4929", "\"value\": 4500"), {"my.json", "constants.dram_asymptote"});
  expect_mentions(refusal("\"value\": 115.5", "\"value\": 1115.5"), {"my.json", "constants.dram_queue_latency"});
  expect_mentions(refusal("\"value\": 113", "\"value\": 13"), {"my.json", "constants.sm_bandwidth"});
  expect_mentions(refusal("\"value\": 227", "\"value\": 228"), {"my.json", "constants.shared_memory_per_cta"});
}

/// The H200's file with one more constant.
std::string with_constant(const std::string& key, const std::string& value, const std::string& unit) {
  return changed("\"flag\":", "\"" + key + "\": {\"value\": " + value + ", \"unit\": \"" + unit +
                                  "\", \"source\": \"a test\", \"confidence\": \"measured\"}, \"flag\":");
}

std::string list_of(int count, const std::function<int(int)>& value) {
  std::string text = "[";
  for (int i = 0; i < count; ++i) text += (i > 0 ? ", " : "") + std::to_string(value(i));
  return text + "]";
}

TEST(MachineFiles, WhatIsKnownOfSmsByNumberIsReadAndOptional) {
  const Machine plain = load_machine("h200");
  EXPECT_TRUE(plain.port_of_sm.empty());
  EXPECT_FALSE(plain.atomic_seconds);
  const std::string ports = list_of(132, [](int sm) { return sm / 6; });
  EXPECT_EQ(parse_machine(with_constant("port_of_sm", ports, "1"), "my.json").port_of_sm[13], 2);
  const std::string backwards = list_of(132, [](int sm) { return 131 - sm; });
  EXPECT_EQ(parse_machine(with_constant("dispatch_order", backwards, "SM"), "my.json").dispatch_order.front(), 131);
  EXPECT_DOUBLE_EQ(parse_machine(with_constant("atomic", "250", "ns"), "my.json").atomic_seconds.value(), 250e-9);
  EXPECT_DOUBLE_EQ(parse_machine(with_constant("launch_stream", "2500", "ns"), "my.json").launch_stream_seconds.value(),
                   2.5e-6);
}

TEST(MachineFiles, ListsBySmMustFitTheMachine) {
  const auto refused = [](const std::string& key, const std::string& value, const std::string& unit) {
    return error_of([&] { parse_machine(with_constant(key, value, unit), "my.json"); });
  };
  const auto zero = [](int) { return 0; };
  expect_mentions(refused("port_of_sm", list_of(131, zero), "1"), {"my.json", "constants.port_of_sm", "131", "132"});
  expect_mentions(refused("port_of_sm", "[]", "1"), {"my.json", "constants.port_of_sm"});
  expect_mentions(refused("port_of_sm", list_of(132, [](int i) { return -i; }), "1"), {"constants.port_of_sm", "-1"});
  expect_mentions(refused("gpc_of_sm", list_of(132, zero), "1"), {"constants.gpc_of_sm", "sms_per_gpc"});
  expect_mentions(refused("gpc_of_sm", list_of(132, [](int i) { return i; }), "1"), {"constants.gpc_of_sm", "GPC 8"});
  expect_mentions(refused("dispatch_order", list_of(132, zero), "SM"), {"constants.dispatch_order", "SM 0", "once"});
  expect_mentions(refused("dispatch_order", list_of(132, [](int i) { return i + 1; }), "SM"), {"SM 132", "131"});
  expect_mentions(refused("dispatch_order", list_of(132, [](int i) { return i; }), "1"), {"dispatch_order.unit", "SM"});
  expect_mentions(refused("cluster_sms_per_gpc", "[8]", "SM"), {"constants.cluster_sms_per_gpc", "8", "16, 16"});
  expect_mentions(refused("cluster_sms_per_gpc", list_of(8, [](int) { return 17; }), "SM"), {"at most", "17"});
}

TEST(MachineFiles, SidesAreOfSmsWhoseGpcIsKnown) {
  std::string text = machine_text("h200-calibrated");
  const std::size_t begin = text.find("\"gpc_of_sm\"");
  const std::size_t end = text.find('}', begin);
  text.erase(begin, text.find('"', end) - begin);
  expect_mentions(error_of([&] { parse_machine(text, "my.json"); }), {"my.json", "side_of_sm", "gpc_of_sm"});
}

TEST(MachineFiles, TheCalibratedH200KnowsItsSms) {
  const Machine machine = load_machine("h200-calibrated");
  EXPECT_EQ(machine.dispatch_order.size(), 132U);
  EXPECT_EQ(machine.gpc_of_sm.size(), 132U);
  std::vector<int> sizes(24, 0);
  for (const std::int32_t port : machine.port_of_sm) ++sizes.at(static_cast<std::size_t>(port));
  EXPECT_EQ(std::count(sizes.begin(), sizes.end(), 6), 18);
  EXPECT_EQ(std::count(sizes.begin(), sizes.end(), 4), 6);
  // SMs of a port are of one GPC.
  for (std::size_t a = 0; a < 132; ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      EXPECT_TRUE(machine.port_of_sm[a] != machine.port_of_sm[b] || machine.gpc_of_sm[a] == machine.gpc_of_sm[b]);
    }
  }
  MachineOverrides all;
  all.sms = 132;
  EXPECT_EQ(with_overrides(machine, all).port_of_sm, machine.port_of_sm);
}

TEST(MachineFiles, OverridesScaleWhatPhysicsScales) {
  const Machine h200 = load_machine("h200");
  MachineOverrides overrides;
  overrides.sms = 200;
  overrides.dram_peak_bytes_per_second = 2e12;
  overrides.l2_bytes = 1000;
  const Machine other = with_overrides(h200, overrides);
  EXPECT_EQ(other.sms, 200);
  EXPECT_EQ(other.dram_peak_bytes_per_second, 2e12);
  EXPECT_NEAR(other.dram_bytes_per_second / 2e12, h200.dram_bytes_per_second / h200.dram_peak_bytes_per_second, 1e-12);
  EXPECT_NEAR(other.dram_asymptote / other.dram_bytes_per_second, h200.dram_asymptote / h200.dram_bytes_per_second,
              1e-12);
  EXPECT_NEAR(other.mma_flops / 200, h200.mma_flops / 132, 1);
  EXPECT_EQ(other.l2_bytes_per_second, h200.l2_bytes_per_second);
  EXPECT_EQ(other.l2_bytes, 1000);
  std::int32_t placed = 0;
  for (const std::int32_t gpc : other.sms_per_gpc) placed += gpc;
  EXPECT_EQ(placed, 200);
  overrides = {};
  overrides.clock_hz = h200.clock_hz / 2;
  EXPECT_NEAR(with_overrides(h200, overrides).mma_flops, h200.mma_flops / 2, 1);
  overrides = {};
  overrides.sms = -1;
  expect_mentions(error_of([&] { with_overrides(h200, overrides); }), {"sms", "-1"});
  // In the unit of the option, with the range.
  expect_mentions(error_of([&] { with_overrides(h200, {.dram_peak_bytes_per_second = 1e29}); }),
                  {"bandwidth is 1e+20 GB/s", "a number from 0.001 to 1e+06"});
  expect_mentions(error_of([&] { with_overrides(h200, {.dram_peak_bytes_per_second = 1e-311}); }), {"bandwidth is"});
  expect_mentions(error_of([&] { with_overrides(h200, {.clock_hz = 1}); }), {"clock is 1e-06 MHz", "0.001"});
}

TEST(MachineFiles, ItsOwnDataSheetsBandwidthChangesNothing) {
  for (const std::string& name : machine_names()) {
    const Machine machine = load_machine(name);
    MachineOverrides own;
    own.dram_peak_bytes_per_second = machine.dram_peak_bytes_per_second;
    const Machine same = with_overrides(machine, own);
    EXPECT_EQ(same.dram_bytes_per_second, machine.dram_bytes_per_second) << name;
    EXPECT_EQ(same.dram_asymptote, machine.dram_asymptote) << name;
    EXPECT_EQ(same.dram_peak_bytes_per_second, machine.dram_peak_bytes_per_second) << name;
  }
}

TEST(KernelFiles, AllShippedOnesLoad) {
  for (const char* name : {"fa2-split", "fa2-standard", "fa3-d64", "fa3-d128", "fa3-d256", "fa4", "flashinfer-tc",
                           "flashinfer-decode", "flashinfer-holistic", "ort-lean", "flashmla", "xqa", "splitwave"}) {
    const std::vector<std::string> names = kernel_names();
    EXPECT_NE(std::find(names.begin(), names.end(), name), names.end()) << name;
  }
}

TEST(KernelFiles, SchedulesHaveTheirLibrariesKernels) {
  const Machine h200 = load_machine("h200");
  const workloads::Workload d128 = workloads::parse_spec("h=32/8,d=128:1q1s1k");
  const workloads::Workload d64 = workloads::parse_spec("h=32/32,d=64:1q1s1k");
  EXPECT_EQ(native_kernel("fa2", d128, h200).name, "fa2-standard");
  workloads::Workload paged = d128;
  paged.kv = {workloads::KvLayout::paged, 16, {}};
  EXPECT_EQ(native_kernel("fa3", paged, h200).name, "fa3-d128-paged");
  EXPECT_EQ(native_kernel("fa2", paged, h200).name, "fa2-split");  // pages force the split kernel
  EXPECT_EQ(native_kernel("fixed-split:fa2", d128, h200).name, "fa2-split");
  EXPECT_EQ(native_kernel("fixed-split:fa3", d128, h200).name, "fa3-d128");
  EXPECT_EQ(native_kernel("fa3", d64, h200).name, "fa3-d64");
  EXPECT_EQ(native_kernel("seq-aware", d128, h200).name, "fa3-d128");
  EXPECT_EQ(native_kernel("lean:ort", d128, h200).name, "ort-lean");
  EXPECT_EQ(native_kernel("lean", d128, h200).name, "splitwave");
  const workloads::Workload latent = workloads::parse_spec("deepseek-v3@tp=8:1q1s1k");
  EXPECT_EQ(native_kernel("fa3", latent, h200).name, "fa3-mla");
  EXPECT_EQ(native_kernel("flashmla:v0", latent, h200).name, "flashmla-v0");
  EXPECT_EQ(native_kernel("flashmla:etap", latent, h200).name, "flashmla-etap");
  schedules::Plan plan;
  plan.schedule = "fixed-split:fa2";
  EXPECT_EQ(native_kernel(plan, d128, h200).name, "fa2-standard");  // its rule answered one split
  plan.num_splits = 2;
  EXPECT_EQ(native_kernel(plan, d128, h200).name, "fa2-split");
}

TEST(KernelFiles, APlansTileIsTheKernelsWhereTheLibraryPicksIt) {
  // Causal with several queries: FlashAttention-3's tile is 128 x 128, not decode's 128 x 176 (hopper/tile_size.h).
  const workloads::Workload speculative = workloads::parse_spec("h=32/8,d=128:8q4s4k");
  const Machine h200 = load_machine("h200");
  const schedules::Plan plan =
      schedules::make_plan("fa3", speculative, grid_of(h200, native_kernel("fa3", speculative, h200)));
  EXPECT_EQ(plan.tile_kv, 128);
  EXPECT_EQ(native_kernel(plan, speculative, h200).tile_tokens, 128);
}

TEST(KernelFiles, WhatCannotExistIsRefusedWithWhatCan) {
  const auto refusal = [](const char* schedule, const char* spec, const char* machine) {
    return error_of([&] { native_kernel(schedule, workloads::parse_spec(spec), load_machine(machine)); });
  };
  for (const char* machine : {"b200", "a100", "l40s", "mi300x"}) {
    expect_mentions(refusal("fa3", "h=32/8,d=128:1q1s1k", machine),
                    {"fa3", "wgmma", "9.0", machine, "fa2, fixed-split"});
  }
  EXPECT_EQ(refusal("fa3", "h=32/8,d=128:1q1s1k", "h20"), "no error");
  EXPECT_EQ(refusal("fixed-split:4", "h=32/8,d=128:1q1s1k", "b200"), "no error");
  expect_mentions(refusal("fixed-split:fa3", "h=32/8,d=128:1q1s1k", "b200"), {"fixed-split:fa3", "wgmma"});
  EXPECT_EQ(refusal("fa4", "h=32/8,d=128:1q1s1k", "b200"), "no error");
  for (const char* machine : {"h200", "rtx-4090"}) {
    expect_mentions(refusal("fa4", "h=32/8,d=128:1q1s1k", machine), {"fa4", "tcgen05", machine});
  }
  expect_mentions(refusal("fa2", "h=32/8,d=128,dtype=f32:1q1s1k", "h200"), {"fa2", "f32", "--gpu cpu"});
  expect_mentions(refusal("flashmla", "h=32/8,d=128:1q1s1k", "h200"), {"flashmla", "head_dim 128", "lean"});
  const std::string mla = refusal("fa2", "deepseek-v3@tp=8:1q1s1k", "h200");
  expect_mentions(mla, {"head_dim 576", "flashmla"});
  EXPECT_EQ(mla.find("flashinfer"), std::string::npos) << mla;
}

TEST(KernelFiles, TheVariantThatFitsIsTaken) {
  const workloads::Workload d128 = workloads::parse_spec("h=32/8,d=128:1q1s1k");
  EXPECT_GT(native_kernel("lean", d128, load_machine("h200")).bytes_in_flight,
            native_kernel("lean", d128, load_machine("mi300x")).bytes_in_flight);
}

TEST(KernelFiles, BadFilesAreRefusedByKey) {
  const std::string good = R"({"format": 1, "name": "k", "instruction": "wgmma", "source": "s", "variants": [
    {"head_dim": [1, 64], "constants": {
      "threads": {"value": 128, "unit": "thread", "source": "s", "confidence": "published"},
      "registers_per_thread": {"value": 128, "unit": "register", "source": "s", "confidence": "published"},
      "shared_memory": {"value": 0, "unit": "byte", "source": "s", "confidence": "published"},
      "tile_tokens": {"value": 64, "unit": "token", "source": "s", "confidence": "published"},
      "bytes_in_flight": {"value": 100, "unit": "byte", "source": "s", "confidence": "published"}}}]})";
  ASSERT_EQ(parse_kernel(good, "k.json").variants.size(), 1U);
  const auto refused = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    return error_of([&] { parse_kernel(text, "k.json"); });
  };
  expect_mentions(refused("wgmma", "magic"), {"k.json", "instruction", "magic", "wgmma"});
  expect_mentions(refused("\"value\": 128, \"unit\": \"thread\"", "\"value\": 0, \"unit\": \"thread\""),
                  {"k.json", "variants[0].constants.threads", "0"});
  expect_mentions(refused("bytes_in_flight", "bytes_in_flite"), {"k.json", "bytes_in_flite"});
  expect_mentions(refused("[1, 64]", "[64, 1]"), {"k.json", "variants[0].head_dim"});
  expect_mentions(error_of([] { parse_kernel("{", "k.json"); }), {"k.json"});
  std::string missing = good;
  missing.replace(missing.find("\"tile_tokens\""), 13, "\"drain_tiles\"");
  missing.replace(missing.find("\"token\""), 7, "\"tile\"");
  expect_mentions(error_of([&] { parse_kernel(missing, "k.json"); }), {"k.json", "tile_tokens", "missing"});
}

TEST(KernelFiles, AnUnknownProfileIsAnsweredWithTheNearest) {
  const Machine h200 = load_machine("h200");
  const workloads::Workload d128 = workloads::parse_spec("h=32/8,d=128:1q1s1k");
  expect_mentions(error_of([] { load_kernel("fa2-splitt"); }), {"fa2-splitt", "fa2-split"});
  expect_mentions(error_of([&] { kernel_for(load_kernel("flashmla"), d128, h200); }), {"flashmla", "128"});
}

/// Every constant of the project's own kernels and of the calibrated machine says where it comes from, and no time of
/// an attention call is among the places: nothing was fitted.
TEST(KernelFiles, NothingOfTheOwnConfigsIsFitted) {
  const base::JsonValue file = base::parse_document(kernel_text(std::string(kOwnKernel)), "splitwave");
  const std::string where = "splitwave";
  std::size_t constants = 0;
  for (const base::JsonValue& variant : file.find("variants")->items) {
    if (variant.find("config") == nullptr) continue;
    const base::JsonValue& all = *variant.find("constants");
    for (std::size_t i = 0; i < all.keys.size(); ++i) {
      const std::string source = base::Fields(*all.find(all.keys[i]), where, all.keys[i]).text("source");
      const bool known = source.find("splitwave calibrate on ") == 0 || source.find("gpu/") != std::string::npos;
      EXPECT_TRUE(known) << all.keys[i] << ": " << source;
      for (const char* word : {"fitted", "attention time"}) EXPECT_EQ(source.find(word), std::string::npos) << source;
      ++constants;
    }
  }
  EXPECT_GT(constants, 500U);
}

}  // namespace
}  // namespace splitwave::simulator
