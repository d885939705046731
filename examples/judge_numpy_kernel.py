#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Judges an attention kernel written in NumPy, once right and with five faults.

The kernel is a small FlashDecoding: it cuts the context in splits, keeps a running maximum and sum in each, and merges
the partial results by their log-sum-exp. splitwave.verify() needs q, k, v and the output alone.

    python3 examples/judge_numpy_kernel.py
"""
import numpy as np

import splitwave

BATCH, QUERY_HEADS, KV_HEADS, HEAD_DIM, CONTEXT = 2, 8, 2, 64, 1000
SPLITS, TILE = 4, 64


def decode_split(q, k, v, scale, rescale=True):
    """Output and LSE of rows q [rows, d] over the tokens of k, v [tokens, d], tile by tile; weights in fp16."""
    output = np.zeros((len(q), v.shape[1]), np.float32)
    largest = np.full(len(q), -np.inf, np.float32)
    total = np.zeros(len(q), np.float32)
    for begin in range(0, len(k), TILE):
        scores = scale * (q @ k[begin : begin + TILE].T)
        new_largest = np.maximum(largest, scores.max(1))
        factor = np.exp(largest - new_largest)
        weights = np.exp(scores - new_largest[:, None]).astype(np.float16).astype(np.float32)
        total = total * factor + weights.sum(1)
        output = output * (factor[:, None] if rescale else 1) + weights @ v[begin : begin + TILE]
        largest = new_largest
    return output / total[:, None], largest + np.log(total)


def kernel(q, k, v, fault=None):
    """Decode attention of q [batch, 1, heads, d] over k, v [batch, tokens, KV heads, d]; fp16 in and out."""
    scale = 1 / np.sqrt(HEAD_DIM) if fault != "no scale" else 1 / HEAD_DIM
    out = np.empty(q.shape, np.float16)
    group = QUERY_HEADS // KV_HEADS
    bounds = np.linspace(0, CONTEXT, SPLITS + 1).astype(int)
    for request in range(BATCH):
        for head in range(KV_HEADS):
            heads = slice(head, None, KV_HEADS) if fault == "head mapping" else slice(head * group, (head + 1) * group)
            rows = q[request, 0, heads].astype(np.float32)
            parts = []
            for split, (begin, end) in enumerate(zip(bounds, bounds[1:])):
                if fault == "missing split" and split == 2:
                    continue
                if fault == "last token" and split == SPLITS - 1:
                    end -= 1
                tokens = slice(begin, end)
                parts.append(decode_split(rows, k[request, tokens, head].astype(np.float32),
                                          v[request, tokens, head].astype(np.float32), scale,
                                          rescale=fault != "missing rescale"))  # fmt: skip
            outputs, lse = (np.stack(part) for part in zip(*parts))
            weights = np.exp(lse - lse.max(0))
            out[request, 0, heads] = ((weights / weights.sum(0))[:, :, None] * outputs).sum(0)
    return out


def main():
    random = np.random.default_rng(0)
    q = random.standard_normal((BATCH, 1, QUERY_HEADS, HEAD_DIM)).astype(np.float16)
    k, v = random.standard_normal((2, BATCH, CONTEXT, KV_HEADS, HEAD_DIM)).astype(np.float16)

    verdict = splitwave.verify(q, k, v, kernel(q, k, v), name="the kernel as it should be")
    print(verdict)
    assert verdict.passed

    for fault in ("missing split", "last token", "no scale", "head mapping", "missing rescale"):
        verdict = splitwave.verify(q, k, v, kernel(q, k, v, fault))
        diagnosis = verdict.findings[0]["text"] if verdict.findings else "nothing explains it"
        print(f"{fault}: {'passed' if verdict.passed else 'refused'}: {diagnosis}")
        assert not verdict.passed


if __name__ == "__main__":
    main()
