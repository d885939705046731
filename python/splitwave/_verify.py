# SPDX-License-Identifier: Apache-2.0
"""Judging the output of anybody's attention kernel."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Optional

from . import _splitwave
from ._arrays import ArrayLike, native_array

_LAYOUTS = ("bshd", "bhsd")


@dataclass(frozen=True)
class Verification:
    """A verdict and its reasons (docs/verify.md). True where the output passed; str() says why in words.

    decided_by: the rule that decided. rules: what each rule found ("rule", "passed", "value", "limit", "text"). output:
    figures of all elements: "max_abs", "max_relative", "rmse_over_rms", "cosine", "worst_bound_ratio" (largest error over
    the most that rounding explains), "over_bound", "mismatched_non_finite". lse: "max_abs", "worst_bound_ratio", or None.
    heads, requests: the same figures of each, for columns(). ulps: "counts" of distances 0, 1, 2, 3-4, 5-8 and so on, and
    the "largest". worst: the element farthest beyond its bound, with its coordinates and the token that weighs most.
    findings: faults that explain the error, the best first ("fault", "text", "explained", ...).
    """

    passed: bool
    decided_by: str
    rules: list[dict[str, Any]]
    output: dict[str, Any]
    lse: Optional[dict[str, Any]]
    heads: list[dict[str, Any]]
    requests: list[dict[str, Any]]
    ulps: dict[str, Any]
    worst: Optional[dict[str, Any]]
    findings: list[dict[str, Any]]
    rows: int

    def __bool__(self) -> bool:
        return self.passed

    def __str__(self) -> str:
        lines = [f"{'pass' if self.passed else 'FAIL'}, decided by: {self.decided_by}"]
        lines += [f"  {rule['rule']}: {'pass' if rule['passed'] else 'FAIL'}: {rule['text']}" for rule in self.rules]
        if self.worst is not None:
            at = "request {request}, query {query}, head {head}, element {element}".format(**self.worst)
            lines.append(
                f"  worst: {at}: {self.worst['value']:.6g}, exact {self.worst['exact']:.6g}, bound "
                f"{self.worst['bound']:.3g}; token {self.worst['heaviest_token']} weighs most in it "
                f"({self.worst['heaviest_weight']:.3g})"
            )
        lines += [f"  finding: {finding['fault']}: {finding['text']}" for finding in self.findings]
        return "\n".join(lines)


def verify(
    q: ArrayLike,
    k: ArrayLike,
    v: Optional[ArrayLike],
    out: ArrayLike,
    *,
    lse: Optional[ArrayLike] = None,
    layout: str = "bshd",
    causal: bool = False,
    window: Optional[int] = None,
    softmax_scale: Optional[float] = None,
    mask: Optional[ArrayLike] = None,
    block_table: Optional[ArrayLike] = None,
    context_lens: Optional[ArrayLike] = None,
    cu_seqlens_q: Optional[ArrayLike] = None,
    cu_seqlens_k: Optional[ArrayLike] = None,
    lse_base_two: bool = False,
    lse_head_first: Optional[bool] = None,
    empty_lse_positive: bool = False,
    weights: Optional[str] = None,
    diagnose: bool = True,
) -> Verification:
    """Judges what an attention kernel gave for q, k and v.

    Arrays are NumPy's, or have __dlpack__ or __array_interface__, in the computer's memory: float16, bfloat16 (ml_dtypes,
    or a torch tensor on the CPU), float32 or float64, read in place where the elements of a row lie side by side.

    Args:
        q: [batch, token, head, element], or [token of the batch, head, element] with cu_seqlens_q.
        k, v: the same with KV heads (fewer than q's for GQA), [token of the batch, KV head, element] with cu_seqlens_k,
            or pages [page, token, KV head, element] with block_table. v=None: the first elements of each K row (MLA).
        out: the kernel's output, of q's shape but for the last axis.
        lse: the kernel's log-sum-exp, [token, head] or [head, token] per request, natural or with lse_base_two.
        layout: "bshd" (FlashAttention's, as above) or "bhsd": [batch, head, token, element], PyTorch's
            scaled_dot_product_attention.
        causal: the last query sees the last token (bottom-right).
        window: a query sees no position this far from its own or farther, on either side.
        softmax_scale: factor on Q·K; None: 1 / sqrt(head_dim).
        mask: bool (True: visible) or added to the scaled scores; [query, token], before them [request] or [request,
            head].
        block_table: [request, logical page]: physical page. context_lens: [request], tokens.
        cu_seqlens_q, cu_seqlens_k: [requests + 1], from 0.
        lse_head_first: which of the two shapes lse has, where the extents do not tell.
        empty_lse_positive: the LSE of a row that sees nothing is +inf (FlashMLA), else -inf.
        weights: type in which the kernel rounds the weights P: "bf16", "f16", "tf32", "f32", "f64"; None: k's.
        diagnose: look for the fault that explains the error.

    Raises:
        ValueError: one line that names the array, what was found and what is allowed.
    """
    if layout not in _LAYOUTS:
        raise ValueError(f"layout: {layout} is not allowed; allowed: {', '.join(_LAYOUTS)}")

    def optional(name: str, value: Optional[ArrayLike]) -> Optional[_splitwave.Array]:
        return None if value is None else native_array(name, value)

    return Verification(
        **_splitwave.verify(
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
            layout == "bhsd",
            causal,
            window,
            softmax_scale,
            lse_base_two,
            lse_head_first,
            empty_lse_positive,
            weights,
            diagnose,
        )
    )
