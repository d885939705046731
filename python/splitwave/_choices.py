# SPDX-License-Identifier: Apache-2.0
"""The fastest schedule for each step of a serving loop."""
from __future__ import annotations

import os
from typing import NamedTuple, Optional, Sequence, Union

from . import _splitwave
from ._studies import native_model_and_machine
from ._workloads import WorkloadLike


class ScheduleChoice(NamedTuple):
    """A schedule ("fixed-split:4+last_arriver") and what its plan is made for: the config of the kernel that runs it
    ("r1w4s4t16c1"; empty where the kernel has none), SMs (places for a cluster where CTAs work in clusters), CTAs or
    clusters per SM, and the tile's query rows and KV tokens (0: the schedule's own rule)."""

    schedule: str
    config: str
    sms: int
    ctas_per_sm: int
    tile_q: int
    tile_kv: int


class ScheduleChoices:
    """The schedule that is predicted to be fastest for the batch of each step of a decode loop: what schedule="auto"
    chooses.

    The first batch of its kind is chosen for; batches that are much alike (as SplitCounts has it) get the same answer
    within microseconds. The plan that it makes is valid for each of them.

        choices = splitwave.ScheduleChoices("llama-3-8b", gpu="h200", kernel="splitwave")
        schedule = choices(context_lens).schedule

    Args:
        model: what stands before the batch in a spec, or one Workload, as of SplitCounts.
        gpu, sms, bandwidth, l2, clock, ctas_per_sm, kernel: as of simulate(). With kernel="splitwave" kernels of many
            configs are chosen from, without one the libraries' own.

    May be called by several threads. Raises ValueError if no schedule serves the model on the machine, when it is first
    called.
    """

    def __init__(
        self,
        model: WorkloadLike,
        gpu: str = "h200",
        *,
        sms: Optional[int] = None,
        bandwidth: Optional[float] = None,
        l2: Optional[int] = None,
        clock: Optional[float] = None,
        ctas_per_sm: Optional[int] = None,
        kernel: Optional[Union[str, "os.PathLike[str]"]] = None,
    ) -> None:
        like, machine = native_model_and_machine(model, gpu, sms, bandwidth, l2, clock, ctas_per_sm, kernel)
        self._choices = _splitwave.ScheduleChoices(like, machine)

    def __call__(self, context_lens: Sequence[int], query_len: int = 1) -> ScheduleChoice:
        """The choice for a batch of requests with these contexts, in tokens, their `query_len` query tokens included."""
        return ScheduleChoice(*self._choices.get(context_lens, query_len))

    @property
    def searches(self) -> int:
        """Batches that were chosen for; all others had an answer at hand."""
        return self._choices.searches
