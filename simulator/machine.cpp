// SPDX-License-Identifier: Apache-2.0
#include "simulator/machine.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <span>

#include "base/document.h"
#include "base/embedded_file.h"
#include "base/error.h"
#include "base/fields.h"
#include "base/text.h"
#include "simulator/constants.h"
#include "simulator/partition.h"

namespace splitwave::simulator {

std::span<const base::EmbeddedFile> machine_files();

namespace {

using base::InputError;
using base::JsonValue;

constexpr std::array<std::string_view, 7> kMachineKeys = {"format",      "name",    "title",    "compute_capability",
                                                          "own_kernels", "aliases", "constants"};

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

/// What makes two constants contradict each other, one message each.
void check_consistent(const Machine& machine, const Constants& constants) {
  const auto require = [&](bool good, std::string_view key, double value, const std::string& allowed) {
    if (!good) {
      base::refuse_value(constants.where(), constants.path_of(key), fmt::format("{:g} in SI units", value), allowed);
    }
  };
  const std::int32_t placed = std::accumulate(machine.sms_per_gpc.begin(), machine.sms_per_gpc.end(), 0);
  require(placed == machine.sms, "sms_per_gpc", placed, fmt::format("a sum equal to sms, {}", machine.sms));
  require(machine.dram_bytes_per_second <= machine.dram_peak_bytes_per_second, "dram_bandwidth",
          machine.dram_bytes_per_second, "at most dram_peak_bandwidth");
  require(machine.dram_asymptote >= machine.dram_bytes_per_second, "dram_asymptote", machine.dram_asymptote,
          "at least dram_bandwidth");
  require(machine.dram_queue_seconds < machine.dram_latency_seconds, "dram_queue_latency", machine.dram_queue_seconds,
          "less than dram_latency");
  require(machine.sm_bytes_per_second * machine.sms >= machine.dram_bytes_per_second, "sm_bandwidth",
          machine.sm_bytes_per_second, "at least dram_bandwidth / sms");
  require(machine.l2_bytes_per_second >= machine.dram_bytes_per_second, "l2_bandwidth", machine.l2_bytes_per_second,
          "at least dram_bandwidth");
  require(machine.l2_latency_seconds <= machine.dram_latency_seconds, "l2_latency", machine.l2_latency_seconds,
          "at most dram_latency");
  require(machine.mma_sync_flops <= machine.mma_flops, "mma_sync_rate", machine.mma_sync_flops, "at most mma_rate");
  require(machine.shared_bytes_per_cta + machine.shared_bytes_reserved <= machine.shared_bytes_per_sm,
          "shared_memory_per_cta", static_cast<double>(machine.shared_bytes_per_cta),
          "at most shared_memory_per_sm - shared_memory_reserved");
}

/// The same for what is known of SMs by number.
void check_by_sm(const Machine& machine, const Constants& constants) {
  const auto sms = static_cast<std::size_t>(machine.sms);
  const auto require = [&](bool good, std::string_view key, const std::string& value, const std::string& allowed) {
    if (!good) base::refuse_value(constants.where(), constants.path_of(key) + ".value", value, allowed);
  };
  const auto require_size = [&](std::string_view key, const std::vector<std::int32_t>& list) {
    require(list.empty() || list.size() == sms, key, fmt::format("a list of {}", list.size()),
            fmt::format("an entry for each of the {} sms", machine.sms));
  };
  require_size("gpc_of_sm", machine.gpc_of_sm);
  require_size("port_of_sm", machine.port_of_sm);
  require_size("side_of_sm", machine.side_of_sm);
  require_size("dispatch_order", machine.dispatch_order);
  const std::vector<std::int32_t>& of_gpc = machine.sms_per_gpc;
  const std::vector<std::int32_t>& of_clusters = machine.cluster_sms_per_gpc;
  require(
      of_clusters.empty() || (of_clusters.size() == of_gpc.size() &&
                              std::equal(of_clusters.begin(), of_clusters.end(), of_gpc.begin(), std::less_equal())),
      "cluster_sms_per_gpc", fmt::format("{}", fmt::join(of_clusters, ", ")),
      fmt::format("of each GPC at most the SMs of sms_per_gpc, {}", fmt::join(of_gpc, ", ")));
  require(machine.side_of_sm.empty() || !machine.gpc_of_sm.empty(), "side_of_sm", "a list", "one beside gpc_of_sm");
  std::vector<std::int32_t> members(of_gpc.size(), 0);
  for (const std::int32_t gpc : machine.gpc_of_sm) {
    require(static_cast<std::size_t>(gpc) < members.size(), "gpc_of_sm", fmt::format("GPC {}", gpc),
            "an index into sms_per_gpc");
    ++members[static_cast<std::size_t>(gpc)];
  }
  require(machine.gpc_of_sm.empty() || members == of_gpc, "gpc_of_sm",
          fmt::format("GPCs of {} SMs", fmt::join(members, ", ")), "as many SMs in each as sms_per_gpc says");
  for (std::size_t sm = 0; sm < machine.side_of_sm.size() && !machine.port_of_sm.empty(); ++sm) {
    const auto same = std::find(machine.port_of_sm.begin(), machine.port_of_sm.end(), machine.port_of_sm[sm]);
    const auto first = static_cast<std::size_t>(same - machine.port_of_sm.begin());
    require(machine.side_of_sm[first] == machine.side_of_sm[sm], "side_of_sm", fmt::format("another side of SM {}", sm),
            fmt::format("that of SM {}, which is behind the same port", first));
  }
  std::vector<bool> placed(sms, false);
  for (const std::int32_t sm : machine.dispatch_order) {
    require(static_cast<std::size_t>(sm) < sms && !placed[static_cast<std::size_t>(sm)], "dispatch_order",
            fmt::format("SM {}", sm), fmt::format("each SM from 0 to {} once", machine.sms - 1));
    placed[static_cast<std::size_t>(sm)] = true;
  }
}

/// All of them or none: a prediction without one of them would be too low.
std::optional<EnergyConstants> read_energy(Constants& constants) {
  constexpr std::array<std::string_view, 6> keys = {"idle_power", "sm_power",      "dram_energy",
                                                    "l2_energy",  "shared_energy", "flop_energy"};
  const std::array<std::optional<double>, 6> found = {constants.optional_number(keys[0], "W", 1, 0, 1e5),
                                                      constants.optional_number(keys[1], "W", 1, 0, 1e4),
                                                      constants.optional_number(keys[2], "pJ/byte", 1e-12, 0, 1e5),
                                                      constants.optional_number(keys[3], "pJ/byte", 1e-12, 0, 1e5),
                                                      constants.optional_number(keys[4], "pJ/byte", 1e-12, 0, 1e5),
                                                      constants.optional_number(keys[5], "pJ/FLOP", 1e-12, 0, 1e4)};
  const auto present = [](const std::optional<double>& one) { return one.has_value(); };
  if (std::none_of(found.begin(), found.end(), present)) return std::nullopt;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (present(found[i])) continue;
    throw InputError(fmt::format("{}: {} is missing; allowed: {} together, or none of them", constants.where(),
                                 constants.path_of(keys[i]), fmt::join(keys, ", ")));
  }
  EnergyConstants energy{*found[0], *found[1], *found[2], *found[3], *found[4], *found[5]};
  if (const std::optional<double> limit = constants.optional_number("power_limit", "W", 1, 1, 1e5)) {
    energy.limit_watts = *limit;
  }
  return energy;
}

void read_constants(Machine& machine, Constants& constants) {
  machine.sms = constants.integer("sms", "SM", 1, 100'000);
  machine.sms_per_gpc = constants.integers("sms_per_gpc", "SM", 1, 100'000);
  machine.clock_hz = constants.number("clock", "MHz", 1e6, 1, 100'000);
  machine.dram_peak_bytes_per_second = constants.number("dram_peak_bandwidth", "GB/s", 1e9, 1, 1e6);
  machine.dram_bytes_per_second = constants.number("dram_bandwidth", "GB/s", 1e9, 1, 1e6);
  machine.dram_asymptote = constants.number("dram_asymptote", "GB/s", 1e9, 1, 1e6);
  machine.dram_latency_seconds = constants.number("dram_latency", "ns", 1e-9, 1, 1e6);
  machine.dram_queue_seconds = constants.number("dram_queue_latency", "ns", 1e-9, 0, 1e6);
  if (constants.has("row_bandwidth")) machine.row_shares = constants.numbers("row_bandwidth", "1", 1, 0.01, 1, 3);
  machine.stream_share = constants.optional_number("stream_bandwidth", "1", 1, 0.01, 1).value_or(1);
  machine.cold_seconds = constants.number("cold_start", "ns", 1e-9, 0, 1e6);
  machine.sm_bytes_per_second = constants.number("sm_bandwidth", "GB/s", 1e9, 0.001, 1e6);
  machine.l2_bytes = static_cast<std::int64_t>(constants.number("l2_capacity", "MiB", 1048576, 0.01, 1e6));
  machine.l2_kept = constants.number("l2_kept", "1", 1, 0.01, 1);
  machine.l2_bytes_per_second = constants.number("l2_bandwidth", "GB/s", 1e9, 1, 1e6);
  machine.l2_latency_seconds = constants.number("l2_latency", "ns", 1e-9, 1, 1e6);
  const double clocks = machine.clock_hz * machine.sms;
  machine.mma_flops = constants.number("mma_rate", "FLOP/clock/SM", clocks, 1, 1e6);
  machine.mma_sync_flops = constants.number("mma_sync_rate", "FLOP/clock/SM", clocks, 1, 1e6);
  machine.fp32_lanes = constants.number("fp32_lanes", "1/clock/SM", 1, 1, 10'000);
  machine.exp_per_second = constants.number("exp_rate", "1/clock/SM", clocks, 0.1, 10'000);
  machine.shared_bytes_per_clock = constants.number("shared_memory_rate", "byte/clock/SM", 1, 1, 10'000);
  machine.threads_per_sm = constants.integer("threads_per_sm", "thread", 32, 1 << 20);
  machine.ctas_per_sm_limit = constants.integer("ctas_per_sm_limit", "CTA", 1, 1024);
  machine.registers_per_sm = constants.integer("registers_per_sm", "register", 1024, 1 << 28);
  machine.shared_bytes_per_sm =
      static_cast<std::int64_t>(constants.number("shared_memory_per_sm", "KiB", 1024, 1, 1e6));
  machine.shared_bytes_per_cta =
      static_cast<std::int64_t>(constants.number("shared_memory_per_cta", "KiB", 1024, 1, 1e6));
  machine.shared_bytes_reserved =
      static_cast<std::int64_t>(constants.number("shared_memory_reserved", "KiB", 1024, 0, 1e6));
  machine.launch_seconds = constants.number("launch", "ns", 1e-9, 0, 1e9);
  machine.launch_seconds_per_cta = constants.number("launch_per_cta", "ns", 1e-9, 0, 1e6);
  machine.flag_seconds = constants.number("flag", "ns", 1e-9, 0, 1e6);
  machine.launch_stream_seconds = constants.optional_number("launch_stream", "ns", 1e-9, 0, 1e9);
  machine.first_burst_seconds = constants.optional_number("first_burst", "ns", 1e-9, 0, 1e6);
  machine.launch_programmatic_seconds = constants.optional_number("launch_programmatic", "ns", 1e-9, 0, 1e9);
  machine.atomic_seconds = constants.optional_number("atomic", "ns", 1e-9, 0, 1e6);
  machine.all_reduce_seconds = constants.optional_number("all_reduce", "ns", 1e-9, 0, 1e9);
  machine.link_bytes_per_second = constants.optional_number("link_bandwidth", "GB/s", 1e9, 0.001, 1e6);
  machine.cluster_sms_per_gpc = constants.optional_integers("cluster_sms_per_gpc", "SM", 1, 100'000);
  machine.gpc_of_sm = constants.optional_integers("gpc_of_sm", "1", 0, 100'000);
  machine.port_of_sm = constants.optional_integers("port_of_sm", "1", 0, 100'000);
  machine.side_of_sm = constants.optional_integers("side_of_sm", "1", 0, 1);
  if (const auto rate = constants.optional_number("side_bandwidth", "GB/s", 1e9, 1, 1e6)) {
    machine.side_bytes_per_second = *rate;
  }
  if (const auto rate = constants.optional_number("gpc_bandwidth", "GB/s", 1e9, 1, 1e6)) {
    machine.gpc_bytes_per_second = *rate;
  }
  machine.dispatch_order = constants.optional_integers("dispatch_order", "SM", 0, 100'000);
  machine.energy = read_energy(constants);
  constants.finish();
}

std::vector<std::string> aliases_of(const base::Fields& fields) {
  std::vector<std::string> aliases;
  if (!fields.has("aliases")) return aliases;
  for (const JsonValue& alias : fields.array("aliases").items) {
    if (!alias.is(JsonValue::Kind::text)) fields.refuse("aliases", "an array of texts");
    aliases.push_back(lower(alias.text));
  }
  return aliases;
}

/// The shipped file that `name` (in lower case) or one of its aliases means, or null.
const base::EmbeddedFile* shipped_file(const std::string& name) {
  for (const base::EmbeddedFile& file : machine_files()) {
    if (file.name == name) return &file;
  }
  for (const base::EmbeddedFile& file : machine_files()) {
    const std::string where(file.name);
    const JsonValue document = base::parse_document(file.text, where);
    const std::vector<std::string> aliases = aliases_of(base::Fields(document, where, "", kMachineKeys));
    if (std::find(aliases.begin(), aliases.end(), name) != aliases.end()) return &file;
  }
  return nullptr;
}

}  // namespace

bool has_wgmma(const Machine& machine) {
  return machine.compute_capability == kWgmmaCapability;
}

bool has_capability(const Machine& machine, double least) {
  return std::atof(machine.compute_capability.c_str()) >= least;
}

Machine parse_machine(const std::string& text, const std::string& where) {
  const JsonValue document = base::parse_document(text, where);
  const base::Fields fields(document, where, "", kMachineKeys);
  fields.integer("format", 1, 1);
  Machine machine;
  machine.name = fields.label("name");
  machine.title = fields.optional_label("title").value_or(machine.name);
  machine.compute_capability = fields.optional_line("compute_capability").value_or("");
  machine.own_kernels = fields.optional_label("own_kernels").value_or("");
  aliases_of(fields);
  Constants constants(fields.at("constants"), where, "constants");
  read_constants(machine, constants);
  check_consistent(machine, constants);
  check_by_sm(machine, constants);
  return machine;
}

namespace {

/// A machine file and what error messages call it.
struct NamedText {
  std::string where;
  std::string text;
};

NamedText find_machine(const std::string& name_or_file) {
  if (const base::EmbeddedFile* file = shipped_file(lower(name_or_file)); file != nullptr) {
    return {std::string(file->name), std::string(file->text)};
  }
  if (base::means_file(name_or_file)) {
    return {name_or_file, base::read_text_file(name_or_file)};
  }
  std::string hint = base::did_you_mean(lower(name_or_file), machine_names());
  throw InputError(fmt::format("gpu: unknown machine {}{}; allowed: {}, or a JSON file", base::printable(name_or_file),
                               hint, base::join(machine_names())));
}

}  // namespace

std::string machine_text(const std::string& name_or_file) {
  return find_machine(name_or_file).text;
}

Machine load_machine(const std::string& name_or_file) {
  const NamedText found = find_machine(name_or_file);
  return parse_machine(found.text, found.where);
}

namespace {

/// A part of the chip where its SMs are known by number, else as many spread evenly over its GPCs.
void change_sms(Machine& machine, std::int32_t sms) {
  if (sms == machine.sms) return;
  if (sms < machine.sms && !machine.gpc_of_sm.empty()) {
    keep_sms(machine, sms_of_partition(machine, sms));
    return;
  }
  const auto gpcs = std::min(static_cast<std::int32_t>(machine.sms_per_gpc.size()), sms);
  machine.sms_per_gpc.assign(static_cast<std::size_t>(gpcs), sms / gpcs);
  for (std::int32_t i = 0; i < sms % gpcs; ++i) ++machine.sms_per_gpc[static_cast<std::size_t>(i)];
  machine.cluster_sms_per_gpc.clear();
  machine.gpc_of_sm.clear();
  machine.port_of_sm.clear();
  machine.side_of_sm.clear();
  machine.dispatch_order.clear();
  machine.sms = sms;
}

}  // namespace

Machine with_overrides(Machine machine, const MachineOverrides& overrides) {
  const bool any = overrides.sms != 0 || overrides.dram_peak_bytes_per_second != 0 || overrides.l2_bytes != 0 ||
                   overrides.clock_hz != 0;
  if (any && machine.cpu) throw InputError("overrides: " + machine.name + " is a CPU; allowed: a GPU");
  // In the units of the options and axes that they come from. 0 stands for the machine's own.
  const auto check = [](const char* key, double value, double scale, const char* unit, double least, double most) {
    if (value == 0 || (value / scale >= least && value / scale <= most)) return;
    throw InputError(fmt::format("overrides: {} is {:g}{}; allowed: a number from {:g} to {:g}", key, value / scale,
                                 unit, least, most));
  };
  check("sms", overrides.sms, 1, "", 1, 100'000);
  check("bandwidth", overrides.dram_peak_bytes_per_second, 1e9, " GB/s", kLeastOverride, kMostBandwidthGbPerSecond);
  check("l2", static_cast<double>(overrides.l2_bytes), 1, " bytes", 1, 1e19);
  check("clock", overrides.clock_hz, 1e6, " MHz", kLeastOverride, kMostClockMhz);
  double compute = 1;
  if (overrides.sms != 0) {
    compute *= static_cast<double>(overrides.sms) / machine.sms;
    change_sms(machine, overrides.sms);
  }
  if (overrides.clock_hz != 0) {
    compute *= overrides.clock_hz / machine.clock_hz;
    if (machine.clock_hz != overrides.clock_hz) machine.energy.reset();
    machine.clock_hz = overrides.clock_hz;
  }
  machine.mma_flops *= compute;
  machine.mma_sync_flops *= compute;
  machine.exp_per_second *= compute;
  if (overrides.dram_peak_bytes_per_second != 0) {
    const double factor = overrides.dram_peak_bytes_per_second / machine.dram_peak_bytes_per_second;
    machine.dram_asymptote *= factor;
    machine.dram_bytes_per_second *= factor;
    machine.side_bytes_per_second *= factor;
    machine.dram_peak_bytes_per_second = overrides.dram_peak_bytes_per_second;
  }
  if (overrides.l2_bytes != 0) machine.l2_bytes = overrides.l2_bytes;
  return machine;
}

std::vector<std::string> machine_names() {
  std::vector<std::string> names;
  for (const base::EmbeddedFile& file : machine_files()) names.emplace_back(file.name);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace splitwave::simulator
