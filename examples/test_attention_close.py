# SPDX-License-Identifier: Apache-2.0
"""Tests of an attention kernel with splitwave's pytest fixture: no tolerance to choose, and a failure says why.

    python3 -m pytest examples/test_attention_close.py
"""
import numpy as np
import pytest

pytest_plugins = "splitwave.pytest_plugin"  # where pip installed splitwave, pytest knows it without this line


def my_kernel(q, k, v):
    """Stands for the kernel under test: causal attention of arrays [batch, token, head, element], fp16 in and out."""
    group = q.shape[2] // k.shape[2]
    k, v = (np.repeat(x.astype(np.float32), group, 2) for x in (k, v))
    scores = np.einsum("bqhd,bkhd->bhqk", q.astype(np.float32), k) / np.sqrt(q.shape[-1])
    queries, tokens = scores.shape[2:]
    scores[..., np.arange(tokens) > np.arange(queries)[:, None] + tokens - queries] = -np.inf
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return np.einsum("bhqk,bkhd->bqhd", weights / weights.sum(-1, keepdims=True), v).astype(np.float16)


def normal(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float16)


@pytest.mark.parametrize("tokens", [1, 63, 64, 65, 1000])
@pytest.mark.parametrize("heads, kv_heads", [(8, 8), (8, 2), (8, 1)])
def test_decode(assert_attention_close, tokens, heads, kv_heads):
    q, k, v = normal(0, 2, 1, heads, 64), normal(1, 2, tokens, kv_heads, 64), normal(2, 2, tokens, kv_heads, 64)
    assert_attention_close(q, k, v, my_kernel(q, k, v), causal=True)


def test_several_queries(assert_attention_close):
    q, k, v = normal(0, 1, 5, 4, 64), normal(1, 1, 200, 4, 64), normal(2, 1, 200, 4, 64)
    verdict = assert_attention_close(q, k, v, my_kernel(q, k, v), causal=True)
    assert verdict.output["worst_bound_ratio"] < 0.5  # half of what rounding could explain
