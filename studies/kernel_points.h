// SPDX-License-Identifier: Apache-2.0
// The kernels' probes as points of a calibration, and the kernel file that such points make.
#pragma once

#include <string>
#include <vector>

#include "gpu/kernel_probes.h"
#include "simulator/machine.h"
#include "studies/calibrate.h"
#include "studies/kernel_constants.h"

namespace splitwave::studies {

/// "r1w4s2t16c1_d128_paged_items_any": the benchmark's name of a probe's point.
std::string point_name(const gpu::KernelProbe& probe);

/// The probes among the points.
std::vector<gpu::KernelProbe> probes_of(const std::vector<CalibrationPoint>& points);

/// What the points and the constants that the machine has of them say of what the probes include. source: begins each
/// constant's. Throws InputError naming the benchmark that is missing.
ProbeBase probe_base(const std::vector<CalibrationPoint>& points, const simulator::Machine& machine,
                     const std::string& source);

/// The kernel file `text` with the constants that its configs' probes among the points make: what calibrate_cuda()
/// writes, of a device that is not there. Threads, registers and shared memory are those of `text`. source: begins each
/// constant's. Throws InputError as probe_base() does, and for probes of a config that `text` does not have.
std::string recalibrated_kernels(const std::vector<CalibrationPoint>& points, const simulator::Machine& machine,
                                 const std::string& source, const std::string& text);

}  // namespace splitwave::studies
