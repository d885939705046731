// SPDX-License-Identifier: Apache-2.0
// splitwave as a library: how attention work is cut over a GPU, how long that takes, and whether a kernel is right.
//
//   using namespace splitwave;
//
//   // 1. Make a workload: from a line, a file or a suite; or fill in a workloads::Workload yourself.
//   const workloads::Workload workload = workloads::load("llama-3-8b:4q1s2k").front();
//
//   // 2. Make a plan: which CTA does what, as data. schedules::all() lists the schedules.
//   const studies::Target h200 = studies::target("h200");
//   const schedules::Grid grid = studies::grid_for(workload, "lean", h200);
//   const schedules::Plan plan = schedules::make_plan("lean", workload, grid);
//
//   // 3. Simulate: how long, and where each microsecond goes. studies::predict(workload, "lean", h200) is 2 and 3.
//   const schedules::Timeline timeline = studies::simulate_plan(workload, plan, h200).timeline;
//
//   // 4. Run the plan on the CPU, here with 2 threads. The tensors come from the workload's seed, or are yours.
//   const workloads::Tensors tensors = workloads::make_tensors(workload, base::available_memory_bytes());
//   const cpu_reference::Result<float> result = cpu_reference::run_plan(workload, tensors, plan, 2);
//
//   // 5. Judge a result, this one or that of any kernel, against the exact oracle.
//   const cpu_reference::Result<double> exact = cpu_reference::attend(workload, tensors);
//   const cpu_reference::Errors errors = cpu_reference::compare(result, exact);
//   const bool right = cpu_reference::acceptable(errors, cpu_reference::tolerance(workload.geometry.dtype));
//
//   // Or a kernel of your own, from its arrays wherever they lie: a verdict, and the fault that explains the error.
//   cpu_reference::KernelCall call;
//   call.q = base::c_order_view(q, base::ElementType::f16, {tokens, heads, dim});  // k, v, output the same way
//   const cpu_reference::Verification verdict = splitwave::verify(call);
//   if (!verdict.passed && !verdict.findings.empty()) puts(verdict.findings.front().text.c_str());
//
// Bad input throws base::InputError, whose message is one line: where, what was found, what is allowed. Link
// splitwave::studies, which brings all that this header declares; docs/library.md says more.
#pragma once

#include "base/array.h"
#include "base/array_files.h"
#include "base/build_info.h"
#include "base/error.h"
#include "base/memory.h"
#include "cpu_reference/compare.h"
#include "cpu_reference/oracle.h"
#include "cpu_reference/run_plan.h"
#include "cpu_reference/verify.h"
#include "schedules/grid.h"
#include "schedules/plan.h"
#include "schedules/schedules.h"
#include "schedules/timeline.h"
#include "studies/choose.h"
#include "studies/predict.h"
#include "studies/target.h"
#include "workloads/load.h"
#include "workloads/tensors.h"
#include "workloads/workload.h"

namespace splitwave {

using cpu_reference::verify;

}  // namespace splitwave
