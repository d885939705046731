# SPDX-License-Identifier: Apache-2.0
"""Judging the output of anybody's attention kernel."""
from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Optional

from . import _splitwave
from ._arrays import ArrayLike, native_array


@dataclass(frozen=True)
class Verification:
    """A verdict and its reasons, with the keys of `splitwave verify --json` (docs/verify.md). True where the output
    passed; str() is what the command prints.

    decided_by: the rule that decided. rules: what each found ("passed", "value", "limit", "text"), by name. output:
    figures of all elements: "max_abs", "max_relative", "rmse_over_rms", "cosine", "worst_bound_ratio" (largest error over
    the most that rounding explains), "over_bound", "mismatched_non_finite". lse: "max_abs" and "worst_bound_ratio", or
    None. heads, requests: the same figures of each, for columns(). ulps: "counts" of distances 0, 1, 2, 3-4, 5-8 and so
    on, and the "largest". worst: the element farthest beyond its bound, with its coordinates and the token that weighs
    most in it. findings: faults that explain the error, the best first ("fault", "text", "explained", ...).
    """

    name: str
    passed: bool
    decided_by: str
    rules: dict[str, dict[str, Any]]
    rows: int
    output: dict[str, Any]
    ulps: dict[str, Any]
    findings: list[dict[str, Any]]
    heads: list[dict[str, Any]]
    requests: list[dict[str, Any]]
    lse: Optional[dict[str, Any]] = None
    worst: Optional[dict[str, Any]] = None
    text: str = field(default="", repr=False)

    def __bool__(self) -> bool:
        return self.passed

    def __str__(self) -> str:
        return self.text


def _with_floats(figures: dict[str, Any]) -> dict[str, Any]:
    """JSON has no infinity and no NaN: the library writes them as texts."""
    return {key: float(value) if value in ("nan", "inf", "-inf") else value for key, value in figures.items()}


def verify(
    q: ArrayLike,
    k: ArrayLike,
    v: Optional[ArrayLike],
    out: ArrayLike,
    *,
    lse: Optional[ArrayLike] = None,
    layout: str = "token",
    kv_layout: Optional[str] = None,
    causal: bool = False,
    window: Optional[int] = None,
    scale: Optional[float] = None,
    mask: Optional[ArrayLike] = None,
    block_table: Optional[ArrayLike] = None,
    context_lens: Optional[ArrayLike] = None,
    cu_seqlens_q: Optional[ArrayLike] = None,
    cu_seqlens_k: Optional[ArrayLike] = None,
    lse_base: str = "e",
    lse_head_first: Optional[bool] = None,
    empty_lse: str = "-inf",
    weights: Optional[str] = None,
    diagnose: bool = True,
    name: str = "output",
) -> Verification:
    """Judges what an attention kernel gave for q, k and v.

    Arrays are NumPy's, or have __dlpack__ or __array_interface__, in the computer's memory: float16, bfloat16 (ml_dtypes,
    or a torch tensor on the CPU), float32 or float64, read in place where the elements of a row lie side by side.

    Args:
        q: [batch, token, head, element], or [token of the batch, head, element] with cu_seqlens_q.
        k, v: the same with KV heads (fewer than q's for GQA), [token of the batch, KV head, element] with cu_seqlens_k,
            or pages [page, token, KV head, element] with block_table. v=None: the first elements of each K row (MLA).
        out: the kernel's output, of q's shape but for the last axis.
        lse: the kernel's log-sum-exp, [token, head] or [head, token] per request.
        layout: of q and out: "token" (FlashAttention's, as above) or "head": [batch, head, token, element], PyTorch's
            scaled_dot_product_attention. kv_layout: of k and v, if another.
        causal: the last query sees the last token (bottom-right).
        window: a query sees no position this far from its own or farther, on either side.
        scale: factor on Q·K; None: 1 / sqrt(head_dim).
        mask: bool (True: visible) or added to the scaled scores; [query, token], before them [request] or [request,
            head].
        block_table: [request, logical page]: physical page. context_lens: [request], tokens.
        cu_seqlens_q, cu_seqlens_k: [requests + 1], from 0.
        lse_base: "e" or "2". lse_head_first: which of its two shapes lse has, where the extents do not tell. empty_lse:
            LSE of a row that sees nothing, "-inf" or "+inf" (FlashMLA).
        weights: type in which the kernel keeps the weights P: "f16", "bf16", "tf32", "f32", "f64"; None: k's.
        diagnose: look for the fault that explains the error.
        name: of the verdict.

    Raises:
        ValueError: one line that names the array, what was found and what is allowed.
    """

    def optional(array_name: str, value: Optional[ArrayLike]) -> Optional[_splitwave.Array]:
        return None if value is None else native_array(array_name, value)

    verdict, text = _splitwave.verify(
        name,
        native_array("q", q),
        native_array("k", k),
        optional("v", v),
        native_array("output", out),
        optional("lse", lse),
        optional("block_table", block_table),
        optional("context_lens", context_lens),
        optional("cu_seqlens_q", cu_seqlens_q),
        optional("cu_seqlens_k", cu_seqlens_k),
        optional("mask", mask),
        layout,
        layout if kv_layout is None else kv_layout,
        causal,
        window,
        scale,
        lse_base,
        lse_head_first,
        empty_lse,
        weights,
        diagnose,
    )
    return Verification(**json.loads(verdict, object_hook=_with_floats), text=text)
