# SPDX-License-Identifier: Apache-2.0
from typing import Any, Optional, Sequence

version: str
commit: str

class Workload:
    @property
    def name(self) -> str: ...
    def to_json(self) -> str: ...
    def with_seed(self, seed: int) -> Workload: ...

class Machine:
    @property
    def name(self) -> str: ...
    @property
    def note(self) -> str: ...

def load(argument: str) -> list[Workload]: ...
def parse(text: str, where: str) -> list[Workload]: ...
def parse_spec(spec: str) -> Workload: ...
def gpu_names() -> list[str]: ...
def model_names() -> list[str]: ...
def schedule_names() -> list[str]: ...
def suite_names() -> list[str]: ...
def machines(
    names: Sequence[str],
    sms: Optional[int],
    bandwidth: Optional[float],
    l2: Optional[int],
    clock: Optional[float],
    ctas_per_sm: Optional[int],
    kernel: str,
    threads: Optional[int],
    measure_cpu: bool,
) -> list[Machine]: ...
def chosen_schedules(
    given: Sequence[str], workloads: Sequence[Workload], machines: Sequence[Machine]
) -> list[str]: ...
def predicted(workload: Workload, schedule: str, machine: Machine, strict: bool) -> str: ...
def planned(workload: Workload, schedule: str, machine: Machine, full: bool, strict: bool) -> str: ...
def advise(
    model: str,
    machine: Machine,
    batch: str,
    context: str,
    query_len: Optional[int],
    available: Sequence[str],
    rules: Sequence[str],
    max_splits: Optional[int],
    threads: Optional[int],
) -> str: ...

class Sweep:
    def __init__(
        self,
        workloads: Sequence[Workload],
        machines: Sequence[Machine],
        axes: Sequence[str],
        schedules: Sequence[str],
        threads: Optional[int],
    ) -> None: ...
    @property
    def points(self) -> int: ...
    def lines(self, begin: int, end: int) -> str: ...

class SplitCounts:
    def __init__(self, like: Workload, machine: Machine, library: str, max_splits: Optional[int]) -> None: ...
    def get(self, context_lens: Sequence[int], query_len: int) -> tuple[str, int, float]: ...
    @property
    def searches(self) -> int: ...

class ScheduleChoices:
    def __init__(self, like: Workload, machine: Machine) -> None: ...
    def get(self, context_lens: Sequence[int], query_len: int) -> tuple[str, str, int, int, int, int]: ...
    @property
    def searches(self) -> int: ...

class Array:
    @property
    def type(self) -> str: ...
    @property
    def shape(self) -> list[int]: ...

def array_from_dlpack(capsule: Any, name: str) -> Array: ...
def array_from_memory(
    owner: Any, name: str, address: int, type: str, shape: Sequence[int], strides: Sequence[int]
) -> Array: ...
def verify(
    name: str,
    q: Array,
    k: Array,
    v: Optional[Array],
    output: Array,
    lse: Optional[Array],
    block_table: Optional[Array],
    context_lens: Optional[Array],
    cu_seqlens_q: Optional[Array],
    cu_seqlens_k: Optional[Array],
    mask: Optional[Array],
    layout: str,
    kv_layout: str,
    causal: bool,
    window: Optional[int],
    scale: Optional[float],
    lse_base: str,
    lse_head_first: Optional[bool],
    empty_lse: str,
    weights: Optional[str],
    diagnose: bool,
) -> tuple[str, str]: ...
