// SPDX-License-Identifier: Apache-2.0
#include "gpu/nvml.h"

#include <dlfcn.h>

#include <map>
#include <mutex>
#include <string>

#include "gpu/device.h"

namespace splitwave::gpu {
namespace {

// As nvml.h declares them. That header is a package of its own, which few who build kernels have; the interface of
// functions without a version in their name never changes.
using Status = int;  // nvmlReturn_t: 0 is success
using Handle = void*;
using Init = Status (*)();
using HandleByUuid = Status (*)(const char* uuid, Handle* device);
using TotalEnergy = Status (*)(Handle device, unsigned long long* millijoules);
using Power = Status (*)(Handle device, unsigned int* milliwatts);
using ClockInfo = Status (*)(Handle device, int clock, unsigned int* megahertz);
constexpr int kSmClock = 1;  // NVML_CLOCK_SM

template <class Function>
Function find(void* library, const char* name) {
  return library == nullptr ? nullptr : reinterpret_cast<Function>(dlsym(library, name));
}

/// Loaded once and never given back: the driver's library stays for the life of the process, as the driver does.
struct Library {
  void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  Init init = find<Init>(library, "nvmlInit_v2");
  HandleByUuid handle_by_uuid = find<HandleByUuid>(library, "nvmlDeviceGetHandleByUUID");
  TotalEnergy total_energy = find<TotalEnergy>(library, "nvmlDeviceGetTotalEnergyConsumption");
  Power power = find<Power>(library, "nvmlDeviceGetPowerUsage");
  Power power_limit = find<Power>(library, "nvmlDeviceGetEnforcedPowerLimit");
  ClockInfo clock = find<ClockInfo>(library, "nvmlDeviceGetClockInfo");
  bool ready = init != nullptr && handle_by_uuid != nullptr && init() == 0;
};

const Library& library() {
  static const Library one;
  return one;
}

/// The current device's, or null if the library does not know it.
Handle handle() {
  static std::mutex mutex;
  static std::map<std::string, Handle> known;
  const std::string uuid = current_device().uuid;
  if (!library().ready) return nullptr;
  const std::lock_guard lock(mutex);
  const auto [place, is_new] = known.emplace(uuid, nullptr);
  if (is_new && library().handle_by_uuid(uuid.c_str(), &place->second) != 0) place->second = nullptr;
  return place->second;
}

std::optional<double> watts(Power ask, Handle device) {
  unsigned int milliwatts = 0;
  if (ask == nullptr || ask(device, &milliwatts) != 0) return std::nullopt;
  return milliwatts * 1e-3;
}

}  // namespace

DeviceState device_state() {
  DeviceState state;
  const Handle device = handle();
  if (device == nullptr) return state;
  unsigned int megahertz = 0;
  if (library().clock != nullptr && library().clock(device, kSmClock, &megahertz) == 0) state.sm_clock_mhz = megahertz;
  state.power_watts = watts(library().power, device);
  state.power_limit_watts = watts(library().power_limit, device);
  return state;
}

std::optional<double> energy_joules() {
  const Handle device = handle();
  unsigned long long millijoules = 0;
  if (device == nullptr || library().total_energy == nullptr || library().total_energy(device, &millijoules) != 0) {
    return std::nullopt;
  }
  return static_cast<double>(millijoules) * 1e-3;
}

}  // namespace splitwave::gpu
