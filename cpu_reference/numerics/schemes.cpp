// SPDX-License-Identifier: Apache-2.0
#include "cpu_reference/numerics/schemes.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "base/error.h"
#include "base/text.h"

namespace splitwave::cpu_reference::numerics {
namespace {

constexpr Rounding kFlash{.order = TileOrder::last_to_first};

/// S, P and the output are matrices in memory, in the dtype.
constexpr Rounding kStandard{
    .scores = Precision::input, .exponential = Exponential::exp, .whole_rows = true, .weights = Precision::input};

constexpr Rounding kFp8{.operands = Precision::e4m3,
                        .scaling = Scaling::block,
                        .incoherent = true,
                        .weights = Precision::e4m3,
                        .weight_exponent = 8,
                        .order = TileOrder::last_to_first};

constexpr Rounding fp8_with(Scaling scaling, bool incoherent) {
  Rounding rounding = kFp8;
  rounding.scaling = scaling;
  rounding.incoherent = incoherent;
  return rounding;
}

constexpr std::string_view kFlashPaper = "arXiv 2407.08608, section 4.3 and Table 3";

// Commits: flash-attention 0251105, onnxruntime 1.21.0, aiter 2e8eaeb, flashinfer fb28d72, FlashMLA 9241ae3,
// FlashMLA-ETAP 39e6160, ggml d99724f.
constexpr Scheme kSchemes[] = {
    {"fa2", "P rounded, fp32 else; tiles from the last to the first; normalised fp32 partials",
     "flash-attention csrc/flash_attn/src/flash_fwd_kernel.h:929, :1004, :1259; softmax.h:88, :165", kFlash},
    {"fa3", "as fa2: the same roundings on other instructions",
     "flash-attention hopper/mainloop_fwd_sm90_tma_gmma_ws.hpp:1060, :1289; softmax.h:85, :134; "
     "flash_fwd_combine_kernel.h:610-622, :693",
     kFlash},
    {"lean",
     "P rounded; tiles from the first to the last; raw fp32 partials with maximum and sum",
     "arXiv 2405.10480, Algorithms 1 and 2; aiter ops/triton/_triton_kernels/lean_atten.py, _attention_inner",
     {.partial_form = PartialForm::raw}},
    {"lean:ort",
     "as fa2, but LSEs and merge weights pass through fp16 in shared memory",
     "onnxruntime contrib_ops/cuda/bert/lean_attention/lean_fwd_kernel.h:762, :897-898",
     {.order = TileOrder::last_to_first, .merge = Precision::f16},
     Precision::bf16},
    {"flashinfer",
     "tensor cores: P rounded, the row sum adds rounded P; partials in the dtype",
     "flashinfer include/flashinfer/attention/prefill.cuh:1626-1645, :1710, :1722, :4508; cascade.cuh:375-466",
     {.sum_rounded_weights = true, .partials = Precision::input}},
    {"flashinfer:cuda-cores",
     "P not rounded; partials in the dtype",
     "flashinfer include/flashinfer/attention/decode.cuh:94-115, :136-143, :601",
     {.weights = Precision::f32, .instruction_tokens = 1, .partials = Precision::input}},
    {"flashmla",
     "P rounded; tiles from the first to the last; normalised fp32 partials",
     "FlashMLA csrc/sm90/decode/dense/splitkv_mla.cuh:383-389, :1137-1145, :671; "
     "csrc/smxx/decode/combine/combine.cu:90-132",
     {}},
    {"etap", "transposed, which rounds nothing else: as fa2",
     "FlashMLA-ETAP csrc/flash_fwd_mla_kernel.h:359-401, :199, :587-625; softmax.h:201, :294", kFlash},
    {"standard", "S and normalised P rounded, no tiles: FlashAttention-3's baseline", kFlashPaper, kStandard,
     Precision::bf16},
    {"fa3-fp8", "Q, K, V and 2^8 P in e4m3; a factor per block; incoherent processing",
     "arXiv 2407.08608, section 3.3; flash-attention hopper/softmax.h:66-85, flash_fwd_kernel_sm90.h:416", kFp8,
     Precision::e4m3},
    {"fa3-fp8:per-tensor", "fa3-fp8 with one factor for each tensor", kFlashPaper, fp8_with(Scaling::tensor, true),
     Precision::e4m3},
    {"fa3-fp8:coherent", "fa3-fp8 without incoherent processing", kFlashPaper, fp8_with(Scaling::block, false),
     Precision::e4m3},
    {"standard-fp8",
     "Q, K, V in e4m3 with a factor per tensor, S and P in the dtype: FlashAttention-3's baseline in FP8",
     kFlashPaper,
     {.operands = Precision::e4m3,
      .scaling = Scaling::tensor,
      .scores = Precision::input,
      .exponential = Exponential::exp,
      .whole_rows = true,
      .weights = Precision::input},
     Precision::e4m3},
    {"f16-accumulator",
     "as fa2 with an fp16 accumulator of the output, token by token",
     "ggml src/ggml-cpu/ops.cpp, ggml_compute_forward_flash_attn_ext_f16_one_chunk (VKQ16)",
     {.accumulator = Precision::f16, .instruction_tokens = 1},
     Precision::e4m3},
    {"f32",
     "fp32 throughout, the output too",
     "",
     {.weights = Precision::f32, .output = Precision::f32},
     Precision::f32},
    {"f64",
     "double throughout",
     "",
     {.arithmetic = Precision::f64,
      .scores = Precision::f64,
      .weights = Precision::f64,
      .accumulator = Precision::f64,
      .partials = Precision::f64,
      .merge = Precision::f64,
      .output = Precision::f64},
     Precision::f64},
};

}  // namespace

std::span<const Scheme> schemes() {
  return kSchemes;
}

Rounding resolved(Rounding rounding, workloads::Dtype dtype) {
  for (Precision* precision : {&rounding.operands, &rounding.scores, &rounding.weights, &rounding.accumulator,
                               &rounding.partials, &rounding.merge, &rounding.output}) {
    *precision = resolved(*precision, dtype);
  }
  return rounding;
}

const Scheme& find_scheme(std::string_view name) {
  std::vector<std::string> names;
  for (const Scheme& scheme : kSchemes) {
    if (scheme.name == name) return scheme;
    names.emplace_back(scheme.name);
  }
  throw base::InputError(fmt::format("rounding '{}' is not known{}; allowed: {}", base::printable(name),
                                     base::did_you_mean(name, names), base::join(names)));
}

}  // namespace splitwave::cpu_reference::numerics
