// SPDX-License-Identifier: Apache-2.0
#include "studies/target.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/parallel.h"
#include "base/text.h"
#include "studies/this_cpu.h"

namespace splitwave::studies {
namespace {

/// What the user changed, as name and value.
std::vector<std::pair<std::string, std::string>> changes(const Overrides& overrides) {
  std::vector<std::pair<std::string, std::string>> result;
  const auto add = [&](const char* name, auto value) {
    if (value != 0) result.emplace_back(name, fmt::format("{}", value));
  };
  add("sms", overrides.sms);
  add("bandwidth", overrides.bandwidth_gb_per_s);
  add("l2", overrides.l2_bytes);
  add("clock", overrides.clock_mhz);
  add("ctas-per-sm", overrides.ctas_per_sm);
  if (!overrides.kernel.empty()) result.emplace_back("kernel", overrides.kernel);
  return result;
}

/// The machine's name, and in brackets what the user changed: "h200 (sms=66, ctas_per_sm=1)".
std::string overridden_name(const std::string& name, const Overrides& overrides) {
  std::vector<std::string> words;
  for (const auto& [option, value] : changes(overrides)) {
    // The name stands in tables and records; a kernel's path may hold anything.
    std::string& word = words.emplace_back(option + "=" + base::plain_line(value));
    std::replace(word.begin(), word.end(), '-', '_');
  }
  return words.empty() ? name : fmt::format("{} ({})", name, fmt::join(words, ", "));
}

/// The number that the text is, from `least` to `most`, and whole where the override is.
template <typename Number>
bool read_override(std::string_view text, double least, double most, Number& number) {
  const double value = base::number_in(text).value_or(0);
  if (!(value >= least && value <= most)) return false;
  number = static_cast<Number>(value);
  return static_cast<double>(number) == value;
}

bool read_override(std::string_view key, std::string_view value, Overrides& overrides) {
  using Limits = OverrideLimits;
  if (key == "sms") return read_override(value, 1, Limits::sms, overrides.sms);
  if (key == "bandwidth") {
    return read_override(value, Limits::least, Limits::bandwidth_gb_per_s, overrides.bandwidth_gb_per_s);
  }
  if (key == "l2") return read_override(value, 1, Limits::l2_bytes, overrides.l2_bytes);
  if (key == "clock") return read_override(value, Limits::least, Limits::clock_mhz, overrides.clock_mhz);
  if (key == "ctas_per_sm") return read_override(value, 1, Limits::ctas_per_sm, overrides.ctas_per_sm);
  const std::vector<std::string> kernels = simulator::kernel_names();
  overrides.kernel = value;
  return key == "kernel" && std::find(kernels.begin(), kernels.end(), value) != kernels.end();
}

}  // namespace

std::optional<NamedTarget> parse_target_name(std::string_view name) {
  const std::size_t open = name.find(" (");
  NamedTarget result{std::string(name.substr(0, open)), {}};
  const std::vector<std::string> machines = simulator::machine_names();
  if (std::find(machines.begin(), machines.end(), result.machine) == machines.end()) return std::nullopt;
  if (open == std::string_view::npos) return result;
  if (!name.ends_with(')')) return std::nullopt;
  std::string_view rest = name.substr(open + 2, name.size() - open - 3);
  while (!rest.empty()) {
    const std::string_view word = rest.substr(0, rest.find(", "));
    rest.remove_prefix(std::min(rest.size(), word.size() + 2));
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos ||
        !read_override(word.substr(0, equals), word.substr(equals + 1), result.overrides)) {
      return std::nullopt;
    }
  }
  return result;
}

std::string override_words(const Overrides& overrides) {
  std::string words;
  for (const auto& [option, value] : changes(overrides))
    words += fmt::format(" --{} {}", option, base::shell_word(value));
  return words;
}

Target target(const std::string& machine, const Overrides& overrides) {
  return targets({machine}, overrides, base::default_threads()).front();
}

std::vector<Target> targets(const std::vector<std::string>& machines, const Overrides& overrides, std::int32_t threads,
                            bool measure_cpu) {
  const bool own = overrides.kernel == simulator::kOwnKernel;
  std::optional<simulator::KernelFamily> kernel;
  if (!own && !overrides.kernel.empty()) kernel = simulator::load_kernel(overrides.kernel);
  std::vector<Target> result;
  for (const std::string& machine : machines) {
    if (machine == kThisCpu) {
      if (const auto changed = changes(overrides); !changed.empty()) {
        throw base::InputError(
            fmt::format("--gpu cpu: --{} does not apply to it; allowed: --threads", changed.front().first));
      }
      result.push_back(this_cpu(threads, measure_cpu));
      continue;
    }
    Target target;
    target.machine = simulator::with_overrides(
        simulator::load_machine(machine),
        {overrides.sms, overrides.bandwidth_gb_per_s * 1e9, overrides.l2_bytes, overrides.clock_mhz * 1e6});
    target.name = overridden_name(target.machine.name, overrides);
    target.ctas_per_sm = overrides.ctas_per_sm;
    target.kernel = own ? simulator::load_kernel(simulator::own_kernel(target.machine)) : kernel;
    result.push_back(std::move(target));
  }
  return result;
}

std::string calibration_of(const std::string& machine) {
  const std::vector<std::string> shipped = simulator::machine_names();
  const std::string calibrated = machine + "-calibrated";
  return std::find(shipped.begin(), shipped.end(), calibrated) != shipped.end() ? calibrated : machine;
}

std::string machine_of_device(std::string_view device_name) {
  std::set<std::string> words;
  std::string word;
  for (const char letter : std::string(device_name) + ' ') {
    if (std::isalnum(static_cast<unsigned char>(letter)) != 0) {
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
    } else {
      words.insert(std::exchange(word, ""));
    }
  }
  const bool pcie = words.contains("pcie");
  for (const std::string& name : simulator::machine_names()) {
    const std::size_t dash = name.find('-');
    const std::string form = dash == std::string::npos ? "" : name.substr(dash + 1);
    // "rtx-4090" is a series and a model, "h100-sxm" a model and its form, which the device only names where it is
    // PCIe.
    const bool same_form = form.empty() || words.contains(form) || (form == "sxm" && !pcie);
    if (words.contains(name.substr(0, dash)) && same_form) {
      return name;
    }
  }
  return "";
}

simulator::Machine machine_for(const Target& target, const workloads::Workload& workload, const schedules::Plan& plan) {
  return target.cpu ? cpu_for(target, workload, plan) : target.machine;
}

}  // namespace splitwave::studies
