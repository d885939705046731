# SPDX-License-Identifier: Apache-2.0
"""num_splits for a serving loop."""
from __future__ import annotations

import os
from typing import NamedTuple, Optional, Sequence, Union

from . import _splitwave
from ._studies import native_model_and_machine
from ._workloads import WorkloadLike


class SplitCount(NamedTuple):
    """The fastest count of a call: the schedule that it is ("fa3:4"), num_splits for the call, and the predicted time
    of the batch that was searched for, in seconds."""

    schedule: str
    num_splits: int
    seconds: float


class SplitCounts:
    """The best num_splits of a library's call for the batch of each step of a decode loop.

    The first batch of its kind is searched for, which takes milliseconds; batches that are much alike (as many requests,
    tokens and longest context to an eighth of an octave) get the same answer within microseconds.

        splits = splitwave.SplitCounts("llama-3-70b@tp=8,page=16", gpu="h100-sxm")
        num_splits = splits(context_lens)

    Args:
        model: what stands before the batch in a spec ("llama-3-8b@tp=8,page=16", "h=32/8,d=128,dtype=bf16"), or one
            Workload, whose geometry and storage count.
        library: "fa3" (FlashAttention-3's flash_attn_with_kvcache) or "fixed-split" (FlashAttention-2's).
        max_splits: most that is answered, as vLLM's max_num_splits_for_cuda_graph; None: what the library allows.
        gpu, sms, bandwidth, l2, clock, ctas_per_sm, kernel: as of simulate().

    May be called by several threads. Raises ValueError if the library does not serve the model on the machine, when it
    is first called.
    """

    def __init__(
        self,
        model: WorkloadLike,
        gpu: str = "h200",
        *,
        library: str = "fa3",
        max_splits: Optional[int] = None,
        sms: Optional[int] = None,
        bandwidth: Optional[float] = None,
        l2: Optional[int] = None,
        clock: Optional[float] = None,
        ctas_per_sm: Optional[int] = None,
        kernel: Optional[Union[str, "os.PathLike[str]"]] = None,
    ) -> None:
        like, machine = native_model_and_machine(model, gpu, sms, bandwidth, l2, clock, ctas_per_sm, kernel)
        self._counts = _splitwave.SplitCounts(like, machine, library, max_splits)

    def best(self, context_lens: Sequence[int], query_len: int = 1) -> SplitCount:
        """The best count for a batch of requests with these contexts, in tokens, their `query_len` query tokens
        included."""
        return SplitCount(*self._counts.get(context_lens, query_len))

    def __call__(self, context_lens: Sequence[int], query_len: int = 1) -> int:
        """best().num_splits."""
        return self._counts.get(context_lens, query_len)[1]

    @property
    def searches(self) -> int:
        """Batches that were searched for; all others had an answer at hand."""
        return self._counts.searches
