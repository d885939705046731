# SPDX-License-Identifier: Apache-2.0
"""Decode-attention schedules: simulated, computed and checked.

    import splitwave

    splitwave.simulate("llama-3-8b:8q1s32k", gpu="h200")          # how long does each schedule take?
    splitwave.plan("llama-3-8b:1q1s8k", schedule="fa3")           # how does it cut, and by which rule?
    splitwave.advise("llama-3-8b", gpu="h100-sxm")                # the best split counts of what is installed
    splitwave.sweep("llama-3-8b:1q1s8k", {"sms": "100:200:4"})    # what if?
    splitwave.SplitCounts("llama-3-8b", gpu="h100-sxm")([4096])   # num_splits for a serving loop
    splitwave.ScheduleChoices("llama-3-8b")([4096]).schedule      # the fastest schedule for a serving loop
    splitwave.verify(q, k, v, out, causal=True)                   # is my kernel right, and if not, why?

Results are dicts with the keys of the command's --json; columns() makes a table of them. Bad input raises ValueError
with the line that the command prints. Long calls let other threads run and end by Ctrl-C.
"""
from ._arrays import ArrayLike
from ._choices import ScheduleChoice, ScheduleChoices
from ._splits import SplitCount, SplitCounts
from ._splitwave import commit as __commit__
from ._splitwave import gpu_names as gpus
from ._splitwave import model_names as models
from ._splitwave import schedule_names as schedules
from ._splitwave import suite_names as suites
from ._splitwave import version as __version__
from ._studies import advise, columns, plan, simulate, sweep
from ._verify import Verification, verify
from ._workloads import Geometry, KvStorage, Request, Workload, WorkloadLike, load

__all__ = [
    "ArrayLike",
    "Geometry",
    "KvStorage",
    "Request",
    "ScheduleChoice",
    "ScheduleChoices",
    "SplitCount",
    "SplitCounts",
    "Verification",
    "Workload",
    "WorkloadLike",
    "__commit__",
    "__version__",
    "advise",
    "columns",
    "gpus",
    "load",
    "models",
    "plan",
    "schedules",
    "simulate",
    "suites",
    "sweep",
    "verify",
]
