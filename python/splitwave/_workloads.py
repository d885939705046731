# SPDX-License-Identifier: Apache-2.0
"""Workloads as dataclasses: the keys of splitwave's JSON format (docs/workloads.md) as fields."""
from __future__ import annotations

import dataclasses
import json
import os
from dataclasses import dataclass, field
from typing import Any, Mapping, Optional, Sequence, Union

from . import _splitwave


def _given(instance: Any) -> dict[str, Any]:
    """The fields that are not None, as the format has them: what is absent there is None here."""
    return {key: value for key, value in vars(instance).items() if value is not None}


@dataclass(frozen=True)
class Geometry:
    """The shape of one attention layer on one GPU.

    kind: "mha", "gqa", "mqa" or "mla"; None: what the heads say. value_dim None: head_dim. dtype: "f16", "bf16", "f32".
    window: a query sees no position this far from its own or farther. softmax_scale None: 1 / sqrt(head_dim).
    """

    query_heads: int
    kv_heads: int
    head_dim: int
    value_dim: Optional[int] = None
    kind: Optional[str] = None
    dtype: str = "f16"
    causal: bool = True
    window: Optional[int] = None
    softmax_scale: Optional[float] = None

    def to_dict(self) -> dict[str, Any]:
        return _given(self)


@dataclass(frozen=True)
class Request:
    """`count` equal sequences of the batch. context_len: tokens in the KV cache, the query's own included."""

    context_len: int
    query_len: int = 1
    count: int = 1

    def to_dict(self) -> dict[str, Any]:
        return _given(self)


@dataclass(frozen=True)
class KvStorage:
    """How K and V lie in memory. layout: "bshd" (token-major), "bhsd" (head-major) or "paged", which alone has a
    page_size. cache_len: tokens allocated per request; None: the longest context of the batch."""

    layout: str = "bshd"
    page_size: Optional[int] = None
    cache_len: Optional[int] = None

    def to_dict(self) -> dict[str, Any]:
        return _given(self)


@dataclass(frozen=True)
class Workload:
    """One attention call over a batch of requests. seed and distribution ("normal", "outliers") are those of Q, K and V
    where they are made."""

    name: str
    geometry: Geometry
    requests: Sequence[Request]
    kv: KvStorage = field(default_factory=KvStorage)
    seed: int = 0
    distribution: str = "normal"
    note: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The workload in the JSON format."""
        document: dict[str, Any] = {"format": 1, "name": self.name}
        if self.note:
            document["note"] = self.note
        document["geometry"] = self.geometry.to_dict()
        document["requests"] = [request.to_dict() for request in self.requests]
        document["kv"] = self.kv.to_dict()
        document["seed"] = self.seed
        document["distribution"] = self.distribution
        return document

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Workload:
        """The workload of a dict in the JSON format, a model's name resolved. Raises ValueError if it is not exactly
        one."""
        loaded = load(document)
        if len(loaded) != 1:
            raise ValueError(f"workload: {len(loaded)} workloads; allowed: one (load() gives them all)")
        return loaded[0]

    @classmethod
    def from_spec(cls, spec: str) -> Workload:
        """The workload of one line such as "llama-3-8b@tp=8,page=16:8q1s32k"."""
        return _from_native(_splitwave.parse_spec(spec))

    def replace(self, **changes: Any) -> Workload:
        """A copy with some fields changed."""
        return dataclasses.replace(self, **changes)


#: What stands for workloads: a spec, a file's name, a shipped suite's name or JSON text; a path; a dict in the JSON
#: format (one workload or a suite); a Workload; or a sequence of these.
WorkloadLike = Union[str, "os.PathLike[str]", Mapping[str, Any], Workload, Sequence[Any]]


def native_workloads(source: WorkloadLike, seed: Optional[int] = None) -> list[_splitwave.Workload]:
    """The extension's workloads for what a user gave, with the seed applied."""
    if isinstance(source, Workload):
        found = _splitwave.parse(json.dumps(source.to_dict()), "workload")
    elif isinstance(source, Mapping):
        found = _splitwave.parse(json.dumps(source), "workload")
    elif isinstance(source, str) and source.lstrip().startswith("{"):
        found = _splitwave.parse(source, "workload")
    elif isinstance(source, (str, os.PathLike)):
        found = _splitwave.load(os.fspath(source))
    else:
        return [native for one in source for native in native_workloads(one, seed)]
    if seed is None:
        return found
    return [native.with_seed(seed) for native in found]


def _from_native(native: _splitwave.Workload) -> Workload:
    document = json.loads(native.to_json())
    return Workload(
        name=document["name"],
        geometry=Geometry(**document["geometry"]),
        requests=tuple(Request(**request) for request in document["requests"]),
        kv=KvStorage(**document["kv"]),
        seed=document["seed"],
        distribution=document["distribution"],
        note=document.get("note", ""),
    )


def load(source: WorkloadLike, seed: Optional[int] = None) -> list[Workload]:
    """The workloads that `source` stands for, checked, with models resolved and sweeps expanded.

    Raises ValueError with the line that the command prints: where, what was found, what is allowed.
    """
    return [_from_native(native) for native in native_workloads(source, seed)]
