# SPDX-License-Identifier: Apache-2.0
"""Python's results are those of the command, value for value."""
import json

import pytest

import splitwave

SIMULATED = [
    (["-w", "llama-3-8b:8q1s32k"], {"workload": "llama-3-8b:8q1s32k"}),
    (
        ["-w", "llama-3-70b@tp=8,page=16:3q1s4k_1q2s60k", "--gpu", "h100-sxm,a100", "--schedule", "fa2,fa3,auto"],
        {
            "workload": "llama-3-70b@tp=8,page=16:3q1s4k_1q2s60k",
            "gpu": ["h100-sxm", "a100"],
            "schedule": ("fa2", "fa3", "auto"),
        },
    ),
    (
        ["-w", "deepseek-v3@tp=8:4q1s8k", "--sms", "100", "--bandwidth", "9600.5", "--l2", "60M", "--clock", "1500",
         "--ctas-per-sm", "1", "--seed", "7"],
        {"workload": "deepseek-v3@tp=8:4q1s8k", "sms": 100, "bandwidth": 9600.5, "l2": 60 << 20, "clock": 1500,
         "ctas_per_sm": 1, "seed": 7},
    ),
    (
        ["-w", "llama-3-8b:2q1s3k", "--kernel", "splitwave", "--schedule", "lean"],
        {"workload": "llama-3-8b:2q1s3k", "kernel": "splitwave", "schedule": "lean"},
    ),
    (["-w", "real", "--schedule", "lean,flashmla"], {"workload": "real", "schedule": "lean,flashmla"}),
]  # fmt: skip


@pytest.mark.parametrize("words, arguments", SIMULATED)
def test_simulate(command, words, arguments):
    assert splitwave.simulate(**arguments) == command.lines("simulate", *words, "--json")


@pytest.mark.parametrize("words, arguments", SIMULATED)
@pytest.mark.parametrize("full", [False, True])
def test_plan(command, words, arguments, full):
    if full and arguments["workload"] == "real":
        words, arguments = ["-w", "llama-3-8b:1q1s9k"], {"workload": "llama-3-8b:1q1s9k"}
    lines = command.lines("plan", *words, "--json", *(["--full"] if full else []))
    assert splitwave.plan(**arguments, full=full) == lines


def test_advise(command):
    words = ["--batch", "1,4", "--context", "1k,8k", "--gpu", "h100-sxm", "--available", "fa3,flashinfer"]
    words += ["--max-splits", "8", "--query-len", "2", "--schedule", "fa3,seq-aware", "--sms", "66"]
    (expected,) = command.lines("advise", "--model", "llama-3-8b,page=16", *words, "--json")
    found = splitwave.advise("llama-3-8b,page=16", "h100-sxm", batch=[1, 4], context="1k,8k", query_len=2,
                             available=["fa3", "flashinfer"], schedule="fa3,seq-aware", max_splits=8, sms=66)  # fmt: skip
    assert found == expected


def test_advise_takes_its_defaults(command):
    (expected,) = command.lines("advise", "--model", "h=8/1,d=128", "--json")
    assert splitwave.advise("h=8/1,d=128") == expected


def test_sweep(command, tmp_path):
    words = ["--axis", "context=1k..64kx2", "--axis", "sms=66,132", "--axis", "dtype=f16,bf16", "--schedule", "fa2,fa3"]
    folder = tmp_path / "sweep"
    command.lines("sweep", "-w", "llama-3-8b:8q1s32k", *words, "--out", str(folder), "--json")
    expected = [json.loads(line) for line in (folder / "records.jsonl").read_text().splitlines()]
    axes = {"context": "1k..64kx2", "sms": [66, 132], "dtype": ("f16", "bf16")}
    assert splitwave.sweep("llama-3-8b:8q1s32k", axes, schedule=["fa2", "fa3"], threads=2) == expected


def test_points_that_cannot_run_say_why():
    records = splitwave.simulate("llama-3-8b:1q1s8k", ["h200", "a100"], "fa3")
    assert "failure" not in records[0]
    assert records[1]["failure"].startswith("schedule fa3: kernel fa3-d128 multiplies by wgmma")
    with pytest.raises(ValueError, match="multiplies by wgmma"):
        splitwave.simulate("llama-3-8b:1q1s8k", "a100", "fa3")


def test_columns_are_of_equal_length_and_keep_every_value():
    records = splitwave.simulate("llama-3-8b:1q1s8k", ["h200", "a100"], "fa2,fa3")
    table = splitwave.columns(records)
    assert {len(column) for column in table.values()} == {4}
    assert table["machine"] == ["h200", "h200", "a100", "a100"]
    assert table["failure"][:3] == [None] * 3 and table["failure"][3] == records[3]["failure"]
    assert table["breakdown.stream"] == [r.get("breakdown", {}).get("stream") for r in records]
    assert not any(isinstance(value, dict) for column in table.values() for value in column)
    assert splitwave.columns([]) == {}
