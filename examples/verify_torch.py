#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Judges PyTorch's attention kernels on a GPU: the backends of scaled_dot_product_attention, FlexAttention, and a Triton
kernel, on decodes and on a causal prefill.

Needs a CUDA device and PyTorch 2.5 or later with Triton, which the project's own tests do without: this example is not
among them. docs/gpu/h200_verify_torch.txt is what it printed on an H200 with PyTorch 2.11.

    python3 examples/verify_torch.py
"""
import sys

import torch
import triton
import triton.language as tl
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.attention.flex_attention import create_block_mask, flex_attention
from torch.nn.functional import scaled_dot_product_attention

import splitwave

QUERY_HEADS, KV_HEADS, HEAD_DIM = 32, 8, 128
GROUP = QUERY_HEADS // KV_HEADS
#: Requests, query tokens, context tokens.
SHAPES = [(4, 1, 4096), (1, 1, 32768), (3, 1, 1000), (1, 512, 512)]
BACKENDS = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.CUDNN_ATTENTION, SDPBackend.MATH]


@triton.jit
def decode_kernel(q, k, v, out, scale, tokens, group, stride_request, stride_head, stride_token,
                  DIM: tl.constexpr, BLOCK: tl.constexpr):  # fmt: skip
    """One program per query head and request walks the whole context, with a running maximum; fp32 inside."""
    head, request = tl.program_id(0), tl.program_id(1)
    elements = tl.arange(0, DIM)
    row = (request * tl.num_programs(0) + head) * DIM + elements
    query = tl.load(q + row).to(tl.float32)
    begin_kv = request.to(tl.int64) * stride_request + (head // group) * stride_head
    largest = tl.full([1], -float("inf"), tl.float32)
    total = tl.zeros([1], tl.float32)
    output = tl.zeros([DIM], tl.float32)
    for begin in range(0, tokens, BLOCK):
        token = begin + tl.arange(0, BLOCK)
        valid = token < tokens
        at = begin_kv + token[:, None] * stride_token + elements[None, :]
        keys = tl.load(k + at, mask=valid[:, None], other=0.0).to(tl.float32)
        values = tl.load(v + at, mask=valid[:, None], other=0.0).to(tl.float32)
        scores = tl.where(valid, tl.sum(keys * query[None, :], 1) * scale, -float("inf"))
        new_largest = tl.maximum(largest, tl.max(scores, 0))
        factor = tl.exp(largest - new_largest)
        weights = tl.exp(scores - new_largest)
        total = total * factor + tl.sum(weights, 0)
        output = output * factor + tl.sum(weights[:, None] * values, 0)
        largest = new_largest
    tl.store(out + row, (output / total).to(out.dtype.element_ty))


def triton_decode(q, k, v):
    """Decode attention of q [batch, head, 1, element] over k, v [batch, KV head, token, element] of equal strides."""
    out = torch.empty_like(q)
    decode_kernel[(q.shape[1], q.shape[0])](
        q, k, v, out, q.shape[-1] ** -0.5, k.shape[2], GROUP, k.stride(0), k.stride(1), k.stride(2),
        DIM=q.shape[-1], BLOCK=64)  # fmt: skip
    return out


def sdpa(backend):
    def run(q, k, v):
        # No is_causal for one query: PyTorch aligns its mask at the top left, where that query would see one token.
        k, v = (x.repeat_interleave(GROUP, dim=1) for x in (k, v))
        with sdpa_kernel(backend):
            return scaled_dot_product_attention(q, k, v, is_causal=q.shape[2] > 1)

    return run


def flex(q, k, v):
    queries, tokens = q.shape[2], k.shape[2]
    block_mask = None
    if queries > 1:
        block_mask = create_block_mask(lambda b, h, i, j: j <= i + tokens - queries, None, None, queries, tokens)
    return torch.compile(flex_attention)(q, k, v, block_mask=block_mask, enable_gqa=True, return_lse=True)


def cases(queries):
    yield from ((f"sdpa {backend.name}", sdpa(backend)) for backend in BACKENDS)
    yield "flex_attention", flex
    if queries == 1:
        yield "triton", triton_decode


def main():
    if not torch.cuda.is_available():
        sys.exit("verify_torch.py: no CUDA device")
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, splitwave {splitwave.__version__}")
    failures = 0
    for dtype in (torch.float16, torch.bfloat16):
        for batch, queries, tokens in SHAPES:
            torch.manual_seed(0)
            q = torch.randn(batch, QUERY_HEADS, queries, HEAD_DIM, device="cuda").to(dtype)
            k, v = (torch.randn(batch, KV_HEADS, tokens, HEAD_DIM, device="cuda").to(dtype) for _ in range(2))
            for name, kernel in cases(queries):
                what = f"{name}, {dtype}, {batch} x {queries} x {tokens}"
                try:
                    out = kernel(q, k, v)
                except RuntimeError as error:  # a backend that does not take the shape
                    print(f"{what}: not run: {str(error).splitlines()[0]}")
                    continue
                out, lse = out if isinstance(out, tuple) else (out, None)
                verdict = splitwave.verify(q.cpu(), k.cpu(), v.cpu(), out.cpu(), layout="head", causal=True,
                                           lse=None if lse is None else lse.cpu())  # fmt: skip
                failures += not verdict.passed
                print(f"{what}: {'pass' if verdict.passed else 'FAIL'}, rmse/rms "
                      f"{verdict.output['rmse_over_rms']:.3g}, {verdict.output['worst_bound_ratio']:.3g} of the bound"
                      + "".join(f"; {finding['text']}" for finding in verdict.findings[:1]))  # fmt: skip
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
