# SPDX-License-Identifier: Apache-2.0
"""Predictions and plans as dicts: what the command's verbs of the same names print with --json."""
from __future__ import annotations

import json
import os
import warnings
from typing import Any, Iterable, Mapping, Optional, Sequence, Union

from . import _splitwave
from ._workloads import WorkloadLike, native_workloads

#: A name, several with commas between, or a sequence of names.
Names = Union[str, "os.PathLike[str]", Sequence[Union[str, "os.PathLike[str]"]]]

#: A row of a result: docs/records.md, docs/schedules.md, docs/advise.md and docs/sweep.md list the keys.
Record = dict[str, Any]

_POINTS_AT_ONCE = 64
_MOST_SWEEP_POINTS = 5_000_000


def _names(given: Optional[Names]) -> list[str]:
    if given is None:
        return []
    if isinstance(given, str):
        return given.split(",")
    if isinstance(given, os.PathLike):
        return [os.fspath(given)]
    return [os.fspath(name) for name in given]


def native_machines(
    gpu: Names,
    sms: Optional[int],
    bandwidth: Optional[float],
    l2: Optional[int],
    clock: Optional[float],
    ctas_per_sm: Optional[int],
    kernel: Optional[Union[str, "os.PathLike[str]"]],
    threads: Optional[int],
    measure_cpu: bool,
) -> list[_splitwave.Machine]:
    """The extension's machines; what there is to know about them becomes warnings."""
    found = _splitwave.machines(
        _names(gpu), sms, bandwidth, l2, clock, ctas_per_sm, os.fspath(kernel or ""), threads, measure_cpu
    )
    for machine in found:
        if machine.note:
            warnings.warn(machine.note, stacklevel=3)
    return found


def native_model_and_machine(
    model: WorkloadLike,
    gpu: str,
    sms: Optional[int],
    bandwidth: Optional[float],
    l2: Optional[int],
    clock: Optional[float],
    ctas_per_sm: Optional[int],
    kernel: Optional[Union[str, "os.PathLike[str]"]],
) -> tuple[_splitwave.Workload, _splitwave.Machine]:
    """One model, by what stands before the batch in a spec or as a Workload, and one machine."""
    like = [_splitwave.parse_spec(model + ":1q1s1")] if isinstance(model, str) else native_workloads(model)
    machines = native_machines(gpu, sms, bandwidth, l2, clock, ctas_per_sm, kernel, None, False)
    if len(like) != 1 or len(machines) != 1:
        raise ValueError(f"{len(like)} models and {len(machines)} machines are given; allowed: one of each")
    return like[0], machines[0]


def simulate(
    workload: WorkloadLike,
    gpu: Names = "h200",
    schedule: Optional[Names] = None,
    *,
    sms: Optional[int] = None,
    bandwidth: Optional[float] = None,
    l2: Optional[int] = None,
    clock: Optional[float] = None,
    ctas_per_sm: Optional[int] = None,
    kernel: Optional[Union[str, "os.PathLike[str]"]] = None,
    threads: Optional[int] = None,
    measure_cpu: bool = False,
    seed: Optional[int] = None,
) -> list[Record]:
    """Predicts the time of schedules on machines, as `splitwave simulate --json` does.

    Args:
        workload: see `WorkloadLike`.
        gpu: machines by name (`gpus()` lists them), "cpu" for this computer, or JSON files.
        schedule: schedules by name (`schedules()` lists them), or "auto": the main one with the least predicted
            time, up to 10 % added for kinds of plans that come out too fast. None: the main ones.
        sms, bandwidth, l2, clock, ctas_per_sm: instead of the machine's own: SMs, DRAM peak in GB/s, bytes of L2, SM
            clock in MHz, resident CTAs per SM.
        kernel: profile that runs every schedule's plans, by name or as a JSON file; None: each library's.
        threads: of gpu="cpu"; None: all hardware threads.
        measure_cpu: measure this computer's CPU anew.
        seed: of all tensors, instead of the workloads' own.

    Returns:
        A record per workload, machine and schedule, the last varying fastest (docs/records.md). Times are in seconds. A
        point that cannot run has "failure", the reason; one that was asked for alone raises it.

    Raises:
        ValueError: with the line that the command prints.
    """
    workloads = native_workloads(workload, seed)
    machines = native_machines(gpu, sms, bandwidth, l2, clock, ctas_per_sm, kernel, threads, measure_cpu)
    schedules = _splitwave.chosen_schedules(_names(schedule), workloads, machines)
    alone = len(workloads) * len(machines) * len(schedules) == 1
    return [
        json.loads(_splitwave.predicted(one, name, machine, alone))
        for one in workloads
        for machine in machines
        for name in schedules
    ]


def plan(
    workload: WorkloadLike,
    gpu: Names = "h200",
    schedule: Optional[Names] = None,
    *,
    full: bool = False,
    sms: Optional[int] = None,
    bandwidth: Optional[float] = None,
    l2: Optional[int] = None,
    clock: Optional[float] = None,
    ctas_per_sm: Optional[int] = None,
    kernel: Optional[Union[str, "os.PathLike[str]"]] = None,
    threads: Optional[int] = None,
    measure_cpu: bool = False,
    seed: Optional[int] = None,
) -> list[Record]:
    """How schedules cut a workload, and which rule decided, as `splitwave plan --json` prints it.

    full: the whole plan, every item and merge, instead of its summary. The other arguments are simulate()'s.

    Returns a dict per workload, machine and schedule (docs/schedules.md), the last varying fastest; one that cannot run
    has "failure", or raises ValueError if it was asked for alone.
    """
    workloads = native_workloads(workload, seed)
    machines = native_machines(gpu, sms, bandwidth, l2, clock, ctas_per_sm, kernel, threads, measure_cpu)
    schedules = _splitwave.chosen_schedules(_names(schedule), workloads, machines)
    alone = len(workloads) * len(machines) * len(schedules) == 1
    return [
        json.loads(_splitwave.planned(one, name, machine, full, alone))
        for one in workloads
        for machine in machines
        for name in schedules
    ]


#: Values of an axis: in the command's words ("1k..128kx2", "100:200:4", "f16,bf16"), or one by one.
AxisValues = Union[str, int, float, Iterable[Union[str, int, float]]]


def _axis_words(values: AxisValues) -> str:
    if isinstance(values, (str, int, float)):
        return str(values)
    return ",".join(str(value) for value in values)


def advise(
    model: str,
    gpu: str = "h200",
    *,
    batch: AxisValues = "1..256x2",
    context: AxisValues = "512..128kx2",
    query_len: int = 1,
    available: Optional[Names] = None,
    schedule: Optional[Names] = None,
    max_splits: Optional[int] = None,
    sms: Optional[int] = None,
    bandwidth: Optional[float] = None,
    l2: Optional[int] = None,
    clock: Optional[float] = None,
    ctas_per_sm: Optional[int] = None,
    kernel: Optional[Union[str, "os.PathLike[str]"]] = None,
    threads: Optional[int] = None,
) -> Record:
    """The best schedule and split count over batch sizes and context lengths, as `splitwave advise --json` prints it.

    Args:
        model: what stands before the batch in a spec: "llama-3-8b@tp=8,page=16", "h=32/8,d=128".
        batch, context: requests, and tokens of every request's context.
        available: schedules whose libraries there are; None: those of released libraries.
        schedule: schedules that are set against the best; None: the available ones.
        max_splits: most num_splits of a call, as under CUDA graphs.

    The other arguments are simulate()'s. The result's keys are in docs/advise.md; columns(result["points"]) makes a
    table of it.
    """
    machines = native_machines(gpu, sms, bandwidth, l2, clock, ctas_per_sm, kernel, threads, False)
    if len(machines) != 1:
        raise ValueError(f"gpu: {len(machines)} machines are given; allowed: one")
    advice: Record = json.loads(
        _splitwave.advise(
            model,
            machines[0],
            _axis_words(batch),
            _axis_words(context),
            query_len,
            _names(available),
            _names(schedule),
            max_splits,
            threads,
        )
    )
    return advice


def sweep(
    workload: WorkloadLike,
    axes: Mapping[str, AxisValues],
    gpu: Names = "h200",
    schedule: Optional[Names] = None,
    *,
    sms: Optional[int] = None,
    bandwidth: Optional[float] = None,
    l2: Optional[int] = None,
    clock: Optional[float] = None,
    ctas_per_sm: Optional[int] = None,
    kernel: Optional[Union[str, "os.PathLike[str]"]] = None,
    threads: Optional[int] = None,
    seed: Optional[int] = None,
) -> list[Record]:
    """Predicts every point of a product of axes, in memory, on `threads` threads (None: all).

    axes: values by field, {"context": "1k..128kx2", "sms": range(100, 201, 4)}; docs/sweep.md lists the fields. The
    other arguments are simulate()'s. A record's "axes" holds its values. Sweeps of more than 5 million points, or that
    must outlive an interruption, are for the command, which keeps them on the disk.
    """
    workloads = native_workloads(workload, seed)
    machines = native_machines(gpu, sms, bandwidth, l2, clock, ctas_per_sm, kernel, threads, False)
    arguments = [f"{field}={_axis_words(values)}" for field, values in axes.items()]
    points = _splitwave.Sweep(workloads, machines, arguments, _names(schedule), threads)
    if points.points > _MOST_SWEEP_POINTS:
        raise ValueError(
            f"sweep: the axes make {points.points} points; allowed: at most {_MOST_SWEEP_POINTS} in memory (the command "
            "`splitwave sweep --out` keeps more on the disk)"
        )
    records: list[Record] = []
    for begin in range(0, points.points, _POINTS_AT_ONCE):
        lines = points.lines(begin, min(begin + _POINTS_AT_ONCE, points.points))
        records.extend(json.loads(line) for line in lines.splitlines())
    return records


def _flat(record: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    cells: dict[str, Any] = {}
    for key, value in record.items():
        if isinstance(value, Mapping):
            cells.update(_flat(value, f"{prefix}{key}."))
        else:
            cells[prefix + key] = value
    return cells


def columns(records: Iterable[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Records as columns of equal length, for pandas.DataFrame(columns(records)) and its like.

    Parts of a record become columns with dots ("breakdown.stream"); what a record lacks is None. Columns stand in the
    order in which their keys come first.
    """
    rows = [_flat(record) for record in records]
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}
