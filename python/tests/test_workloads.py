# SPDX-License-Identifier: Apache-2.0
import json

import pytest

import splitwave
from splitwave import Geometry, KvStorage, Request, Workload

MINE = Workload(
    name="mine",
    geometry=Geometry(query_heads=32, kv_heads=8, head_dim=128, dtype="bf16", window=4096),
    requests=[Request(131072, count=2), Request(900, query_len=4, count=30)],
    kv=KvStorage("paged", page_size=16),
    seed=7,
)


@pytest.mark.parametrize("suite", splitwave.suites())
def test_shipped_workloads_read_back(suite):
    for workload in splitwave.load(suite):
        assert splitwave.load(workload) == [workload]
        assert Workload.from_dict(workload.to_dict()) == workload


def test_dataclass_dict_text_and_file_are_the_same(tmp_path):
    (resolved,) = splitwave.load(MINE)
    assert resolved.geometry.kind == "gqa" and resolved.geometry.value_dim == 128
    assert resolved.requests == (Request(131072, count=2), Request(900, 4, 30))
    file = tmp_path / "mine.json"
    file.write_text(json.dumps(MINE.to_dict()))
    forms = [MINE.to_dict(), json.dumps(MINE.to_dict()), file, str(file), [MINE]]
    assert [splitwave.load(form) for form in forms] == [[resolved]] * len(forms)
    predicted = [splitwave.simulate(form, schedule="lean") for form in [resolved, *forms]]
    assert all(records == predicted[0] for records in predicted)


def test_a_spec_is_its_workload():
    workload = Workload.from_spec("llama-3-8b@tp=2,page=16,seed=3:8q1s32k")
    assert workload.geometry == Geometry(16, 4, 128, value_dim=128, kind="gqa")
    assert workload.kv == KvStorage("paged", 16)
    assert workload.requests == (Request(32768, count=8),)
    assert splitwave.simulate(workload) == splitwave.simulate("llama-3-8b@tp=2,page=16,seed=3:8q1s32k")


def test_changes_make_copies():
    assert MINE.replace(seed=8).seed == 8 and MINE.seed == 7
    with pytest.raises(AttributeError):
        MINE.seed = 8


def test_a_model_and_a_sweep_in_a_dict():
    document = {
        "format": 1,
        "name": "m",
        "model": "llama-3-8b",
        "requests": [{"context_len": 1024}],
        "sweep": {"requests[0].context_len": [512, 2048]},
    }
    assert [w.requests[0].context_len for w in splitwave.load(document)] == [512, 2048]
    with pytest.raises(ValueError, match="2 workloads; allowed: one"):
        Workload.from_dict(document)


def test_several_workloads_and_a_seed():
    loaded = splitwave.load([MINE, "llama-3-8b:1q1s1k"], seed=2**64 - 1)
    assert [w.name for w in loaded] == ["mine", "llama-3-8b:1q1s1k"]
    assert {w.seed for w in loaded} == {2**64 - 1}
