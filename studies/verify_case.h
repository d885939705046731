// SPDX-License-Identifier: Apache-2.0
// Cases for verify in files, and files of a workload's own tensors (docs/verify.md has the formats).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/array.h"
#include "cpu_reference/verify.h"
#include "workloads/workload.h"

namespace splitwave::studies {

/// What a command line says of a case; it goes before what the case's own case.json says.
struct CaseOptions {
  std::map<std::string, std::string> tensors;  ///< name -> FILE, or FILE,DTYPE,SHAPE of a raw file (shape: 2x8x128)
  std::optional<bool> causal;
  std::optional<std::int32_t> window;
  std::optional<double> scale;
  std::optional<std::string> lse_base;      ///< "e" or "2"
  std::optional<std::string> layout;        ///< of q and output: "token" or "head" major
  std::optional<std::string> kv_layout;     ///< of k and v, the same
  std::optional<std::string> weights;       ///< "f16", "bf16", "tf32", "f32", "f64"
  std::optional<std::string> sixteen_bits;  ///< what 16-bit integers of npy files are: "f16" or "bf16"
  bool diagnose = true;
  std::int64_t sample = 0;  ///< of a workload, judge so many KV heads of requests (studies/verify_sample.h); 0: all
};

/// One call of a kernel from files. The arrays keep the call's memory alive.
struct VerifyCase {
  std::string name;
  std::vector<base::Array> memory;
  cpu_reference::KernelCall call;
  cpu_reference::VerifyOptions options;
};

/// Throws InputError that begins with `where` unless an array of a case has the name.
void expect_array_name(const std::string& where, const std::string& name);

/// The cases at a path: a folder with arrays, a safetensors file, or a folder of these, sorted by name. Throws
/// InputError where there is none.
std::vector<std::string> find_cases(const std::string& path);

/// Reads one of them. Throws InputError naming the file, the array or the key, and what is allowed.
VerifyCase load_case(const std::string& path, const CaseOptions& options);

/// Judges a kernel's output for a workload whose tensors it was given (`workload tensors` writes them), all of it or a
/// sample.
cpu_reference::Verification verify_workload(const workloads::Workload& workload, const std::string& output,
                                            const std::string& lse, const CaseOptions& options);

enum class TensorFormat { npy, safetensors };

/// Writes q, k, v (block_table, context_lens or cumulative lengths), the oracle's output and LSE, case.json and
/// workload.json into a new or empty folder. Throws InputError also for a head-major workload of different lengths,
/// which no array holds, and for one with cumulative lengths of more than 2^31 - 1 tokens.
void export_tensors(const workloads::Workload& workload, const std::string& folder, TensorFormat format);

}  // namespace splitwave::studies
